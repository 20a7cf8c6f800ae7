/// How many fields an aggregate has, and what stands in the way of taking it apart.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::reflect {

/// More are refused: nest a struct.
inline constexpr std::size_t most_fields = 64;

/// A struct that is its public fields and nothing more.
template <class T>
concept Record = std::is_class_v<T> && std::is_aggregate_v<T>;

namespace detail {

// Stands for a value of whatever type a field has. Never called, only asked about.
struct Any {
    template <class T>
    operator T() const noexcept;
};

struct AnyReference {
    template <class T>
    operator T&() const noexcept;
};

template <class T>
struct AnyParent {
    template <class B>
        requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
    operator B() const noexcept;
};

template <class T>
struct AnyEmptyParent {
    template <class B>
        requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T> && std::is_empty_v<B>)
    operator B() const noexcept;
};

template <std::size_t N>
using Places = std::make_index_sequence<N>;

template <class T, class Init, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
    return requires { T{(void(I), Init{})...}; };
}

// Any at the first places, `{}` at the next, Any at the places after it.
template <class T, std::size_t... I, std::size_t... J>
consteval bool takes_gap(std::index_sequence<I...>, std::index_sequence<J...>) {
    return requires { T{(void(I), Any{})..., {}, (void(J), Any{})...}; };
}

template <class T, std::size_t... I>
consteval bool takes_reference(std::index_sequence<I...>) {
    return requires { T{(void(I), Any{})..., AnyReference{}}; };
}

template <class T, class Init, std::size_t N = 0>
consteval std::size_t count_inits() {
    if constexpr (N <= most_fields && takes<T, Init>(Places<N + 1>{}))
        return count_inits<T, Init, N + 1>();
    else
        return N;
}

template <class T>
inline constexpr std::size_t inits = count_inits<T, Any>();

template <class T>
inline constexpr std::size_t bases = count_inits<T, AnyParent<T>>();

// The elements of a C array are initialised one by one, so it takes several Any; a `{}` in the
// place of the first stands for all of them, and then too many Any follow.
template <class T, std::size_t I>
consteval bool is_array_at() {
    return takes_gap<T>(Places<I>{}, Places<0>{}) &&
           !takes_gap<T>(Places<I>{}, Places<inits<T> - I - 1>{});
}

}  // namespace detail

/// Whether `T` has a C array of two or more elements; it then can't be taken apart.
template <Record T>
inline constexpr bool has_array = []<std::size_t... I>(std::index_sequence<I...>) {
    return (detail::is_array_at<T, I>() || ...);
}(detail::Places<detail::inits<T>>{});

/// Whether `T` has a field `U&`.
template <Record T>
inline constexpr bool has_reference =
    detail::takes_reference<T>(detail::Places<detail::inits<T>>{});

/// Whether a base class of `T` has fields of its own.
template <Record T>
inline constexpr bool has_full_base =
    detail::bases<T> != detail::count_inits<T, detail::AnyEmptyParent<T>>();

/// The number of fields. Exact unless one of the three above holds.
template <Record T>
inline constexpr std::size_t field_count = detail::inits<T> - detail::bases<T>;

}  // namespace pawl::inline v0::reflect
