/// How a user's callable is called, whatever of its parameters it asks for.
#pragma once

#include <optional>
#include <pawl/delivery.hpp>
#include <pawl/handlers.hpp>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

template <class F>
struct Callable {
    using type = F;
};
template <class F>
struct Callable<WithPolicy<F>> {
    using type = F;
};

template <class F, class E>
inline constexpr bool calls_with_delivery =
    std::is_invocable_v<typename Callable<F>::type&, E, const Delivery&>;
template <class F, class E>
inline constexpr bool calls =
    calls_with_delivery<F, E> || std::is_invocable_v<typename Callable<F>::type&, E>;

template <class F>
auto& callable(F& f) {
    return f;
}
template <class F>
auto& callable(WithPolicy<F>& f) {
    return f.call;
}

template <class F, class E>
decltype(auto) call(F& f, E&& effect, const Delivery& delivery) {
    if constexpr (calls_with_delivery<F, E>)
        return callable(f)(std::forward<E>(effect), delivery);
    else
        return callable(f)(std::forward<E>(effect));
}

template <class F>
std::optional<Policy> policy_of(const F&) {
    return std::nullopt;
}
template <class F>
std::optional<Policy> policy_of(const WithPolicy<F>& f) {
    return f.policy;
}

/// The index of the first of H... that takes an E.
template <class E, class... H>
consteval std::size_t handler_index() {
    std::size_t index = 0;
    (void)((calls<H, E> ? true : (++index, false)) || ...);
    return index;
}

}  // namespace pawl::inline v0::detail
