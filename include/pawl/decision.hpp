/// What `decide` answers: at least one event and what follows from it, or a rejection.
#pragma once

#include <concepts>
#include <optional>
#include <pawl/detail/outgoing.hpp>
#include <pawl/error.hpp>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::inline v0 {

/// A rejection on its way into a Decision. Made by `reject`.
template <class R>
struct Rejected {
    R reason{};
};

/// The input is refused for this business reason; nothing is written.
inline Rejected<std::string> reject(std::string reason) { return {std::move(reason)}; }
inline Rejected<std::string> reject(const char* reason) { return {reason}; }
template <class R>
    requires(!std::convertible_to<R, std::string>)
Rejected<R> reject(R reason) {
    return {std::move(reason)};
}

/// An input that the engine sends when an effect of type E was buried, if the workflow's Input has
/// this alternative.
template <class E>
struct Failed {
    E effect{};
    std::string reason{};
    int attempts = 0;
};

/// The store's time and fresh ids, for a `decide` that asks for them as its second parameter.
class PAWL_API Moment {
public:
    class Source {
    public:
        virtual ~Source() = default;
        virtual Uuid fresh_uuid() = 0;
    };
    Moment(Time now, Source& source) : now_(now), source_(&source) {}

    Time now() const { return now_; }
    Uuid uuid() const { return source_->fresh_uuid(); }

private:
    Time now_;
    Source* source_;
};

namespace detail {

struct NoEffect {};

template <class W>
struct EffectChoice {
    using type = std::variant<NoEffect>;
};
template <class W>
    requires requires { typename W::Effect; }
struct EffectChoice<W> {
    using type = typename W::Effect;
};

template <class W>
struct RejectionChoice {
    using type = std::string;
};
template <class W>
    requires requires { typename W::Rejection; }
struct RejectionChoice<W> {
    using type = typename W::Rejection;
};

}  // namespace detail

/// A workflow's own rejection type, or a text.
template <class W>
using RejectionOf = typename detail::RejectionChoice<W>::type;

/// The answer of `decide`. Builders work on named decisions and on temporaries; calling one on a
/// rejection throws, because what it adds would be lost.
template <class W>
class Decision {
public:
    using Event = typename W::Event;
    using Input = typename W::Input;
    using Effect = typename detail::EffectChoice<W>::type;

    struct Timer {
        Input input{};
        std::string key{};
        std::optional<Time> at{};
        Duration after{0};
    };

    template <class E>
        requires(std::constructible_from<Event, E &&> &&
                 !std::same_as<std::remove_cvref_t<E>, Decision>)
    Decision(E&& event) {  // NOLINT: an event is a decision
        events_.emplace_back(std::forward<E>(event));
    }
    template <class R>
    Decision(Rejected<R> rejected) : rejection_(std::move(rejected.reason)) {  // NOLINT
        static_assert(std::constructible_from<RejectionOf<W>, R>,
                      "pawl: reject(...) takes a text, or a value of the workflow's own Rejection");
    }

    Decision& event(Event e) & {
        require_accepted();
        events_.push_back(std::move(e));
        return *this;
    }
    /// Side work, at least once, with a stable idempotency key.
    Decision& effect(Effect e) & {
        require_accepted();
        effects_.push_back(std::move(e));
        return *this;
    }
    /// Sends `input` to this instance after `d`. A key replaces the pending timer of that key.
    template <class Rep, class Period>
    Decision& after(std::chrono::duration<Rep, Period> d, Input input, std::string key = {}) & {
        require_accepted();
        add({std::move(input), std::move(key), std::nullopt, duration(d)});
        return *this;
    }
    /// Sends `input` to this instance at `t` by the store's clock.
    Decision& at(Time t, Input input, std::string key = {}) & {
        require_accepted();
        add({std::move(input), std::move(key), t, Duration{0}});
        return *this;
    }
    /// Publishes a message with these events.
    template <class T>
    Decision& publish(std::string_view channel, const T& value, PublishOptions options = {}) & {
        require_accepted();
        messages_.push_back(detail::outgoing_message(channel, value, std::move(options)));
        return *this;
    }
    /// From these events on, this instance gets what is routed to the tag (`Workflow::route`), also
    /// what came before. Tags are those of a workflow type; several instances may have the same.
    Decision& listen(std::string tag) & {
        require_accepted();
        listenings_.push_back({std::move(tag), true});
        return *this;
    }
    /// Takes `listen` back. What was routed before may still come.
    Decision& unlisten(std::string tag) & {
        require_accepted();
        listenings_.push_back({std::move(tag), false});
        return *this;
    }
    /// Removes the pending timer of that key. The journal says so.
    Decision& cancel(std::string key) & {
        require_accepted();
        cancels_.push_back(std::move(key));
        return *this;
    }

    Decision&& event(Event e) && { return std::move(event(std::move(e))); }
    Decision&& effect(Effect e) && { return std::move(effect(std::move(e))); }
    template <class Rep, class Period>
    Decision&& after(std::chrono::duration<Rep, Period> d, Input input, std::string key = {}) && {
        return std::move(after(d, std::move(input), std::move(key)));
    }
    Decision&& at(Time t, Input input, std::string key = {}) && {
        return std::move(at(t, std::move(input), std::move(key)));
    }
    template <class T>
    Decision&& publish(std::string_view channel, const T& value, PublishOptions options = {}) && {
        return std::move(publish(channel, value, std::move(options)));
    }
    Decision&& listen(std::string tag) && { return std::move(listen(std::move(tag))); }
    Decision&& unlisten(std::string tag) && { return std::move(unlisten(std::move(tag))); }
    Decision&& cancel(std::string key) && { return std::move(cancel(std::move(key))); }

    bool rejected() const { return rejection_.has_value(); }
    const RejectionOf<W>& rejection() const { return rejection_.value(); }
    const std::vector<Event>& events() const { return events_; }
    const std::vector<Effect>& effects() const { return effects_; }
    const std::vector<Timer>& timers() const { return timers_; }
    const std::vector<std::string>& cancels() const { return cancels_; }
    const std::vector<detail::OutgoingMessage>& messages() const { return messages_; }
    const std::vector<detail::Listening>& listenings() const { return listenings_; }

private:
    // Not inline: g++ 12 with -O3 warns of strings in alternatives that the input does not hold.
    [[gnu::noinline]] void add(Timer&& timer) { timers_.push_back(std::move(timer)); }
    void require_accepted() const {
        if (rejection_)
            throw Error{
                Code::misuse,
                "a rejection writes nothing: it can't have events, effects, timers, messages or "
                "tags"};
    }

    std::vector<Event> events_;
    std::vector<Effect> effects_;
    std::vector<Timer> timers_;
    std::vector<std::string> cancels_;
    std::vector<detail::OutgoingMessage> messages_;
    std::vector<detail::Listening> listenings_;
    std::optional<RejectionOf<W>> rejection_;
};

}  // namespace pawl::inline v0
