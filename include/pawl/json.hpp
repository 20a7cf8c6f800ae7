/// Typed values to and from JSON text: plain structs travel as they are.
#pragma once

#include <pawl/json/codec.hpp>
#include <pawl/json/read.hpp>
#include <pawl/json/write.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0::json {

/// Whether a `T` can be encoded and decoded. Asking is always fine; encoding a type for which this
/// is false doesn't compile, and the message says why.
template <class T>
inline constexpr bool travels = detail::is_fit<T, detail::Way::both>();

/// Appends `x` to `out`. Throws pawl::Error (codec) that names the place for what JSON can't hold
/// (NaN, text that isn't UTF-8, an enumerator without a name); `out` is then as it was before.
template <class T>
void encode_to(std::string& out, const T& x) {
    const auto size = out.size();
    try {
        Writer writer{out};
        write(writer, x);
    } catch (...) {
        out.resize(size);
        throw;
    }
}

template <class T>
std::string encode(const T& x) {
    constexpr std::size_t enough_for_most = 120;
    std::string out;
    out.reserve(enough_for_most);
    encode_to(out, x);
    return out;
}

/// Throws pawl::Error (codec) that names the place and what was found there. Missing fields keep
/// their defaults. `strictness` says what becomes of unknown fields and of equal keys: take
/// `lenient` for what an older version of the program may have written, and `exact` for what comes
/// from outside.
template <class T>
T decode(std::string_view text, Strictness strictness = Strictness::lenient) {
    if constexpr (detail::require_fit<T, detail::Way::both>()) {
        T x{};
        const Document document{text, strictness};
        read(document.root(), x);
        return x;
    }
}

}  // namespace pawl::inline v0::json
