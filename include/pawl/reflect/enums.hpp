/// The enumerators of an enum and their names.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <pawl/reflect/names.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::reflect {

/// Enumerators are looked for from `lowest_enumerator` to `highest_enumerator`; one outside has no
/// name. The range is what a compiler can list in a few milliseconds.
inline constexpr int lowest_enumerator = -128;
inline constexpr int highest_enumerator = 255;

template <class E>
struct Enumerator {
    E value{};
    std::string_view name{};
};

namespace detail {

// clang up to 19 warns about a value that the bits of an unscoped enum can't hold; later ones
// refuse it, and then the range is halved until it fits.
#if defined(__clang__) && __clang_major__ < 20
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wenum-constexpr-conversion"
#endif

template <class E, int V>
concept Castable = requires { typename std::integral_constant<E, static_cast<E>(V)>; };

template <class E>
using Limits = std::numeric_limits<std::underlying_type_t<E>>;

template <class E, int Lowest = lowest_enumerator>
consteval int lowest_of() {
    if constexpr (Lowest == 0 || !Limits<E>::is_signed)
        return 0;
    else if constexpr (Castable<E, Lowest>)
        return Lowest;
    else
        return lowest_of<E, Lowest / 2>();
}

template <class E, int Highest = highest_enumerator>
consteval int highest_of() {
    if constexpr (Highest == 0)
        return 0;
    else if constexpr (Highest > (1LL << (Limits<E>::digits < 9 ? Limits<E>::digits : 9)) - 1)
        return highest_of<E, Highest / 2>();
    else if constexpr (Castable<E, Highest>)
        return Highest;
    else
        return highest_of<E, Highest / 2>();
}

template <auto... V>
consteval auto listing() {
    std::string_view s = __PRETTY_FUNCTION__;
    s = s.substr(0, s.find_last_not_of("]}>") + 1);  // "... V = {E::a, (E)1}]" or "<E::a, (E)1>]"
    return s.substr(s.find_first_of("{<", s.find("V = ")) + 1);
}

// The length of the first value in a listing. Most have no name and are printed as "(E)7": their
// type, `skip` characters, is jumped over, because compilers count the steps of an evaluation.
constexpr std::size_t end_of_value(std::string_view s, std::size_t skip) {
    std::size_t i = s.size() > skip + 1 && s[0] == '(' && s[skip + 1] == ')' ? skip + 2 : 0;
    int depth = 0;
    for (; i < s.size(); ++i) {
        if (s[i] == '(' || s[i] == '<' || s[i] == '{') ++depth;
        if (s[i] == ')' || s[i] == '>' || s[i] == '}') --depth;
        if (s[i] == ',' && depth == 0) return i;  // a comma in brackets belongs to the value
    }
    return s.size();
}

// "shop::Status::paid" gives "paid"; a value without a name is printed as "(shop::Status)7".
constexpr std::string_view enumerator_in(std::string_view value) {
    std::size_t start = value.size();
    while (start > 0 && value[start - 1] != ':' && value[start - 1] != ')' &&
           value[start - 1] != ' ')
        --start;
    value.remove_prefix(start);
    const char c = value.empty() ? '-' : value.front();
    return c == '-' || (c >= '0' && c <= '9') ? std::string_view{} : value;
}

template <class E>
consteval auto names_by_value() {
    // clang knows the enumerators of an enum inside a template only once one is looked up.
    [[maybe_unused]] constexpr bool looked_up = requires { E::none; };
    constexpr int lowest = lowest_of<E>();
    constexpr int count = highest_of<E>() - lowest + 1;
    return []<int... I>(std::integer_sequence<int, I...>) {
        auto s = listing<static_cast<E>(I + lowest)...>();
        std::array<std::string_view, sizeof...(I)> names{};
        for (auto& name : names) {
            const auto end = end_of_value(s, printed<E>().size());
            name = enumerator_in(s.substr(0, end));
            s.remove_prefix(end + 2 < s.size() ? end + 2 : s.size());
        }
        return names;
    }(std::make_integer_sequence<int, count>{});
}

#if defined(__clang__) && __clang_major__ < 20
#pragma clang diagnostic pop
#endif

struct EnumSize {
    std::size_t count = 0;
    std::size_t length = 0;
};

template <class E>
inline constexpr EnumSize enum_size = [] {
    EnumSize size;
    for (const auto name : names_by_value<E>()) {
        size.count += !name.empty();
        size.length += name.size();
    }
    return size;
}();

template <class E>
inline constexpr auto enum_chars = [] {
    std::array<char, enum_size<E>.length + 1> chars{};
    std::size_t at = 0;
    for (const auto name : names_by_value<E>())
        for (const char c : name) chars[at++] = c;
    return chars;
}();

}  // namespace detail

/// Every enumerator of E in the range that is looked at, in the order of their values.
template <class E>
    requires std::is_enum_v<E>
inline constexpr auto enumerators = [] {
    std::array<Enumerator<E>, detail::enum_size<E>.count> entries{};
    int value = detail::lowest_of<E>();
    std::size_t entry = 0;
    std::size_t at = 0;
    for (const auto name : detail::names_by_value<E>()) {
        if (!name.empty()) {
            entries[entry++] = {static_cast<E>(value),
                                {detail::enum_chars<E>.data() + at, name.size()}};
            at += name.size();
        }
        ++value;
    }
    return entries;
}();

}  // namespace pawl::inline v0::reflect
