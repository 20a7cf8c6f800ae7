#include <fmt/format.h>

#include <pawl/error.hpp>
#include <pawl/json/value.hpp>
#include <set>
#include <string_view>

#include "base/check.hpp"
#include "json/parsed.hpp"
#include "json/path.hpp"

namespace pawl::inline v0::json {
namespace {

using simdjson::internal::tape_type;

std::string describe(Value value) {
    switch (value.type()) {
        case Type::null:
            return "null";
        case Type::boolean:
            return value.boolean() ? "true" : "false";
        case Type::integer:
        case Type::number:
            return fmt::format("the number {}", value.raw());
        case Type::text:
            return fmt::format("the text {}", quoted_excerpt(value.text()));
        case Type::array:
            return "an array";
        case Type::object:
            return "an object";
    }
    return "?";
}

// A tree and no hash table: the sender of the text may choose keys that collide.
void refuse_equal_keys(Value value) {
    if (value.type() == Type::array) {
        for (const Value item : value.items()) refuse_equal_keys(item);
    } else if (value.type() == Type::object) {
        std::set<std::string_view> keys;
        for (const Member member : value.members()) {
            refuse_equal_keys(member.value);
            if (!keys.insert(member.key).second) member.value.fail("duplicate key");
        }
    }
}

}  // namespace

Strictness Value::strictness() const { return document_->strictness; }

Type Value::type() const {
    switch (document_->at(at_).tape_ref_type()) {
        case tape_type::TRUE_VALUE:
        case tape_type::FALSE_VALUE:
            return Type::boolean;
        case tape_type::INT64:
        case tape_type::UINT64:
            return Type::integer;
        case tape_type::DOUBLE:
            return Type::number;
        case tape_type::STRING:
            return Type::text;
        case tape_type::START_ARRAY:
            return Type::array;
        case tape_type::START_OBJECT:
            return Type::object;
        default:
            return Type::null;
    }
}

bool Value::is_null() const { return document_->at(at_).is_null_on_tape(); }

bool Value::boolean() const {
    const auto node = document_->at(at_);
    if (node.is_true()) return true;
    if (node.is_false()) return false;
    fail_expected("true or false");
}

std::int64_t Value::integer() const {
    const auto node = document_->at(at_);
    if (node.is_int64()) return node.next_tape_value<std::int64_t>();
    fail_expected(node.is_uint64() ? "an integer below 2^63" : "an integer");
}

std::uint64_t Value::unsigned_integer() const {
    const auto node = document_->at(at_);
    if (node.is_uint64()) return node.next_tape_value<std::uint64_t>();
    if (node.is_int64()) {
        const auto value = node.next_tape_value<std::int64_t>();
        if (value >= 0) return static_cast<std::uint64_t>(value);
        fail_expected("an integer of 0 or more");
    }
    fail_expected("an integer");
}

double Value::number() const {
    const auto node = document_->at(at_);
    if (node.is_double()) return node.next_tape_value<double>();
    if (node.is_int64()) return static_cast<double>(node.next_tape_value<std::int64_t>());
    if (node.is_uint64()) return static_cast<double>(node.next_tape_value<std::uint64_t>());
    fail_expected("a number");
}

std::string_view Value::text() const {
    const auto node = document_->at(at_);
    if (node.tape_ref_type() != tape_type::STRING) fail_expected("a text");
    return node.get_string_view();
}

std::optional<Value> Value::find(std::string_view key) const { return Fields{*this}.find(key); }

Items Value::items() const {
    const auto node = document_->at(at_);
    if (node.tape_ref_type() != tape_type::START_ARRAY) fail_expected("an array");
    return {Value{document_, at_ + 1}, node.after_element() - 1};
}

Members Value::members() const {
    const auto node = document_->at(at_);
    if (node.tape_ref_type() != tape_type::START_OBJECT) fail_expected("an object");
    return {Value{document_, at_ + 1}, node.after_element() - 1};
}

std::size_t Value::size() const {
    const auto node = document_->at(at_);
    const auto type = node.tape_ref_type();
    if (type != tape_type::START_ARRAY && type != tape_type::START_OBJECT)
        fail_expected("an array or an object");
    return node.scope_count();
}

std::string_view Value::raw() const { return document_->text_of(at_); }

// Found by walking down from the root: a path is only needed for a message, so that keeping one
// while reading would be paid for by every value that is fine.
std::string Value::path() const {
    std::string path = "$";
    std::size_t at = 1;
    while (at < at_) {
        const bool is_object = document_->at(at).tape_ref_type() == tape_type::START_OBJECT;
        std::size_t child = at + 1;
        for (std::size_t index = 0;; ++index) {
            const std::size_t value = is_object ? child + 1 : child;
            const std::size_t next = document_->at(value).after_element();
            if (next <= at_) {
                child = next;
                continue;
            }
            if (is_object)
                append_key(path, document_->at(child).get_string_view());
            else
                append_index(path, index);
            at = value;
            break;
        }
    }
    return path;
}

void Value::fail(std::string_view what) const {
    throw Error{Code::codec, fmt::format("{}: {}", path(), what)};
}

void Value::fail_expected(std::string_view what) const {
    fail(fmt::format("expected {}, found {}", what, describe(*this)));
}

std::size_t Items::after(Value value) { return value.document_->at(value.at_).after_element(); }

Member Members::member(Value key) {
    return {key.document_->at(key.at_).get_string_view(), Value{key.document_, key.at_ + 1}};
}

Fields::Fields(Value object) : object_(object), next_(object.at_ + 1), end_(0) {
    const auto node = object.document_->at(object.at_);
    if (node.tape_ref_type() != tape_type::START_OBJECT) object.fail_expected("an object");
    end_ = node.after_element() - 1;
}

std::optional<Value> Fields::find(std::string_view name) {
    const auto& document = *object_.document_;
    // While every name came in the order of the text, the members before are other names: this is
    // the first of its name. After one miss the order is lost, and each search starts at the front.
    if (next_ < end_) {
        if (document.at(next_).get_string_view() == name) {
            const Value found{&document, next_ + 1};
            next_ = Items::after(found);
            return found;
        }
        next_ = end_;
    }
    for (std::size_t key = object_.at_ + 1; key < end_;) {
        const Value value{&document, key + 1};
        if (document.at(key).get_string_view() == name) return value;
        key = Items::after(value);
    }
    return std::nullopt;
}

Document::Document(std::string_view text, Strictness strictness, int levels)
    : parsed_(borrow_parsed(levels)) {
    try {
        parsed_->parse(text);
        parsed_->strictness = strictness;
        if (strictness != Strictness::lenient) refuse_equal_keys(root());
    } catch (...) {
        give_back(std::move(parsed_));
        throw;
    }
}

Document::Document(Document&&) noexcept = default;

Document::~Document() { give_back(std::move(parsed_)); }

Value Document::root() const {
    base::check(parsed_ != nullptr, "a Document was used after it was moved from");
    return Value{parsed_.get(), 1};
}

}  // namespace pawl::inline v0::json
