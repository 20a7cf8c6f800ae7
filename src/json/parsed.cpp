#include "json/parsed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <pawl/error.hpp>
#include <pawl/json/writer.hpp>

#include "json/path.hpp"

namespace pawl::inline v0::json {
namespace {

using simdjson::internal::tape_type;

// Larger parsers are not kept: one huge document would hold its memory for ever.
constexpr std::size_t largest_kept = std::size_t{1} << 20;
constexpr std::size_t smallest_capacity = 1024;

std::string describe(simdjson::error_code error, int levels) {
    switch (error) {
        case simdjson::EMPTY:
            return "it is empty";
        case simdjson::DEPTH_ERROR:
            return fmt::format("it is nested deeper than {}", levels);
        case simdjson::NUMBER_ERROR:
            return "a number is malformed, too large, or an integer of more than 64 bits";
        case simdjson::UTF8_ERROR:
            return "it isn't UTF-8";
        case simdjson::STRING_ERROR:
            return "a text has a bad escape";
        case simdjson::UNCLOSED_STRING:
            return "a text has no end";
        case simdjson::UNESCAPED_CHARS:
            return "a text has a control character that must be escaped";
        case simdjson::TAPE_ERROR:
            return "a bracket, comma or colon is missing or out of place";
        default:
            return simdjson::error_message(error);
    }
}

// The parsers of a thread that are not in use. More than one: a Codec may decode inside a decode.
class Pool {
public:
    ~Pool() { gone = true; }

    std::unique_ptr<Parsed> take(int levels) {
        for (auto at = count_; at-- > 0;) {
            if (idle_[at]->levels != levels) continue;
            auto parsed = std::move(idle_[at]);
            idle_[at] = std::move(idle_[--count_]);
            return parsed;
        }
        return std::make_unique<Parsed>(levels);
    }
    void put(std::unique_ptr<Parsed> parsed) {
        if (count_ < idle_.size() && parsed->capacity <= largest_kept)
            idle_[count_++] = std::move(parsed);
    }

    // Documents may outlive their thread's pool, in static objects.
    static thread_local bool gone;

private:
    std::array<std::unique_ptr<Parsed>, 4> idle_;
    std::size_t count_ = 0;
};
thread_local bool Pool::gone = false;

Pool& pool() {
    static thread_local Pool pool;
    return pool;
}

}  // namespace

std::unique_ptr<Parsed> borrow_parsed(int levels) {
    return Pool::gone ? std::make_unique<Parsed>(levels) : pool().take(levels);
}

void give_back(std::unique_ptr<Parsed> parsed) {
    if (parsed && !Pool::gone) pool().put(std::move(parsed));
}

void Parsed::parse(std::string_view text) {
    if (capacity < text.size() || capacity == 0) {
        capacity = std::max({text.size(), smallest_capacity, std::min(capacity * 2, largest_kept)});
        source = std::make_unique<char[]>(capacity + simdjson::SIMDJSON_PADDING);
        const auto depth = static_cast<std::size_t>(levels);
        if (const auto error = parser.allocate(capacity, depth); error != simdjson::SUCCESS)
            throw Error{Code::codec, fmt::format("$: a text of {} bytes can't be parsed: {}",
                                                 text.size(), describe(error, levels))};
    }
    size = text.size();
    mark_ = Mark{};
    std::copy(text.begin(), text.end(), source.get());
    const auto error = parser.parse(source.get(), size, false).error();
    if (error != simdjson::SUCCESS)
        throw Error{Code::codec, fmt::format("$: not valid JSON: {}; the text begins with {}",
                                             describe(error, levels), quoted_excerpt(text))};
}

// Each element of the tape is one structural character of the text, apart from commas and colons;
// a number takes two places on the tape.
Parsed::Mark Parsed::walk(Mark from, std::size_t to) const {
    while (from.tape < to) {
        const auto type = at(from.tape).tape_ref_type();
        const bool is_number =
            type == tape_type::INT64 || type == tape_type::UINT64 || type == tape_type::DOUBLE;
        from.tape += is_number ? 2 : 1;
        do ++from.structural;
        while (source[offset(from.structural)] == ',' || source[offset(from.structural)] == ':');
    }
    return from;
}

std::string_view Parsed::text_of(std::size_t place) const {
    mark_ = walk(place < mark_.tape ? Mark{} : mark_, place);
    const auto begin = offset(mark_.structural);
    const auto last = walk(mark_, std::max(place, at(place).after_element() - 1));
    const auto element = at(place).tape_ref_type();
    auto end = size;
    if (element == tape_type::START_ARRAY || element == tape_type::START_OBJECT)
        end = offset(last.structural) + 1;
    else if (mark_.structural + 1 < parser.implementation->n_structural_indexes)
        end = offset(mark_.structural + 1);
    const std::string_view text{source.get() + begin, end - begin};
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

}  // namespace pawl::inline v0::json
