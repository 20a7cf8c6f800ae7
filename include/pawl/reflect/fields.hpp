/// The fields of an aggregate and their names, found by taking it apart.
#pragma once

#include <array>
#include <cstddef>
#include <pawl/reflect/count.hpp>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::reflect {

// A structured binding needs its names spelled out, one form for each number of fields.
#define PAWL_NAMES_8 a0, a1, a2, a3, a4, a5, a6, a7
#define PAWL_NAMES_16 PAWL_NAMES_8, b0, b1, b2, b3, b4, b5, b6, b7
#define PAWL_NAMES_24 PAWL_NAMES_16, c0, c1, c2, c3, c4, c5, c6, c7
#define PAWL_NAMES_32 PAWL_NAMES_24, d0, d1, d2, d3, d4, d5, d6, d7
#define PAWL_NAMES_40 PAWL_NAMES_32, e0, e1, e2, e3, e4, e5, e6, e7
#define PAWL_NAMES_48 PAWL_NAMES_40, f0, f1, f2, f3, f4, f5, f6, f7
#define PAWL_NAMES_56 PAWL_NAMES_48, g0, g1, g2, g3, g4, g5, g6, g7
#define PAWL_FIELDS(N, ...)           \
    else if constexpr (n == (N)) {    \
        auto& [__VA_ARGS__] = x;      \
        return std::tie(__VA_ARGS__); \
    }

/// References to every field of `x`, in declaration order.
template <class T>
    requires Record<std::remove_const_t<T>>
constexpr auto fields(T& x) {
    constexpr auto n = field_count<std::remove_const_t<T>>;
    static_assert(n <= most_fields, "pawl: a struct with more than 64 fields: nest some of them");
    // clang-format off
    if constexpr (n == 0) return std::tie();
    PAWL_FIELDS(1, a0) PAWL_FIELDS(2, a0, a1) PAWL_FIELDS(3, a0, a1, a2)
    PAWL_FIELDS(4, a0, a1, a2, a3) PAWL_FIELDS(5, a0, a1, a2, a3, a4)
    PAWL_FIELDS(6, a0, a1, a2, a3, a4, a5) PAWL_FIELDS(7, a0, a1, a2, a3, a4, a5, a6)
    PAWL_FIELDS(8, PAWL_NAMES_8) PAWL_FIELDS(9, PAWL_NAMES_8, b0)
    PAWL_FIELDS(10, PAWL_NAMES_8, b0, b1) PAWL_FIELDS(11, PAWL_NAMES_8, b0, b1, b2)
    PAWL_FIELDS(12, PAWL_NAMES_8, b0, b1, b2, b3) PAWL_FIELDS(13, PAWL_NAMES_8, b0, b1, b2, b3, b4)
    PAWL_FIELDS(14, PAWL_NAMES_8, b0, b1, b2, b3, b4, b5)
    PAWL_FIELDS(15, PAWL_NAMES_8, b0, b1, b2, b3, b4, b5, b6) PAWL_FIELDS(16, PAWL_NAMES_16)
    PAWL_FIELDS(17, PAWL_NAMES_16, c0) PAWL_FIELDS(18, PAWL_NAMES_16, c0, c1)
    PAWL_FIELDS(19, PAWL_NAMES_16, c0, c1, c2) PAWL_FIELDS(20, PAWL_NAMES_16, c0, c1, c2, c3)
    PAWL_FIELDS(21, PAWL_NAMES_16, c0, c1, c2, c3, c4)
    PAWL_FIELDS(22, PAWL_NAMES_16, c0, c1, c2, c3, c4, c5)
    PAWL_FIELDS(23, PAWL_NAMES_16, c0, c1, c2, c3, c4, c5, c6) PAWL_FIELDS(24, PAWL_NAMES_24)
    PAWL_FIELDS(25, PAWL_NAMES_24, d0) PAWL_FIELDS(26, PAWL_NAMES_24, d0, d1)
    PAWL_FIELDS(27, PAWL_NAMES_24, d0, d1, d2) PAWL_FIELDS(28, PAWL_NAMES_24, d0, d1, d2, d3)
    PAWL_FIELDS(29, PAWL_NAMES_24, d0, d1, d2, d3, d4)
    PAWL_FIELDS(30, PAWL_NAMES_24, d0, d1, d2, d3, d4, d5)
    PAWL_FIELDS(31, PAWL_NAMES_24, d0, d1, d2, d3, d4, d5, d6) PAWL_FIELDS(32, PAWL_NAMES_32)
    PAWL_FIELDS(33, PAWL_NAMES_32, e0) PAWL_FIELDS(34, PAWL_NAMES_32, e0, e1)
    PAWL_FIELDS(35, PAWL_NAMES_32, e0, e1, e2) PAWL_FIELDS(36, PAWL_NAMES_32, e0, e1, e2, e3)
    PAWL_FIELDS(37, PAWL_NAMES_32, e0, e1, e2, e3, e4)
    PAWL_FIELDS(38, PAWL_NAMES_32, e0, e1, e2, e3, e4, e5)
    PAWL_FIELDS(39, PAWL_NAMES_32, e0, e1, e2, e3, e4, e5, e6) PAWL_FIELDS(40, PAWL_NAMES_40)
    PAWL_FIELDS(41, PAWL_NAMES_40, f0) PAWL_FIELDS(42, PAWL_NAMES_40, f0, f1)
    PAWL_FIELDS(43, PAWL_NAMES_40, f0, f1, f2) PAWL_FIELDS(44, PAWL_NAMES_40, f0, f1, f2, f3)
    PAWL_FIELDS(45, PAWL_NAMES_40, f0, f1, f2, f3, f4)
    PAWL_FIELDS(46, PAWL_NAMES_40, f0, f1, f2, f3, f4, f5)
    PAWL_FIELDS(47, PAWL_NAMES_40, f0, f1, f2, f3, f4, f5, f6) PAWL_FIELDS(48, PAWL_NAMES_48)
    PAWL_FIELDS(49, PAWL_NAMES_48, g0) PAWL_FIELDS(50, PAWL_NAMES_48, g0, g1)
    PAWL_FIELDS(51, PAWL_NAMES_48, g0, g1, g2) PAWL_FIELDS(52, PAWL_NAMES_48, g0, g1, g2, g3)
    PAWL_FIELDS(53, PAWL_NAMES_48, g0, g1, g2, g3, g4)
    PAWL_FIELDS(54, PAWL_NAMES_48, g0, g1, g2, g3, g4, g5)
    PAWL_FIELDS(55, PAWL_NAMES_48, g0, g1, g2, g3, g4, g5, g6) PAWL_FIELDS(56, PAWL_NAMES_56)
    PAWL_FIELDS(57, PAWL_NAMES_56, h0) PAWL_FIELDS(58, PAWL_NAMES_56, h0, h1)
    PAWL_FIELDS(59, PAWL_NAMES_56, h0, h1, h2) PAWL_FIELDS(60, PAWL_NAMES_56, h0, h1, h2, h3)
    PAWL_FIELDS(61, PAWL_NAMES_56, h0, h1, h2, h3, h4)
    PAWL_FIELDS(62, PAWL_NAMES_56, h0, h1, h2, h3, h4, h5)
    PAWL_FIELDS(63, PAWL_NAMES_56, h0, h1, h2, h3, h4, h5, h6)
    PAWL_FIELDS(64, PAWL_NAMES_56, h0, h1, h2, h3, h4, h5, h6, h7)
    // clang-format on
}
#undef PAWL_FIELDS
#undef PAWL_NAMES_8
#undef PAWL_NAMES_16
#undef PAWL_NAMES_24
#undef PAWL_NAMES_32
#undef PAWL_NAMES_40
#undef PAWL_NAMES_48
#undef PAWL_NAMES_56

namespace detail {

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

// Declared and never defined: only the addresses of its fields are ever named.
template <class T>
struct Phantom {
    const T value;
    static const Phantom object;
};

template <class T>
struct Address {
    const T* of = nullptr;
};
template <class T>
Address(const T*) -> Address<T>;

// gcc:   "... P = Address<int>{(& Phantom<T>::object.Phantom<T>::value.T::name)}]"
// clang: "... P = Address<int>{&object.value.name}]"
template <auto P>
consteval auto name_at() {
    std::string_view s = __PRETTY_FUNCTION__;
    s = s.substr(0, s.find_last_not_of(")}]") + 1);
    return s.substr(s.find_last_of(".:") + 1);
}

template <class T>
consteval auto find_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<std::string_view, sizeof...(I)>{
            name_at<Address{&std::get<I>(fields(Phantom<T>::object.value))}>()...};
    }(std::make_index_sequence<field_count<T>>{});
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T>
consteval std::size_t length_of_names() {
    std::size_t length = 0;
    for (const auto name : find_names<T>()) length += name.size();
    return length;
}

// The names alone: a view into what the compiler printed would keep all of that in the program.
template <class T>
inline constexpr auto name_chars = [] {
    std::array<char, length_of_names<T>() + 1> chars{};
    std::size_t at = 0;
    for (const auto name : find_names<T>())
        for (const char c : name) chars[at++] = c;
    return chars;
}();

}  // namespace detail

/// The names of the fields, in declaration order.
template <Record T>
inline constexpr auto field_names = [] {
    auto names = detail::find_names<T>();
    std::size_t at = 0;
    for (auto& name : names) {
        name = std::string_view{detail::name_chars<T>.data() + at, name.size()};
        at += name.size();
    }
    return names;
}();

/// The type of field `I`; `const` where the field is.
template <Record T, std::size_t I>
using Field =
    std::remove_reference_t<std::tuple_element_t<I, decltype(fields(std::declval<T&>()))>>;

}  // namespace pawl::inline v0::reflect
