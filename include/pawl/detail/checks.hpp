/// Compile-time checks of a user's workflow, with messages that name the workflow and the type.
#pragma once

#include <concepts>
#include <pawl/decision.hpp>
#include <pawl/detail/calls.hpp>
#include <type_traits>
#include <variant>

namespace pawl::inline v0::detail {

template <class T>
inline constexpr bool is_variant = false;
template <class... A>
inline constexpr bool is_variant<std::variant<A...>> = true;

template <class W, class E>
concept Evolves = requires(W& w, const E& e) { w.evolve(e); };

template <class W, class I>
concept Decides = requires(const W& w, const I& i) {
    { w.decide(i) } -> std::convertible_to<Decision<W>>;
};
template <class W, class I>
concept DecidesAtMoment = requires(const W& w, const I& i, const Moment& m) {
    { w.decide(i, m) } -> std::convertible_to<Decision<W>>;
};

// Each check is a class of its own, so that the compiler's "required from" names both types.
template <class Workflow, class Event>
struct CheckEvent {
    static_assert(Evolves<Workflow, Event>,
                  "pawl: an event of this workflow has no evolve: add void evolve(const Event&)");
    static constexpr bool ok = Evolves<Workflow, Event>;
};
template <class Workflow, class Input>
struct CheckInput {
    static constexpr bool ok = Decides<Workflow, Input> || DecidesAtMoment<Workflow, Input>;
    static_assert(
        ok,
        "pawl: an input of this workflow has no decide: add Decision decide(const Input&) "
        "const");
};
template <class Workflow, class Effect, class... Handlers>
struct CheckEffect {
    static constexpr bool ok = (calls<Handlers, Effect> || ...);
    static_assert(ok,
                  "pawl: an effect of this workflow has no handler: pass a callable that takes it");
};

template <class W, class V>
struct CheckEvents;
template <class W, class... E>
struct CheckEvents<W, std::variant<E...>> {
    static constexpr bool ok = (CheckEvent<W, E>::ok && ...);
};
template <class W, class V>
struct CheckInputs;
template <class W, class... I>
struct CheckInputs<W, std::variant<I...>> {
    static constexpr bool ok = (CheckInput<W, I>::ok && ...);
};
template <class W, class V, class... H>
struct CheckEffects;
template <class W, class... E, class... H>
struct CheckEffects<W, std::variant<E...>, H...> {
    static constexpr bool ok = (CheckEffect<W, E, H...>::ok && ...);
};

template <class W>
consteval bool check_workflow() {
    static_assert(
        std::default_initializable<W>,
        "pawl: a workflow's state must be default constructible: that is a fresh instance");
    static_assert(
        requires { typename W::Event; },
        "pawl: a workflow needs `using Event = std::variant<...>`");
    static_assert(
        requires { typename W::Input; },
        "pawl: a workflow needs `using Input = std::variant<...>`");
    if constexpr (requires {
                      typename W::Event;
                      typename W::Input;
                  }) {
        static_assert(is_variant<typename W::Event>, "pawl: Event must be a std::variant");
        static_assert(is_variant<typename W::Input>, "pawl: Input must be a std::variant");
        if constexpr (is_variant<typename W::Event> && is_variant<typename W::Input>)
            return CheckEvents<W, typename W::Event>::ok && CheckInputs<W, typename W::Input>::ok;
    }
    return false;
}

}  // namespace pawl::inline v0::detail
