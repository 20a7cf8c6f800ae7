/// How a type brings its own JSON, and JSON that passes through as it is.
#pragma once

#include <pawl/json/value.hpp>
#include <pawl/json/writer.hpp>
#include <string>

namespace pawl::inline v0::json {

/// A type that isn't a plain struct travels by a specialisation with two static functions:
///
///     template <>
///     struct pawl::json::Codec<Money> {
///         static void write(Writer& w, const Money& m) { w.text(m.str()); }
///         static void read(Value v, Money& m) { m = Money::parse(v.text()); }
///     };
///
/// `write` writes exactly one value; `read` gets a default constructed one, or the default of the
/// field. Parts are handed on with `json::write(w, part)` and `json::read(v, part)`. Either may
/// throw: `w.fail(what)` and `v.fail(what)` name the place, and any other std::exception becomes
/// such an error. It must be declared before the type is first encoded, and goes before every other
/// rule.
template <class T>
struct Codec;

/// One JSON value as text, embedded and extracted unchanged, to the last blank inside it. Writing
/// anything but one valid JSON value is an error, so an empty Raw can't be written.
struct Raw {
    std::string text{};
    friend bool operator==(const Raw&, const Raw&) = default;
};

}  // namespace pawl::inline v0::json
