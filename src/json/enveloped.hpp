/// JSON of pawl's own that carries JSON of the user's: it may be nested deeper by what pawl adds.
#pragma once

#include <pawl/json.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0::json {

/// A value of the user's is nested `deepest` levels at most. An entry of a journal adds one, and an
/// exported entry two more.
inline constexpr int deepest_enveloped = deepest + 8;

/// As `encode`, for what carries a Raw of the user's.
template <class T>
std::string encode_enveloped(const T& x) {
    constexpr std::size_t enough_for_most = 120;
    std::string out;
    out.reserve(enough_for_most);
    Writer writer{out, deepest_enveloped};
    write(writer, x);
    return out;
}

/// As `decode`.
template <class T>
T decode_enveloped(std::string_view text) {
    T x{};
    const Document document{text, Strictness::lenient, deepest_enveloped};
    read(document.root(), x);
    return x;
}

}  // namespace pawl::inline v0::json
