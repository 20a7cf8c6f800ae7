/// Appends JSON text to a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pawl/export.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0::json {

/// Objects and arrays inside each other. Both ways: what is written can be read.
inline constexpr int deepest = 64;

/// Writes one JSON value, piece by piece. Each call throws pawl::Error (codec) with the path of the
/// place for what JSON can't hold; what was appended until then stays. Not thread-safe.
class PAWL_API Writer {
public:
    /// Appends to `out`, which must outlive the writer. `levels`: objects and arrays inside each
    /// other, at most.
    explicit Writer(std::string& out, int levels = deepest)
        : out_(out), start_(out.size()), levels_(levels) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void open_object() { open('{'); }
    void close_object() { close('}'); }
    void open_array() { open('['); }
    void close_array() { close(']'); }

    /// The key of the next value; only inside an object.
    void key(std::string_view name);
    /// The same, for a name that is known to need no escape.
    void plain_key(std::string_view name);

    void null();
    void boolean(bool value);
    void integer(std::int64_t value);
    void unsigned_integer(std::uint64_t value);
    /// The shortest text that reads back as the same number; NaN and infinities throw.
    void number(double value);
    void number(float value);
    /// Throws unless `value` is UTF-8.
    void text(std::string_view value);
    /// As text in base64.
    void bytes(const std::byte* data, std::size_t size);
    /// JSON text as it is. Throws unless it is one valid JSON value.
    void raw(std::string_view json);

    /// Throws pawl::Error (codec): "$.lines[3].quantity: what".
    [[noreturn]] void fail(std::string_view what) const;

    /// How far it is: bytes written, brackets open, and whether the last thing was a whole value.
    std::size_t size() const { return out_.size() - start_; }
    int depth() const { return depth_; }
    bool has_value() const { return comma_; }

private:
    void open(char bracket);
    void close(char bracket);
    void separate() {
        if (comma_) out_ += ',';
    }
    void quote(std::string_view value);
    void escape(std::string_view value, std::size_t from);
    std::string path() const;

    std::string& out_;
    std::size_t start_;
    int levels_;
    int depth_ = 0;
    bool comma_ = false;
};

}  // namespace pawl::inline v0::json
