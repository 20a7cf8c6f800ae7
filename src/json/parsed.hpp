/// What stands behind a Document: simdjson's parser and tape, and the text they came from.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <pawl/json/value.hpp>
#include <string_view>

namespace pawl::inline v0::json {

struct Parsed {
    simdjson::dom::parser parser;
    std::unique_ptr<char[]> source;  ///< with the padding that simdjson reads past the end
    std::size_t capacity = 0;
    std::size_t size = 0;
    Strictness strictness = Strictness::lenient;
    int levels;  ///< objects and arrays inside each other, at most

    explicit Parsed(int most_levels) : levels(most_levels) {}

    /// Replaces what was parsed before. Throws pawl::Error (codec).
    void parse(std::string_view text);

    /// The source of the value at a place on the tape.
    std::string_view text_of(std::size_t at) const;

    /// An element of the tape. simdjson's own handles can't be made from a number, and a Value has
    /// no room for more than one.
    simdjson::internal::tape_ref at(std::size_t place) const { return {&parser.doc, place}; }

private:
    /// A place on the tape, and the same among the structural characters of the text. Values are
    /// mostly asked for their text in order, so each search goes on from the last one.
    struct Mark {
        std::size_t tape = 1;
        std::size_t structural = 0;
    };
    Mark walk(Mark from, std::size_t to) const;
    std::size_t offset(std::size_t structural) const {
        return parser.implementation->structural_indexes[structural];
    }

    mutable Mark mark_;
};

/// The one that this thread parsed with last, or a new one: its buffers are already there.
std::unique_ptr<Parsed> borrow_parsed(int levels);
void give_back(std::unique_ptr<Parsed> parsed);

}  // namespace pawl::inline v0::json
