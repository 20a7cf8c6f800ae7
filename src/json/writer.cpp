#include <fmt/format.h>
#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <pawl/error.hpp>
#include <pawl/json/value.hpp>
#include <pawl/json/writer.hpp>

#include "base/check.hpp"
#include "json/path.hpp"

namespace pawl::inline v0::json {
namespace {

// Whether a character of a text stands for itself in JSON.
constexpr bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

// How many characters at the front are plain: eight at a time, since most texts are all plain.
std::size_t plain_prefix(std::string_view text) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = 0x8080808080808080;
    std::size_t i = 0;
    for (; i + 8 <= text.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + i, 8);
        const std::uint64_t control = word - ones * 0x20;
        const std::uint64_t quote = (word ^ ones * '"') - ones;
        const std::uint64_t backslash = (word ^ ones * '\\') - ones;
        if ((word | control | quote | backslash) & tops) break;
    }
    while (i < text.size() && is_plain(static_cast<unsigned char>(text[i]))) ++i;
    return i;
}

template <class Float>
void append_number(std::string& out, Float value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    const std::string_view text{buffer, static_cast<std::size_t>(end - buffer)};
    out += text;
    // Without a point, a large number would be read as an integer that doesn't fit.
    if (text.find_first_of(".e") == text.npos) out += ".0";
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
    char buffer[24];
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

int depth_of(std::string_view json) {
    int depth = 0;
    int most = 0;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] == '"')
            while (json[++i] != '"') i += json[i] == '\\';
        else if (json[i] == '{' || json[i] == '[')
            most = std::max(most, ++depth);
        else if (json[i] == '}' || json[i] == ']')
            --depth;
    }
    return most;
}

}  // namespace

void Writer::open(char bracket) {
    if (depth_ == levels_) fail(fmt::format("nested deeper than {}", levels_));
    separate();
    ++depth_;
    out_ += bracket;
    comma_ = false;
}

void Writer::close(char bracket) {
    base::check(depth_ > 0, "a Codec closed more than it opened");
    --depth_;
    out_ += bracket;
    comma_ = true;
}

void Writer::key(std::string_view name) {
    separate();
    comma_ = false;
    quote(name);
    out_ += ':';
}

void Writer::plain_key(std::string_view name) {
    separate();
    comma_ = false;
    out_ += '"';
    out_ += name;
    out_.append("\":", 2);
}

void Writer::null() {
    separate();
    out_.append("null", 4);
    comma_ = true;
}

void Writer::boolean(bool value) {
    separate();
    out_ += value ? "true" : "false";
    comma_ = true;
}

void Writer::integer(std::int64_t value) {
    separate();
    append_integer(out_, value);
    comma_ = true;
}

void Writer::unsigned_integer(std::uint64_t value) {
    separate();
    append_integer(out_, value);
    comma_ = true;
}

void Writer::number(double value) {
    separate();
    if (!std::isfinite(value)) fail("NaN and infinity can't travel: JSON has no word for them");
    append_number(out_, value);
    comma_ = true;
}

void Writer::number(float value) {
    separate();
    if (!std::isfinite(value)) fail("NaN and infinity can't travel: JSON has no word for them");
    // It is read by way of a double. Of all floats, only this one then comes out as its neighbour.
    if (std::abs(value) == 7.03853069e-26F)
        append_number(out_, static_cast<double>(value));
    else
        append_number(out_, value);
    comma_ = true;
}

void Writer::text(std::string_view value) {
    separate();
    quote(value);
    comma_ = true;
}

void Writer::bytes(const std::byte* data, std::size_t size) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    separate();
    out_.reserve(out_.size() + (size + 2) / 3 * 4 + 2);
    out_ += '"';
    for (std::size_t i = 0; i < size; i += 3) {
        const std::size_t left = size - i;
        const auto byte = [&](std::size_t k) {
            return k < left ? std::to_integer<std::uint32_t>(data[i + k]) : 0;
        };
        const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
        out_ += digits[three >> 18];
        out_ += digits[three >> 12 & 63];
        out_ += left > 1 ? digits[three >> 6 & 63] : '=';
        out_ += left > 2 ? digits[three & 63] : '=';
    }
    out_ += '"';
    comma_ = true;
}

void Writer::raw(std::string_view json) {
    separate();
    try {
        const Document checked{json, Strictness::lenient, levels_};
    } catch (const Error& e) {
        fail(fmt::format("raw text {}", e.what()));
    }
    if (depth_ + depth_of(json) > levels_) fail(fmt::format("nested deeper than {}", levels_));
    out_ += json;
    comma_ = true;
}

void Writer::fail(std::string_view what) const {
    throw Error{Code::codec, fmt::format("{}: {}", path(), what)};
}

std::string Writer::path() const { return path_after(std::string_view{out_}.substr(start_)); }

void Writer::quote(std::string_view value) {
    const auto plain = plain_prefix(value);
    if (plain == value.size()) {
        out_ += '"';
        out_ += value;
        out_ += '"';
        return;
    }
    if (!simdjson::validate_utf8(value.data(), value.size()))
        fail(fmt::format("a text that isn't UTF-8 can't travel; it begins with {}",
                         quoted_excerpt(value.substr(0, plain))));
    out_ += '"';
    escape(value, plain);
    out_ += '"';
}

void Writer::escape(std::string_view value, std::size_t from) {
    static constexpr char digits[] = "0123456789abcdef";
    out_.append(value, 0, from);
    for (const char c : value.substr(from)) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += c;
        } else if (c == '\n') {
            out_.append("\\n", 2);
        } else if (c == '\t') {
            out_.append("\\t", 2);
        } else if (c == '\r') {
            out_.append("\\r", 2);
        } else if (byte < 0x20) {
            out_.append("\\u00", 4);
            out_ += digits[byte >> 4];
            out_ += digits[byte & 15];
        } else {
            out_ += c;
        }
    }
}

}  // namespace pawl::inline v0::json
