/// Typed values to JSON: one rule for each kind of type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <pawl/error.hpp>
#include <pawl/json/kind.hpp>
#include <pawl/json/time.hpp>
#include <pawl/json/travel.hpp>
#include <pawl/json/writer.hpp>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace pawl::inline v0::json {
namespace detail {

[[noreturn]] PAWL_API void fail_enum(const Writer& w, std::string_view name, std::int64_t value);
PAWL_API void write_integer_key(Writer& w, std::int64_t value);
PAWL_API void write_integer_key(Writer& w, std::uint64_t value);
PAWL_API void write_uuid(Writer& w, const Uuid& value);

template <class T>
void put(Writer& w, const T& x);

template <class E>
std::string_view name_of(const Writer& w, E value) {
    for (const auto& one : reflect::enumerators<E>)
        if (one.value == value) return one.name;
    fail_enum(w, reflect::tag<E>(), static_cast<std::int64_t>(value));
}

template <class T>
void put_integer(Writer& w, T x) {
    if constexpr (std::is_signed_v<T>)
        w.integer(x);
    else
        w.unsigned_integer(x);
}

template <class T>
void put_key(Writer& w, const T& key) {
    if constexpr (kind<T> == Kind::enumeration)
        w.plain_key(name_of(w, key));
    else if constexpr (kind<T> == Kind::text)
        w.key(key);
    else if constexpr (std::is_signed_v<T>)
        write_integer_key(w, std::int64_t{key});
    else
        write_integer_key(w, std::uint64_t{key});
}

template <class T, std::size_t... I>
void put_fields(Writer& w, const T& x, std::index_sequence<I...>) {
    [[maybe_unused]] const auto fields = reflect::fields(x);
    ((w.plain_key(reflect::field_names<T>[I]), put(w, std::get<I>(fields))), ...);
}

template <class T>
void put_fields(Writer& w, const T& x) {
    put_fields(w, x, std::make_index_sequence<reflect::field_count<T>>{});
}

template <class T>
void put_items(Writer& w, const T& x) {
    w.open_array();
    for (const typename T::value_type& item : x) put(w, item);
    w.close_array();
}

template <class T>
void put_map(Writer& w, const T& x) {
    w.open_object();
    for (const auto& [key, item] : x) {
        put_key(w, key);
        put(w, item);
    }
    w.close_object();
}

template <class T>
void put_variant(Writer& w, const T& x) {
    if (x.valueless_by_exception()) w.fail("a variant without a value can't travel");
    std::visit(
        [&]<class A>(const A& alternative) {
            if constexpr (kind<A> == Kind::null) {
                w.null();
            } else {
                w.open_object();
                w.plain_key("type");
                w.text(reflect::tag<A>());
                put_fields(w, alternative);
                w.close_object();
            }
        },
        x);
}

template <class T>
void put_view(Writer& w, const T& x) {
    if constexpr (std::is_pointer_v<T>)
        if (x == nullptr) w.fail("a null pointer to text can't travel");
    w.text(std::string_view{x});
}

template <class T>
void put_codec(Writer& w, const T& x) {
    const auto size = w.size();
    const auto depth = w.depth();
    try {
        Codec<T>::write(w, x);
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        w.fail(e.what());
    }
    if (w.size() == size || w.depth() != depth || !w.has_value())
        w.fail("its Codec did not write one value");
}

template <class T>
void put(Writer& w, const T& x) {
    constexpr Kind k = kind<T>;
    if constexpr (k == Kind::codec)
        put_codec(w, x);
    else if constexpr (k == Kind::boolean)
        w.boolean(x);
    else if constexpr (k == Kind::integer)
        put_integer(w, x);
    else if constexpr (k == Kind::number)
        w.number(x);
    else if constexpr (k == Kind::text)
        w.text(x);
    else if constexpr (k == Kind::view)
        put_view(w, x);
    else if constexpr (k == Kind::enumeration)
        w.text(name_of(w, x));
    else if constexpr (k == Kind::null)
        w.null();
    else if constexpr (k == Kind::optional || k == Kind::pointer)
        x ? put(w, *x) : w.null();
    else if constexpr (k == Kind::bytes)
        w.bytes(x.data(), x.size());
    else if constexpr (k == Kind::sequence || k == Kind::set || k == Kind::array)
        put_items(w, x);
    else if constexpr (k == Kind::tuple) {
        w.open_array();
        std::apply([&](const auto&... item) { (put(w, item), ...); }, x);
        w.close_array();
    } else if constexpr (k == Kind::map)
        put_map(w, x);
    else if constexpr (k == Kind::variant)
        put_variant(w, x);
    else if constexpr (k == Kind::duration)
        write_duration(w, x.count(), units_in<T, std::micro>);
    else if constexpr (k == Kind::time)
        write_time(w, x.time_since_epoch().count(), units_in<T, std::nano>);
    else if constexpr (k == Kind::uuid)
        write_uuid(w, x);
    else if constexpr (k == Kind::raw)
        w.raw(x.text);
    else {
        w.open_object();
        put_fields(w, x);
        w.close_object();
    }
}

}  // namespace detail

/// Writes `x` as one value. Throws pawl::Error (codec) that names the place for what JSON can't
/// hold. For use in a Codec; elsewhere, encode.
template <class T>
void write(Writer& w, const T& x) {
    if constexpr (detail::require_fit<T, detail::Way::out>()) detail::put(w, x);
}

}  // namespace pawl::inline v0::json
