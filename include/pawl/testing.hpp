/// For tests of workflows: given/when/then without a store, and an engine whose clock you move.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/detail/replay.hpp>
#include <pawl/engine.hpp>
#include <stdexcept>
#include <string>

namespace pawl::testing {

/// A given/when/then that did not hold. Its text shows what was expected and what came.
class Mismatch : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

namespace detail {

template <class V>
std::string list(const std::vector<V>& values) {
    std::string out = "[";
    for (const auto& v : values) out += (out.size() > 1 ? ", " : "") + json::encode(v);
    return out + "]";
}

template <class V>
void require_same(const char* what, const std::vector<V>& expected, const std::vector<V>& found) {
    if (list(expected) != list(found))
        throw Mismatch{std::string{what} + ": expected " + list(expected) + ", found " +
                       list(found)};
}

class CountedIds final : public Moment::Source {
public:
    Uuid fresh_uuid() override {
        Uuid id;
        id.bytes[15] = static_cast<std::uint8_t>(++count_);
        id.bytes[14] = static_cast<std::uint8_t>(count_ >> 8);
        return id;
    }

private:
    unsigned count_ = 0;
};

}  // namespace detail

/// What `decide` answered, to be held against what is expected. Throws Mismatch where it differs.
template <class W>
class When {
public:
    explicit When(Decision<W> decision) : decision_(std::move(decision)) {}

    /// Exactly these events, in this order.
    template <class... E>
    const When& then(const E&... events) const {
        require_accepted();
        detail::require_same("events", {typename W::Event{events}...}, decision_.events());
        return *this;
    }
    /// Exactly these effects, in this order.
    template <class... E>
    const When& effects(const E&... effects) const {
        require_accepted();
        detail::require_same("effects", std::vector<typename Decision<W>::Effect>{effects...},
                             decision_.effects());
        return *this;
    }
    /// Among the timers is one with this key and input.
    template <class I>
    const When& timer(const std::string& key, const I& input) const {
        require_accepted();
        const auto wanted = json::encode(typename W::Input{input});
        for (const auto& t : decision_.timers())
            if (t.key == key && json::encode(t.input) == wanted) return *this;
        throw Mismatch{"no timer \"" + key + "\" with the input " + wanted};
    }
    /// The timer of this key is cancelled.
    const When& cancels(const std::string& key) const {
        require_accepted();
        for (const auto& cancelled : decision_.cancels())
            if (cancelled == key) return *this;
        throw Mismatch{"the timer \"" + key + "\" is not cancelled"};
    }
    /// The instance listens to this tag.
    const When& listens(const std::string& tag) const { return require_listening(tag, true); }
    /// It does so no longer.
    const When& unlistens(const std::string& tag) const { return require_listening(tag, false); }
    const When& rejected() const {
        if (!decision_.rejected())
            throw Mismatch{"expected a rejection, found the events " +
                           detail::list(decision_.events())};
        return *this;
    }
    /// Rejected with this text, or this value of the workflow's own Rejection.
    template <class R>
    const When& rejected(const R& reason) const {
        rejected();
        const auto expected = json::encode(RejectionOf<W>(reason));
        const auto found = json::encode(decision_.rejection());
        if (expected != found)
            throw Mismatch{"rejection: expected " + expected + ", found " + found};
        return *this;
    }
    const Decision<W>& decision() const { return decision_; }

private:
    const When& require_listening(const std::string& tag, bool listens) const {
        require_accepted();
        for (const auto& one : decision_.listenings())
            if (one.tag == tag && one.listens == listens) return *this;
        throw Mismatch{(listens ? "nothing listens to \"" : "nothing stops listening to \"") + tag +
                       "\""};
    }
    void require_accepted() const {
        if (decision_.rejected())
            throw Mismatch{"expected a decision, found the rejection " +
                           json::encode(decision_.rejection())};
    }

    Decision<W> decision_;
};

/// A workflow after these events: pure, no store, no clock.
template <class W>
class Given {
public:
    template <class... E>
    explicit Given(const E&... events) {
        static_assert(pawl::detail::check_workflow<W>());
        (pawl::detail::evolve_typed(state_, typename W::Event{events}), ...);
    }

    template <class I>
    When<W> when(const I& input, Time now = {}) const {
        detail::CountedIds ids;
        return When<W>{
            pawl::detail::decide_typed(state_, typename W::Input{input}, Moment{now, ids})};
    }
    const W& state() const { return state_; }

private:
    W state_{};
};

/// Runs journals that were recorded in production (`Run::export_journal`, one run or many in a
/// file) against the code as it is now. Throws Mismatch that names the run and the step where the
/// code does not fit, and otherwise returns how many runs there were. No step is executed.
template <pawl::detail::DurableFunction F>
int replay(F function, std::string_view journals) {
    pawl::detail::TypedFunction<std::decay_t<F>> model{std::move(function)};
    const auto replayed = pawl::detail::replay(model, journals);
    std::string text;
    for (const auto& mismatch : replayed.mismatches) text += (text.empty() ? "" : "\n") + mismatch;
    if (!text.empty()) throw Mismatch{text};
    return replayed.runs;
}

/// An engine on memory whose clock stands still until it is moved. Nothing runs by itself:
/// `advance` moves the clock and does everything that is due by then.
class Fixture {
public:
    explicit Fixture(Options options = {}) : engine_("memory:", with_clock(std::move(options))) {}

    Engine& engine() { return engine_; }
    ManualClock& clock() { return clock_; }

    void run_until_idle() { engine_.run_until_idle(); }
    /// Goes from one due time to the next, as time would: a daily timer rings three times in 72 h.
    template <class Rep, class Period>
    void advance(std::chrono::duration<Rep, Period> d) {
        const Time target = clock_.now() + duration(d);
        engine_.run_until_idle();
        while (const auto due = next_due(target)) {
            clock_.advance(*due - clock_.now());
            engine_.run_until_idle();
        }
        clock_.advance(target - clock_.now());
        engine_.run_until_idle();
    }

private:
    /// The earliest time after now, and not after `target`, at which something is due.
    std::optional<Time> next_due(Time target) {
        std::optional<Time> next;
        for (const auto& line : engine_.backlog())
            if (line.oldest_due && *line.oldest_due > clock_.now() && *line.oldest_due <= target &&
                (!next || *line.oldest_due < *next))
                next = line.oldest_due;
        return next;
    }

    Options with_clock(Options options) {
        options.clock = &clock_;
        options.test.store_clock = &clock_;
        if (options.test.seed == 0) options.test.seed = 1;
        return options;
    }

    ManualClock clock_;
    Engine engine_;
};

}  // namespace pawl::testing
