/// What a durable function does its work through: steps that are recorded, waits that hold no
/// thread, children, values for outsiders.
#pragma once

#include <concepts>
#include <pawl/detail/execution.hpp>
#include <pawl/error.hpp>
#include <pawl/json.hpp>
#include <pawl/step.hpp>
#include <pawl/transaction.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace pawl::inline v0 {

template <class In, class Out>
class Function;

namespace detail {
/// A result that can be stored: nothing is a std::monostate.
template <class R>
using Value = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// A value that is given by the user; a literal is a text.
template <class T>
std::string encoded_value(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        return json::encode(std::string{std::string_view{value}});
    } else {
        static_assert(json::travels<T>,
                      "pawl: a signal or a value is of a type that can't travel as JSON");
        return json::encode(value);
    }
}
}  // namespace detail

/// Something that can be waited for together with others: made by `Context::later` and its kin,
/// taken by `all` and `any`. Nothing has begun.
template <class R>
class Later {
public:
    using Result = R;

private:
    friend class Context;
    using Decode = detail::Value<R> (*)(const detail::BranchEnd&);
    Later(detail::Branch branch, Decode decode) : branch_(std::move(branch)), decode_(decode) {}
    detail::Branch branch_;
    Decode decode_;
};

/// How many at a time.
struct GatherOptions {
    std::size_t at_once = 0;  ///< 0: all of them
};

/// Handed to a running durable function; valid until it returns, and used by its thread alone.
///
/// Finished steps return what is recorded. `sleep`, `wait`, backoff and waiting for children give
/// the thread back by unwinding: destructors run, and the function is called again later. So a call
/// here must not be inside a `noexcept` function, and what the function does outside of steps is
/// done again each time.
class Context {
public:
    explicit Context(detail::Execution& execution) : execution_(&execution) {}
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    /// Runs `body` and records its result, once; from then on returns the record. The body takes
    /// nothing or a `const pawl::Attempt&`, and must not use the context. What it throws is tried
    /// again as the options say; then StepFailed, which the function may catch. `pawl::Permanent`
    /// ends the attempts.
    template <class F>
    auto step(std::string_view name, F&& body) {
        return step(name, StepOptions{}, std::forward<F>(body));
    }
    template <class F>
    auto step(std::string_view name, StepOptions options, F&& body) {
        return only(later(name, options, std::ref(body)));
    }

    /// A step whose body works on tables of your own, in the store's database: what it does there
    /// and the record of the step are one commit, so it happens exactly once. The body takes a
    /// `pawl::Transaction&`, and a `const pawl::Attempt&` if it likes. It is quick, and does
    /// nothing but SQL: others wait for its locks, and on SQLite for its turn to write. It is
    /// rolled back and run again where it throws (`options.attempts`), or collides with others. A
    /// call from it that would wait for the engine is an Error (misuse). Not for a store in memory.
    template <class F>
    auto transaction(std::string_view name, F&& body) {
        return transaction(name, StepOptions{}, std::forward<F>(body));
    }
    template <class F>
    auto transaction(std::string_view name, StepOptions options, F&& body) {
        using R = decltype(transacted(body, std::declval<Transaction&>(), Attempt{}));
        check_travels<R>();
        detail::check_options(name, options);
        auto branch = detail::branch(detail::Branch::Kind::step, name);
        branch.options = options;
        branch.transaction = [&body](Transaction& tx, const Attempt& attempt) {
            if constexpr (std::is_void_v<R>) {
                transacted(body, tx, attempt);
                return std::string{"null"};
            } else {
                return json::encode<std::remove_cvref_t<R>>(transacted(body, tx, attempt));
            }
        };
        return only(later_of<std::remove_cvref_t<R>>(std::move(branch)));
    }

    /// A step that begins when `all` or `any` takes it, beside the others.
    template <class F>
    auto later(std::string_view name, F&& body) {
        return later(name, StepOptions{}, std::forward<F>(body));
    }
    template <class F>
    auto later(std::string_view name, StepOptions options, F&& body) {
        using Body = std::unwrap_ref_decay_t<F>;
        using R = ResultOf<std::remove_reference_t<Body>>;
        check_travels<R>();
        detail::check_options(name, options);
        auto branch = detail::branch(detail::Branch::Kind::step, name);
        branch.options = options;
        branch.wants_attempt = std::is_invocable_v<std::remove_reference_t<Body>&, const Attempt&>;
        // Shared, because a std::function is copied and a body need not be.
        auto held = std::make_shared<std::decay_t<F>>(std::forward<F>(body));
        branch.body = [held](const Attempt& attempt) {
            std::remove_reference_t<Body>& call = *held;
            if constexpr (std::is_void_v<R>) {
                called(call, attempt);
                return std::string{"null"};
            } else {
                return json::encode<std::remove_cvref_t<R>>(called(call, attempt));
            }
        };
        return later_of<std::remove_cvref_t<R>>(std::move(branch));
    }

    /// Returns when `d` has passed by the store's clock, however many restarts that takes.
    template <class Rep, class Period>
    void sleep(std::chrono::duration<Rep, Period> d) {
        only(later_sleep(d));
    }
    void sleep_until(Time t) { only(later_sleep_until(t)); }
    template <class Rep, class Period>
    Later<void> later_sleep(std::chrono::duration<Rep, Period> d) {
        auto branch = detail::branch(detail::Branch::Kind::sleep, "");
        branch.length = duration(d);
        return later_of<void>(std::move(branch));
    }
    Later<void> later_sleep_until(Time t) {
        auto branch = detail::branch(detail::Branch::Kind::sleep, "");
        branch.until = t;
        return later_of<void>(std::move(branch));
    }

    /// The next signal of this name that was not received yet, also one that came before; waits for
    /// it as long as it takes. `wait<void>` takes a signal with any value, or without one. A signal
    /// without a value is a null to every other `T`: an Error (codec) unless `T` can be null.
    template <class T>
    T wait(std::string_view signal) {
        auto value = only(later_wait_for<T>(signal, std::nullopt));
        if constexpr (!std::is_void_v<T>) return std::move(value).value();
    }
    /// Nothing when `timeout` passes first; a `wait<void>` returns whether the signal came.
    template <class T, class Rep, class Period>
    auto wait(std::string_view signal, std::chrono::duration<Rep, Period> timeout) {
        auto value = only(later_wait_for<T>(signal, duration(timeout)));
        if constexpr (std::is_void_v<T>)
            return value.has_value();
        else
            return value;
    }
    /// The optional is empty only after a timeout. Of a `void` it holds a std::monostate.
    template <class T>
    Later<std::optional<detail::Value<T>>> later_wait(std::string_view signal) {
        return later_wait_for<T>(signal, std::nullopt);
    }
    template <class T, class Rep, class Period>
    Later<std::optional<detail::Value<T>>> later_wait(std::string_view signal,
                                                      std::chrono::duration<Rep, Period> timeout) {
        return later_wait_for<T>(signal, duration(timeout));
    }

    /// Runs another durable function as a child and waits for its result, without a thread. Throws
    /// ChildFailed if it does not succeed, or if the id belongs to a run that is not this child.
    template <class In, class Out>
    Out call(const Function<In, Out>& function, std::string_view id,
             const std::type_identity_t<In>& input = {}) {
        return only(later_call(function, id, input));
    }
    template <class In, class Out>
    Later<Out> later_call(const Function<In, Out>& function, std::string_view id,
                          const std::type_identity_t<In>& input = {}) {
        auto branch = detail::branch(detail::Branch::Kind::call, function.name());
        branch.child = id;
        branch.input = json::encode(input);
        return later_of<Out>(std::move(branch));
    }
    /// Starts a child that nobody waits for. It goes on when this run ends.
    template <class In, class Out>
    void spawn(const Function<In, Out>& function, std::string_view id,
               const std::type_identity_t<In>& input = {}) {
        execution_->spawn(function.name(), id, json::encode(input));
    }

    /// All at the same time; returns when each has ended. If some failed, the first of them (in the
    /// order given) throws, after all have ended. A void result is a std::monostate.
    template <class... R>
    std::tuple<detail::Value<R>...> all(Later<R>... later) {
        const std::tuple decode{later.decode_...};
        auto gathered =
            execution_->gather(branches(std::move(later)...), detail::Gathering::all, 0);
        rethrow(gathered);
        return each_of<R...>(gathered, decode, std::index_sequence_for<R...>{});
    }
    template <class R>
    std::vector<detail::Value<R>> all(std::vector<Later<R>> later, GatherOptions options = {}) {
        const auto decode = decoders(later);
        auto gathered =
            execution_->gather(branches(std::move(later)), detail::Gathering::all, options.at_once);
        rethrow(gathered);
        std::vector<detail::Value<R>> results;
        results.reserve(gathered.ends.size());
        for (std::size_t i = 0; i < decode.size(); ++i)
            results.push_back(decode[i](gathered.ends[i]));
        return results;
    }
    /// The first that ends; the others are asked to stop, and waited for. `index()` says which it
    /// was. If it failed, that is thrown.
    template <class... R>
    std::variant<detail::Value<R>...> any(Later<R>... later) {
        const std::tuple decode{later.decode_...};
        auto gathered =
            execution_->gather(branches(std::move(later)...), detail::Gathering::any, 0);
        return first_of<R...>(gathered, decode, std::index_sequence_for<R...>{});
    }
    template <class R>
    std::pair<std::size_t, detail::Value<R>> any(std::vector<Later<R>> later) {
        const auto decode = decoders(later);
        auto gathered = execution_->gather(branches(std::move(later)), detail::Gathering::any, 0);
        auto& end = gathered.ends[gathered.first];
        if (end.error) std::rethrow_exception(end.error);
        return {gathered.first, decode[gathered.first](end)};
    }

    /// A value that outsiders can read and await (`Run::value`): progress, a partial result.
    template <class T>
    void set(std::string_view key, const T& value) {
        execution_->set_value(key, detail::encoded_value(value));
    }

    /// The store's time when this was first called; the same on every replay.
    Time now() { return execution_->now(); }
    std::uint64_t random() { return execution_->random(); }
    Uuid uuid() { return execution_->uuid(); }

    /// For code that changed while runs are under way: `newest` for a run that gets here for the
    /// first time, 0 for one that went past before the change was there.
    int version(std::string_view change, int newest) { return execution_->version(change, newest); }

    /// Registers the undo of what was just done. If the run fails or is cancelled, the registered
    /// ones are run, last first, each as a recorded step: when the function has ended and its
    /// locals are gone, so `body` must hold what it needs by value.
    template <class F>
    void compensate(std::string_view name, F&& body) {
        compensate(name, StepOptions{}, std::forward<F>(body));
    }
    template <class F>
    void compensate(std::string_view name, StepOptions options, F&& body) {
        detail::check_options(name, options);
        auto held = std::make_shared<std::decay_t<F>>(std::forward<F>(body));
        execution_->compensate(name, options,
                               [held](const Attempt& attempt) { called(*held, attempt); });
    }

    /// Whether everything so far came from the journal: for logs that should be written once.
    bool replaying() const { return execution_->replaying(); }
    const std::string& id() const { return execution_->id(); }
    const std::string& type() const { return execution_->type(); }

private:
    template <class F>
    static decltype(auto) called(F& body, const Attempt& attempt) {
        if constexpr (std::is_invocable_v<F&, const Attempt&>)
            return body(attempt);
        else
            return body();
    }
    template <class F>
    static decltype(auto) transacted(F& body, Transaction& tx, const Attempt& attempt) {
        if constexpr (std::is_invocable_v<F&, Transaction&, const Attempt&>)
            return body(tx, attempt);
        else
            return body(tx);
    }
    template <class F>
    using ResultOf = decltype(called(std::declval<F&>(), std::declval<const Attempt&>()));

    template <class T>
    static constexpr void check_travels() {
        if constexpr (!std::is_void_v<T>)
            static_assert(json::travels<std::remove_cvref_t<T>>,
                          "pawl: a step's result, a signal or a value is of a type that can't "
                          "travel as JSON");
    }
    template <class T>
    Later<std::optional<detail::Value<T>>> later_wait_for(std::string_view signal,
                                                          std::optional<Duration> timeout) {
        check_travels<T>();
        auto branch = detail::branch(detail::Branch::Kind::wait, signal);
        branch.timeout = timeout;
        return {std::move(branch), received<T>};
    }

    template <class... R>
    static std::vector<detail::Branch> branches(Later<R>... later) {
        std::vector<detail::Branch> out;
        out.reserve(sizeof...(R));
        (out.push_back(std::move(later.branch_)), ...);
        return out;
    }
    template <class R>
    static std::vector<detail::Branch> branches(std::vector<Later<R>> later) {
        std::vector<detail::Branch> out;
        out.reserve(later.size());
        for (auto& one : later) out.push_back(std::move(one.branch_));
        return out;
    }
    template <class R>
    static Later<R> later_of(detail::Branch branch) {
        return {std::move(branch), decoded<R>};
    }
    template <class R>
    static detail::Value<R> decoded(const detail::BranchEnd& end) {
        if constexpr (std::is_void_v<R>)
            return {};
        else
            return json::decode<R>(end.bytes);
    }
    template <class T>
    static std::optional<detail::Value<T>> received(const detail::BranchEnd& end) {
        if (end.timed_out) return std::nullopt;
        if constexpr (std::is_void_v<T>) {
            return std::monostate{};
        } else {
            try {
                return std::optional<T>{std::in_place, json::decode<T>(end.bytes)};
            } catch (const Error& e) {
                detail::fail_signal(end, e);
            }
        }
    }
    static void rethrow(const detail::Gathered& gathered) {
        for (const auto& end : gathered.ends)
            if (end.error) std::rethrow_exception(end.error);
    }
    template <class R>
    R only(Later<R> later) {
        const auto decode = later.decode_;
        auto gathered = execution_->gather(branches(std::move(later)), detail::Gathering::all, 0);
        rethrow(gathered);
        if constexpr (!std::is_void_v<R>) return decode(gathered.ends.front());
    }
    template <class... R, std::size_t... I>
    static std::tuple<detail::Value<R>...> each_of(
        const detail::Gathered& gathered, const std::tuple<typename Later<R>::Decode...>& decode,
        std::index_sequence<I...>) {
        return std::tuple<detail::Value<R>...>{std::get<I>(decode)(gathered.ends[I])...};
    }
    template <class... R, std::size_t... I>
    static std::variant<detail::Value<R>...> first_of(
        const detail::Gathered& gathered, const std::tuple<typename Later<R>::Decode...>& decode,
        std::index_sequence<I...>) {
        const auto& end = gathered.ends[gathered.first];
        if (end.error) std::rethrow_exception(end.error);
        using Out = std::variant<detail::Value<R>...>;
        using Make = Out (*)(const detail::BranchEnd&, const decltype(decode)&);
        static constexpr Make make[] = {[](const detail::BranchEnd& e, const decltype(decode)& d) {
            return Out{std::in_place_index<I>, std::get<I>(d)(e)};
        }...};
        return make[gathered.first](end, decode);
    }
    template <class R>
    static auto decoders(const std::vector<Later<R>>& later) {
        std::vector<typename Later<R>::Decode> out;
        out.reserve(later.size());
        for (const auto& one : later) out.push_back(one.decode_);
        return out;
    }

    detail::Execution* execution_;
};

}  // namespace pawl::inline v0
