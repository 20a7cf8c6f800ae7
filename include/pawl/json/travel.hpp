/// What can't travel, and the message that says so while compiling.
#pragma once

#include <chrono>
#include <cstddef>
#include <pawl/json/kind.hpp>
#include <ratio>
#include <string_view>
#include <type_traits>

namespace pawl::inline v0::json::detail {

// Views and literals can be encoded and not decoded.
enum class Way { out, both };

enum class Refusal {
    none,
    pointer,
    array,
    reference,
    constant,
    base,
    fields,
    no_default,
    view,
    nameless_enum,
    duration,
    clock,
    nullable_twice,
    alternative,
    same_tag,
    type_field,
    map_key,
    half_codec,
    unknown,
};

template <class T, std::size_t... I>
consteval bool has_const_field(std::index_sequence<I...>) {
    return (std::is_const_v<reflect::Field<T, I>> || ...);
}

template <class T>
consteval Refusal refuse_record() {
    if constexpr (!requires { T{}; })
        return Refusal::no_default;
    else if constexpr (reflect::has_full_base<T>)
        return Refusal::base;
    else if constexpr (reflect::has_array<T>)
        return Refusal::array;
    else if constexpr (reflect::has_reference<T>)
        return Refusal::reference;
    else if constexpr (reflect::field_count<T> > reflect::most_fields)
        return Refusal::fields;
    else if constexpr (has_const_field<T>(std::make_index_sequence<reflect::field_count<T>>{}))
        return Refusal::constant;
    else
        return Refusal::none;
}

template <class A>
consteval bool has_type_field() {
    if constexpr (kind<A> == Kind::record) {
        if constexpr (refuse_record<A>() == Refusal::none)
            for (const auto name : reflect::field_names<A>)
                if (name == "type") return true;
    }
    return false;
}

template <class... A>
consteval Refusal refuse_variant(Types<A...>) {
    if (((kind<A> != Kind::record && kind<A> != Kind::null) || ...)) return Refusal::alternative;
    const std::string_view tags[] = {reflect::tag<A>()...};
    for (std::size_t i = 0; i < sizeof...(A); ++i)
        for (std::size_t k = 0; k < i; ++k)
            if (tags[i] == tags[k]) return Refusal::same_tag;
    return (has_type_field<A>() || ...) ? Refusal::type_field : Refusal::none;
}

template <class Rep>
inline constexpr bool is_whole = std::is_integral_v<Rep> && std::is_signed_v<Rep>;

template <class T>
consteval Refusal refuse_time() {
    using Period = typename T::duration::period;
    if constexpr (!std::is_same_v<typename T::clock, std::chrono::system_clock>)
        return Refusal::clock;
    else if constexpr (!is_whole<typename T::rep> || std::ratio_divide<Period, std::nano>::den != 1)
        return Refusal::duration;
    else
        return Refusal::none;
}

template <class T>
consteval Refusal refuse_duration() {
    const bool exact =
        is_whole<typename T::rep> && std::ratio_divide<typename T::period, std::micro>::den == 1;
    return exact ? Refusal::none : Refusal::duration;
}

template <class T>
consteval Refusal refuse_key() {
    constexpr Kind key = kind<typename T::key_type>;
    const bool fits = key == Kind::text || key == Kind::integer || key == Kind::enumeration;
    return fits ? Refusal::none : Refusal::map_key;
}

template <class T>
consteval Refusal refuse_unknown() {
    if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T>)
        return Refusal::pointer;
    else if constexpr (std::is_reference_v<T>)
        return Refusal::reference;
    else if constexpr (std::is_array_v<T>)
        return Refusal::array;
    else
        return Refusal::unknown;
}

// What is wrong with T itself; its parts are asked one by one.
template <class T, Way W>
consteval Refusal refusal() {
    constexpr Kind k = kind<T>;
    if constexpr (k == Kind::none)
        return refuse_unknown<T>();
    else if constexpr (std::is_const_v<T>)
        return Refusal::constant;
    else if constexpr (k == Kind::view)
        return W == Way::out ? Refusal::none : Refusal::view;
    else if constexpr (k == Kind::codec && !CodecWrites<T>)
        return Refusal::half_codec;
    else if constexpr (k == Kind::codec && W == Way::both && !CodecReads<T>)
        return Refusal::half_codec;
    else if constexpr (k == Kind::record)
        return refuse_record<T>();
    else if constexpr (k == Kind::variant)
        return refuse_variant(typename Parts<T>::List{});
    else if constexpr (k == Kind::time)
        return refuse_time<T>();
    else if constexpr (k == Kind::duration)
        return refuse_duration<T>();
    else if constexpr (k == Kind::map)
        return refuse_key<T>();
    else if constexpr (k == Kind::enumeration)
        return reflect::enumerators<T>.empty() ? Refusal::nameless_enum : Refusal::none;
    else if constexpr (k == Kind::optional)
        return is_nullable<typename T::value_type> ? Refusal::nullable_twice : Refusal::none;
    else if constexpr (k == Kind::pointer)
        return is_nullable<typename T::element_type> ? Refusal::nullable_twice : Refusal::none;
    else if constexpr (W == Way::both && !requires { T{}; })
        return Refusal::no_default;
    else
        return Refusal::none;
}

// Whether T and everything in it can travel. `Seen` are the types around T: one that contains
// itself, in a vector or behind a pointer, is asked only once.
template <class T, Way W, class... Seen>
consteval bool is_fit();

template <Way W, class... Seen, class... P>
consteval bool are_fit(Types<P...>) {
    return (is_fit<P, W, Seen...>() && ...);
}

template <class T, Way W, class... Seen>
consteval bool is_fit() {
    if constexpr ((std::is_same_v<T, Seen> || ...))
        return true;
    else if constexpr (refusal<T, W>() != Refusal::none)
        return false;
    else
        return are_fit<W, Seen..., T>(typename Parts<T>::List{});
}

// The name of a field, where a compiler prints it.
struct FieldName {
    char text[64]{};
};

template <class T, std::size_t I>
consteval FieldName field_name() {
    FieldName name;
    if constexpr (kind<T> == Kind::record)
        for (std::size_t i = 0; i < reflect::field_names<T>[I].size() && i + 1 < 64; ++i)
            name.text[i] = reflect::field_names<T>[I][i];
    return name;
}

// The compiler prints the name of this function with the message: T is the type that can't travel,
// `Inside` is what has it, in the field `Field`.
template <class T, class Inside, FieldName Field, Way W, class... Seen>
consteval void cannot_travel();

template <class T, Way W, class... Seen, class... P>
consteval void explain_parts(Types<P...>) {
    [[maybe_unused]] const auto explain = []<std::size_t I, class Part>(Types<Part>) {
        if constexpr (!is_fit<Part, W, Seen...>())
            cannot_travel<Part, T, field_name<T, I>(), W, Seen...>();
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (explain.template operator()<I>(Types<P>{}), ...);
    }(std::make_index_sequence<sizeof...(P)>{});
}

template <class T, class Inside, FieldName Field, Way W, class... Seen>
consteval void cannot_travel() {
    constexpr Refusal why = refusal<T, W>();
    static_assert(why != Refusal::pointer,
                  "pawl: a pointer can't travel: use a value, std::optional or std::unique_ptr");
    static_assert(why != Refusal::array,
                  "pawl: a C array can't travel: use std::array or std::vector");
    static_assert(why != Refusal::reference,
                  "pawl: a reference can't travel: make it a plain value");
    static_assert(why != Refusal::constant,
                  "pawl: a const field can't travel: it can't be decoded into");
    static_assert(why != Refusal::base,
                  "pawl: a struct whose base class has fields can't travel: make the base a field");
    static_assert(why != Refusal::fields,
                  "pawl: a struct with more than 64 fields can't travel: nest some of them");
    static_assert(why != Refusal::no_default,
                  "pawl: this type can't travel: T{} must compile; does it have a reference?");
    static_assert(why != Refusal::view,
                  "pawl: a view can be encoded and not decoded: use std::string");
    static_assert(
        why != Refusal::nameless_enum,
        "pawl: this enum can't travel: no enumerator from -128 to 255 to name its values");
    static_assert(why != Refusal::duration,
                  "pawl: this duration can't travel exactly: use std::chrono::microseconds");
    static_assert(why != Refusal::clock,
                  "pawl: this time point can't travel: only those of the system clock can");
    static_assert(why != Refusal::nullable_twice,
                  "pawl: an optional of an optional can't travel: both are null when empty");
    static_assert(why != Refusal::alternative,
                  "pawl: an alternative of a variant must be a plain struct: wrap it in one");
    static_assert(
        why != Refusal::same_tag,
        "pawl: two alternatives of this variant have the same tag: rename one, or give it "
        "`static constexpr auto tag`");
    static_assert(why != Refusal::type_field,
                  "pawl: an alternative of this variant has a field called `type`, where its tag "
                  "goes: rename the field");
    static_assert(why != Refusal::map_key,
                  "pawl: this map's key can't travel: use a string, an integer or an enum");
    static_assert(why != Refusal::half_codec,
                  "pawl: this type's Codec lacks write(Writer&, const T&) or read(Value, T&)");
    static_assert(why != Refusal::unknown,
                  "pawl: this type can't travel: make it a plain struct, or give it a "
                  "pawl::json::Codec");
    if constexpr (why == Refusal::none) explain_parts<T, W, Seen..., T>(typename Parts<T>::List{});
}

// True where T can travel; otherwise compiling stops with the reason.
template <class T, Way W>
consteval bool require_fit() {
    if constexpr (is_fit<T, W>()) {
        return true;
    } else {
        cannot_travel<T, void, FieldName{}, W>();
        return false;
    }
}

}  // namespace pawl::inline v0::json::detail
