/// The name of a type on the wire: the same from every compiler, whatever it is nested in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace pawl::inline v0::reflect {

template <class T>
constexpr std::string_view tag();

namespace detail {

// Text that is put together while compiling.
struct Name {
    char chars[512]{};
    std::size_t size = 0;

    constexpr void add(char c) { chars[size++] = c; }
    constexpr void add(std::string_view text) {
        for (const char c : text) add(c);
    }
    constexpr std::string_view view() const { return {chars, size}; }
};

// gcc: "consteval auto ...::printed() [with T = X]", clang: "auto ...::printed() [T = X]".
template <class T>
consteval auto printed() {
    std::string_view s = __PRETTY_FUNCTION__;
    s = s.substr(s.find("T = ") + 4);
    return s.substr(0, s.rfind(']'));
}

consteval std::size_t end_of_group(std::string_view s, std::size_t at) {
    int depth = 0;
    for (; at < s.size(); ++at) {
        if (s[at] == '(' || s[at] == '{' || s[at] == '[') ++depth;
        if ((s[at] == ')' || s[at] == '}' || s[at] == ']') && --depth == 0) break;
    }
    return at;
}

// Drops what qualifies each name: namespaces, classes, "(anonymous namespace)", "main()".
consteval Name unqualified(std::string_view s) {
    Name name;
    std::size_t starts[32]{};
    std::size_t depth = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
        switch (s[i]) {
            case '(':
            case '{':
            case '[':
                i = end_of_group(s, i);
                break;
            case ':':
                name.size = starts[depth];
                break;
            case '<':
                name.add('<');
                starts[++depth] = name.size;
                break;
            case '>':
                if (name.chars[name.size - 1] == ' ') --name.size;
                name.add('>');
                --depth;
                break;
            case ',':
                name.add(',');
                starts[depth] = name.size;
                if (i + 1 < s.size() && s[i + 1] == ' ') ++i;
                break;
            default:
                name.add(s[i]);
        }
    }
    return name;
}

template <class... A>
consteval std::string_view join_tags(Name& name) {
    bool first = true;
    ((first ? void() : name.add(','), first = false, name.add(tag<A>())), ...);
    return name.view();
}

template <class T>
struct Arguments {
    static constexpr bool known = false;
};

// Compilers print default arguments, integers and std::string each in their own way, so the
// arguments of a template are named one by one. Those that are the defaults are left out.
template <template <class...> class Of, class First, class... Rest>
struct Arguments<Of<First, Rest...>> {
    static constexpr bool known = true;

    static consteval void name(Name& name) {
        if constexpr (requires { requires std::is_same_v<Of<First>, Of<First, Rest...>>; })
            join_tags<First>(name);
        else if constexpr (is_second_last<Rest...>())
            join_second<Rest...>(name);
        else
            join_tags<First, Rest...>(name);
    }

private:
    template <class Second, class... More>
    static consteval bool is_second_last() {
        return requires { requires std::is_same_v<Of<First, Second>, Of<First, Second, More...>>; };
    }
    template <class Second, class... More>
    static consteval void join_second(Name& name) {
        join_tags<First, Second>(name);
    }
};

template <class T>
consteval Name make_name() {
    Name name;
    if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
        name.add(printed<T>());
    } else if constexpr (std::is_same_v<T, std::string>) {
        name.add("string");
    } else if constexpr (std::is_integral_v<T>) {
        name.add(std::is_signed_v<T> ? "int" : "uint");
        name.add(sizeof(T) == 1 ? "8" : sizeof(T) == 2 ? "16" : sizeof(T) == 4 ? "32" : "64");
    } else if constexpr (Arguments<T>::known) {
        const auto full = unqualified(printed<T>());
        name.add(full.view().substr(0, full.view().find('<')));
        name.add('<');
        Arguments<T>::name(name);
        name.add('>');
    } else {
        name = unqualified(printed<T>());
    }
    return name;
}

template <std::size_t N>
struct Chars {
    char chars[N + 1]{};
};

// Only as long as the name, because this is what stays in the program.
template <class T>
inline constexpr auto stored_name = [] {
    constexpr auto name = make_name<T>();
    Chars<name.size> stored;
    for (std::size_t i = 0; i < name.size; ++i) stored.chars[i] = name.chars[i];
    return stored;
}();

template <class T>
concept Pinned = requires { typename std::bool_constant<(std::string_view{T::tag}.size() > 0)>; };

}  // namespace detail

/// The name of `T` on the wire: `T::tag` where there is one, else its C++ name without what it is
/// nested in. A template has its arguments' tags: "Failed<Invoice>", "Page<int32,string>".
template <class T>
constexpr std::string_view tag() {
    if constexpr (detail::Pinned<T>)
        return T::tag;
    else
        return {detail::stored_name<T>.chars, sizeof detail::stored_name<T>.chars - 1};
}

}  // namespace pawl::inline v0::reflect
