/// Reads JSON text: a parsed document, and the values in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pawl/export.hpp>
#include <pawl/json/writer.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0::json {

enum class Type { null, boolean, integer, number, text, array, object };

/// What a document may contain beyond the fields that its reader asks for.
enum class Strictness : std::uint8_t {
    lenient,  ///< unknown fields are ignored, and the first of several equal keys counts
    unique,   ///< unknown fields are ignored; an object with two equal keys is refused
    exact,    ///< both are refused
};

class Items;
class Members;
struct Parsed;

/// One value in a Document: two words, cheap to copy, valid while the document is. Every call that
/// finds another type than it asks for throws pawl::Error (codec) with the path of the value.
class PAWL_API Value {
public:
    Type type() const;
    bool is_null() const;
    bool boolean() const;
    std::int64_t integer() const;
    std::uint64_t unsigned_integer() const;
    double number() const;  ///< integers too
    /// UTF-8 without escapes, valid while the document is.
    std::string_view text() const;

    /// The first member with this key; empty if there is none.
    std::optional<Value> find(std::string_view key) const;
    /// for (Value item : value.items())
    Items items() const;
    /// for (auto [key, member] : value.members())
    Members members() const;
    /// Of an array or an object; a hint above 16 million.
    std::size_t size() const;

    /// The value's own text in the document, unchanged; valid while the document is.
    std::string_view raw() const;

    /// How strict its document is: `json::read` refuses a struct's unknown fields if that is
    /// `exact`.
    Strictness strictness() const;

    /// Where the value stands: "$.lines[3].quantity".
    std::string path() const;
    /// Throws pawl::Error (codec): "$.lines[3].quantity: what".
    [[noreturn]] void fail(std::string_view what) const;
    /// Throws pawl::Error (codec): "$.quantity: expected an integer, found the text \"x\"".
    [[noreturn]] void fail_expected(std::string_view what) const;

private:
    friend class Document;
    friend class Items;
    friend class Members;
    friend class Fields;
    Value(const Parsed* document, std::size_t at) : document_(document), at_(at) {}

    const Parsed* document_;
    std::size_t at_;
};

/// The items of an array, as a range.
class PAWL_API Items {
public:
    class Iterator {
    public:
        Value operator*() const { return value_; }
        Iterator& operator++() {
            value_.at_ = after(value_);
            return *this;
        }
        bool operator==(const Iterator& other) const { return value_.at_ == other.value_.at_; }

    private:
        friend class Items;
        explicit Iterator(Value value) : value_(value) {}
        Value value_;
    };

    Iterator begin() const { return Iterator{first_}; }
    Iterator end() const { return Iterator{Value{first_.document_, end_}}; }

private:
    friend class Value;
    friend class Members;
    friend class Fields;
    Items(Value first, std::size_t end) : first_(first), end_(end) {}
    static std::size_t after(Value value);

    Value first_;
    std::size_t end_;
};

struct Member {
    std::string_view key{};
    Value value;
};

/// The members of an object in the order of the text, duplicates included, as a range.
class PAWL_API Members {
public:
    class Iterator {
    public:
        Member operator*() const { return member(key_); }
        Iterator& operator++() {
            key_.at_ = Items::after(Value{key_.document_, key_.at_ + 1});
            return *this;
        }
        bool operator==(const Iterator& other) const { return key_.at_ == other.key_.at_; }

    private:
        friend class Members;
        explicit Iterator(Value key) : key_(key) {}
        Value key_;
    };

    Iterator begin() const { return Iterator{first_}; }
    Iterator end() const { return Iterator{Value{first_.document_, end_}}; }

private:
    friend class Value;
    Members(Value first, std::size_t end) : first_(first), end_(end) {}
    static Member member(Value key);

    Value first_;
    std::size_t end_;
};

/// Finds the members of an object by name, each name asked for once. Fast when they are asked for
/// in the order in which they were written.
class PAWL_API Fields {
public:
    /// Throws pawl::Error (codec) unless `object` is one.
    explicit Fields(Value object);

    /// The first member of this name; empty if there is none.
    std::optional<Value> find(std::string_view name);
    Value object() const { return object_; }

private:
    Value object_;
    std::size_t next_;  // the key after the last one found, while names came in the text's order
    std::size_t end_;
};

/// Parsed JSON text, complete and checked. Movable; use from one thread at a time.
class PAWL_API Document {
public:
    /// Copies `text`. Throws pawl::Error (codec) unless it is one JSON value in UTF-8, no deeper
    /// than `levels`, with nothing after it and integers of at most 64 bits. Throws as well if it
    /// is not `lenient` and an object has two equal keys: then the error names the second one.
    explicit Document(std::string_view text, Strictness strictness = Strictness::lenient,
                      int levels = deepest);
    ~Document();
    Document(Document&&) noexcept;
    Document& operator=(Document&&) = delete;

    Value root() const;

private:
    std::unique_ptr<Parsed> parsed_;
};

}  // namespace pawl::inline v0::json
