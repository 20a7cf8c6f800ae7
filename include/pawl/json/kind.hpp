/// Which of the shapes on the wire a C++ type has. A container is known by what it can do, so that
/// no header of one is needed here.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <pawl/json/codec.hpp>
#include <pawl/reflect.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace pawl::inline v0::json::detail {

enum class Kind {
    none,
    codec,        // whatever its Codec writes
    boolean,      // true
    integer,      // 1
    number,       // 1.5
    text,         // "a"
    view,         // "a", and can't be read back
    enumeration,  // "paid"
    null,         // null
    optional,     // null, or the value
    pointer,      // null, or what it points to
    bytes,        // "AAEC", base64
    sequence,     // [1, 2]
    set,          // [1, 2]
    array,        // [1, 2], always as many
    tuple,        // [1, "a"]
    map,          // {"a": 1}
    variant,      // {"type": "Placed", "sku": "book"}
    duration,     // microseconds
    time,         // "2024-02-29T12:00:00.000000Z"
    uuid,         // "0192f0c1-..."
    raw,          // as it is
    record,       // {"sku": "book", "quantity": 2}
};

template <class T>
concept CodecWrites = requires(Writer& w, const T& x) { Codec<T>::write(w, x); };
template <class T>
concept CodecReads = requires(Value v, T& x) { Codec<T>::read(v, x); };

template <class T, template <class...> class Of>
inline constexpr bool is = false;
template <template <class...> class Of, class... A>
inline constexpr bool is<Of<A...>, Of> = true;

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

template <class T>
concept Range = requires(const T& x) {
    typename T::value_type;
    x.begin();
    x.end();
};

template <class T>
concept Map = Range<T> && requires(T& x, typename T::key_type key) {
    typename T::mapped_type;
    x.clear();
    x.try_emplace(std::move(key));
};

template <class T>
concept Set = Range<T> && requires(T& x, typename T::key_type key) {
    x.clear();
    x.insert(std::move(key));
} && !requires { typename T::mapped_type; };

template <class T>
concept Sequence = Range<T> && requires(T& x, typename T::value_type item) {
    x.clear();
    x.push_back(std::move(item));
};

template <class T>
concept Pointer = std::is_class_v<T> && requires(const T& x) {
    typename T::element_type;
    static_cast<bool>(x);
    *x;
} && requires(T& x) { x.reset(); };

template <class T>
consteval bool is_bytes() {
    if constexpr (is_array<T> || Sequence<T>)
        return std::is_same_v<typename T::value_type, std::byte> &&
               requires(const T& x) { x.data(); };
    else
        return false;
}

template <class T>
inline constexpr bool is_view =
    std::is_same_v<T, std::string_view> || std::is_same_v<std::decay_t<T>, const char*> ||
    std::is_same_v<std::decay_t<T>, char*>;

template <class T>
consteval Kind kind_of_class() {
    if constexpr (std::is_same_v<T, std::string>)
        return Kind::text;
    else if constexpr (std::is_same_v<T, std::monostate>)
        return Kind::null;
    else if constexpr (std::is_same_v<T, Raw>)
        return Kind::raw;
    else if constexpr (std::is_same_v<T, Uuid>)
        return Kind::uuid;
    else if constexpr (is<T, std::optional>)
        return Kind::optional;
    else if constexpr (is<T, std::variant>)
        return Kind::variant;
    else if constexpr (is<T, std::pair> || is<T, std::tuple>)
        return Kind::tuple;
    else if constexpr (is<T, std::chrono::duration>)
        return Kind::duration;
    else if constexpr (is<T, std::chrono::time_point>)
        return Kind::time;
    else if constexpr (is_bytes<T>())
        return Kind::bytes;
    else if constexpr (is_array<T>)
        return Kind::array;
    else if constexpr (Map<T>)
        return Kind::map;
    else if constexpr (Set<T>)
        return Kind::set;
    else if constexpr (Sequence<T>)
        return Kind::sequence;
    else if constexpr (Pointer<T>)
        return Kind::pointer;
    else if constexpr (reflect::Record<T>)
        return Kind::record;
    else
        return Kind::none;
}

template <class T>
consteval Kind find_kind() {
    if constexpr (CodecWrites<T> || CodecReads<T>)
        return Kind::codec;
    else if constexpr (std::is_same_v<T, bool>)
        return Kind::boolean;
    else if constexpr (std::is_integral_v<T>)
        return sizeof(T) <= 8 ? Kind::integer : Kind::none;
    else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>)
        return Kind::number;
    else if constexpr (std::is_enum_v<T>)
        return Kind::enumeration;
    else if constexpr (is_view<T>)
        return Kind::view;
    else if constexpr (std::is_class_v<T>)
        return kind_of_class<T>();
    else
        return Kind::none;
}

template <class T>
inline constexpr Kind kind = find_kind<T>();

template <class...>
struct Types {};

// The types that a type is made of.
template <class T>
struct Parts {
    using List = Types<>;
};
template <class... A>
struct Parts<std::optional<A...>> {
    using List = Types<A...>;
};
template <class... A>
struct Parts<std::variant<A...>> {
    using List = Types<A...>;
};
template <class... A>
struct Parts<std::tuple<A...>> {
    using List = Types<A...>;
};
template <class... A>
struct Parts<std::pair<A...>> {
    using List = Types<A...>;
};
template <class T>
    requires(kind<T> == Kind::pointer)
struct Parts<T> {
    using List = Types<typename T::element_type>;
};
template <class T>
    requires(kind<T> == Kind::map)
struct Parts<T> {
    using List = Types<typename T::mapped_type>;
};
template <class T>
    requires(kind<T> == Kind::sequence || kind<T> == Kind::set || kind<T> == Kind::array)
struct Parts<T> {
    using List = Types<typename T::value_type>;
};

template <class T, std::size_t... I>
Types<reflect::Field<T, I>...> field_types(std::index_sequence<I...>);
template <class T>
    requires(kind<T> == Kind::record)
struct Parts<T> {
    using List = decltype(field_types<T>(std::make_index_sequence<reflect::field_count<T>>{}));
};

// Whether a value may be written as null.
template <class T>
inline constexpr bool is_nullable =
    kind<T> == Kind::optional || kind<T> == Kind::pointer || kind<T> == Kind::null;
template <class... A>
inline constexpr bool is_nullable<std::variant<A...>> = (is_nullable<A> || ...);

}  // namespace pawl::inline v0::json::detail
