/// JSON to typed values: one rule for each kind of type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <pawl/error.hpp>
#include <pawl/json/kind.hpp>
#include <pawl/json/time.hpp>
#include <pawl/json/travel.hpp>
#include <pawl/json/value.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace pawl::inline v0::json {
namespace detail {

/// Names that a text could have been, for a message.
struct Known {
    const std::string_view* names = nullptr;
    std::size_t count = 0;
};

PAWL_API std::int64_t read_integer(Value v, Limits limits);
PAWL_API float read_float(Value v);
PAWL_API std::int64_t read_integer_key(Value v, std::string_view key, Limits limits);
PAWL_API std::uint64_t read_unsigned_key(Value v, std::string_view key);
PAWL_API Uuid read_uuid(Value v);
PAWL_API std::size_t size_of_bytes(Value v);
/// Writes size_of_bytes(v) bytes; throws unless the text is base64.
PAWL_API void read_bytes(Value v, std::byte* out);
/// Throws unless the array has `count` items.
PAWL_API Items items_exactly(Value v, std::size_t count);
[[noreturn]] PAWL_API void fail_unknown(Value v, std::string_view name, Known known);
[[noreturn]] PAWL_API void fail_untyped(Value v, Known known);
/// Throws if the object has a field that is not known, and its document is exact.
PAWL_API void refuse_unknown_fields(Value v, Known known, bool has_type);
/// Throws, unless the document is lenient: the key of `v` equals one before ("1" and "01").
PAWL_API void refuse_equal_key(Value v);

template <class T>
void take(Value v, T& x);

template <class E>
E enum_named(Value v, std::string_view name) {
    for (const auto& one : reflect::enumerators<E>)
        if (one.name == name) return one.value;
    std::array<std::string_view, reflect::enumerators<E>.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = reflect::enumerators<E>[i].name;
    fail_unknown(v, name, {names.data(), names.size()});
}

template <class T>
void take_integer(Value v, T& x) {
    if constexpr (std::is_same_v<T, std::uint64_t> || (std::is_unsigned_v<T> && sizeof(T) == 8))
        x = static_cast<T>(v.unsigned_integer());
    else
        x = static_cast<T>(read_integer(v, limits_of<T>));
}

template <class T>
T key_from(Value v, std::string_view key) {
    if constexpr (kind<T> == Kind::enumeration)
        return enum_named<T>(v, key);
    else if constexpr (kind<T> == Kind::text)
        return T{key};
    else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8)
        return static_cast<T>(read_unsigned_key(v, key));
    else
        return static_cast<T>(read_integer_key(v, key, limits_of<T>));
}

template <class T, std::size_t... I>
void take_fields(Fields& members, T& x, std::index_sequence<I...>) {
    [[maybe_unused]] const auto fields = reflect::fields(x);
    [[maybe_unused]] const auto take_one = [&](std::string_view name, auto& field) {
        // A member that is missing leaves the field's default: adding a field breaks nothing.
        if (const auto member = members.find(name)) take(*member, field);
    };
    (take_one(reflect::field_names<T>[I], std::get<I>(fields)), ...);
}

/// `has_type`: it is an alternative of a variant, so that "type" is not a field.
template <class T>
void take_fields(Fields& members, T& x, bool has_type = false) {
    take_fields(members, x, std::make_index_sequence<reflect::field_count<T>>{});
    if (members.object().strictness() != Strictness::exact) return;
    const auto& names = reflect::field_names<T>;
    refuse_unknown_fields(members.object(), {names.data(), names.size()}, has_type);
}

template <class T>
void take_items(Value v, T& x) {
    x.clear();
    const auto items = v.items();
    if constexpr (requires { x.reserve(v.size()); }) x.reserve(v.size());
    for (const Value one : items) {
        typename T::value_type item{};
        take(one, item);
        if constexpr (kind<T> == Kind::set)
            x.insert(std::move(item));
        else
            x.push_back(std::move(item));
    }
}

template <class T>
void take_map(Value v, T& x) {
    x.clear();
    for (const auto [name, value] : v.members()) {
        auto [at, is_new] = x.try_emplace(key_from<typename T::key_type>(value, name));
        if (is_new)
            take(value, at->second);
        else
            refuse_equal_key(value);  // otherwise the first one counts, as it does in a struct
    }
}

template <class T>
void take_array(Value v, T& x) {
    auto item = x.begin();
    for (const Value one : items_exactly(v, x.size())) take(one, *item++);
}

template <class T>
void take_tuple(Value v, T& x) {
    auto item = items_exactly(v, std::tuple_size_v<T>).begin();
    const auto take_one = [&](auto& part) {
        take(*item, part);
        ++item;
    };
    std::apply([&](auto&... part) { (take_one(part), ...); }, x);
}

template <class... A>
void take_variant(Value v, std::variant<A...>& x) {
    if constexpr ((std::is_same_v<A, std::monostate> || ...)) {
        if (v.is_null()) {
            x.template emplace<std::monostate>();
            return;
        }
    }
    static constexpr std::array<std::string_view, sizeof...(A)> tags{reflect::tag<A>()...};
    Fields members{v};
    const auto type = members.find("type");
    if (!type) fail_untyped(v, {tags.data(), tags.size()});
    const auto name = type->text();
    const auto take_if_named = [&]<class Alternative>(std::in_place_type_t<Alternative>) {
        if constexpr (kind<Alternative> == Kind::record) {
            if (name != reflect::tag<Alternative>()) return false;
            take_fields(members, x.template emplace<Alternative>(), true);
            return true;
        } else {
            return false;
        }
    };
    if (!(take_if_named(std::in_place_type<A>) || ...))
        fail_unknown(*type, name, {tags.data(), tags.size()});
}

template <class T>
void take_pointer(Value v, T& x) {
    if (v.is_null()) {
        x.reset();
    } else {
        x.reset(new typename T::element_type{});
        take(v, *x);
    }
}

template <class T>
void take_bytes(Value v, T& x) {
    const auto size = size_of_bytes(v);
    if constexpr (is_array<T>) {
        if (size != x.size()) v.fail_expected(std::to_string(x.size()) + " bytes in base64");
    } else {
        x.resize(size);
    }
    read_bytes(v, x.data());
}

template <class T>
void take_codec(Value v, T& x) {
    try {
        Codec<T>::read(v, x);
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        v.fail(e.what());
    }
}

template <class T>
void take_optional(Value v, T& x) {
    if (v.is_null())
        x.reset();
    else
        take(v, x.emplace());
}

template <class T>
void take(Value v, T& x) {
    constexpr Kind k = kind<T>;
    if constexpr (k == Kind::codec)
        take_codec(v, x);
    else if constexpr (k == Kind::boolean)
        x = v.boolean();
    else if constexpr (k == Kind::integer)
        take_integer(v, x);
    else if constexpr (std::is_same_v<T, float>)
        x = read_float(v);
    else if constexpr (k == Kind::number)
        x = v.number();
    else if constexpr (k == Kind::text)
        x = v.text();
    else if constexpr (k == Kind::enumeration)
        x = enum_named<T>(v, v.text());
    else if constexpr (k == Kind::null) {
        if (!v.is_null()) v.fail_expected("null");
    } else if constexpr (k == Kind::optional)
        take_optional(v, x);
    else if constexpr (k == Kind::pointer)
        take_pointer(v, x);
    else if constexpr (k == Kind::bytes)
        take_bytes(v, x);
    else if constexpr (k == Kind::sequence || k == Kind::set)
        take_items(v, x);
    else if constexpr (k == Kind::array)
        take_array(v, x);
    else if constexpr (k == Kind::tuple)
        take_tuple(v, x);
    else if constexpr (k == Kind::map)
        take_map(v, x);
    else if constexpr (k == Kind::variant)
        take_variant(v, x);
    else if constexpr (k == Kind::duration)
        x = T{static_cast<typename T::rep>(
            read_duration(v, units_in<T, std::micro>, limits_of<typename T::rep>))};
    else if constexpr (k == Kind::time)
        x = T{typename T::duration{static_cast<typename T::rep>(
            read_time(v, units_in<T, std::nano>, limits_of<typename T::rep>))}};
    else if constexpr (k == Kind::uuid)
        x = read_uuid(v);
    else if constexpr (k == Kind::raw)
        x.text = v.raw();
    else {
        Fields members{v};
        take_fields(members, x);
    }
}

}  // namespace detail

/// Reads one value into `x`; a struct's missing fields stay as they are in `x`. Throws pawl::Error
/// (codec) that names the place; `x` is then partly read. For use in a Codec; elsewhere, decode.
template <class T>
void read(Value v, T& x) {
    if constexpr (detail::require_fit<T, detail::Way::both>()) detail::take(v, x);
}

}  // namespace pawl::inline v0::json
