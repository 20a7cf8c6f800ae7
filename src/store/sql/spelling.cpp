#include "store/sql/spelling.hpp"

#include "store/sql/rewrite.hpp"

namespace pawl::store::sql {
namespace {

constexpr char place = '\1';  // stands in no statement

std::string mark_of(Marks marks, std::size_t number) {
    switch (marks) {
        case Marks::dollar:
            return '$' + std::to_string(number);
        case Marks::colon:
            return ':' + std::to_string(number);
        case Marks::native:
        case Marks::question:
            break;
    }
    return "?";
}

}  // namespace

std::string hex_of(std::string_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * bytes.size());
    for (const char c : bytes) {
        hex += digits[static_cast<unsigned char>(c) >> 4];
        hex += digits[static_cast<unsigned char>(c) & 15];
    }
    return hex;
}

SpelledStatement spell(std::string_view sql, std::span<const Value> row, const Spelling& spelling,
                       Marks marks) {
    if (marks == Marks::native) marks = spelling.native;
    std::vector<std::size_t> places;
    const auto text =
        rewrite(sql, {.prefix = spelling.prefix, .mark = place, .numbered = false}, &places);
    SpelledStatement out;
    auto next = places.begin();
    for (const char c : text) {
        if (c != place) {
            out.sql += c;
            continue;
        }
        auto value = spelling.value(row[*next++ - 1]);
        out.sql += value.before;
        if (value.is_literal) continue;
        out.parameters.push_back(std::move(value.parameter));
        out.sql += mark_of(marks, out.parameters.size()) + value.after;
    }
    return out;
}

}  // namespace pawl::store::sql
