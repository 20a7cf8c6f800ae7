#include "store/sql/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <pawl/error.hpp>

#include "base/url.hpp"

namespace pawl::store::sql {
namespace {

constexpr std::string_view own_prefix = "pawl_";
constexpr std::size_t longest_prefix = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
std::size_t number_of_place(std::string_view digits) {
    std::size_t number = 0;
    const auto end = digits.data() + digits.size();
    const bool fits = std::from_chars(digits.data(), end, number).ec == std::errc{};
    return fits ? number : std::numeric_limits<std::size_t>::max();
}

// A name goes on with these, and a `$1` inside of it is a part of it.
bool is_name(char c) { return is_word(c) || c == '$' || static_cast<unsigned char>(c) >= 0x80; }

// Up to the next `end`, and with it; all if there is none. A doubled quote is two texts in a row.
std::size_t length_to(std::string_view sql, std::string_view end, std::size_t from) {
    const auto at = sql.find(end, from);
    return at == sql.npos ? sql.size() : at + end.size();
}

std::size_t length_with_backslashes(std::string_view sql, char quote, std::size_t from) {
    for (std::size_t at = from; at < sql.size(); ++at) {
        if (sql[at] == quote) return at + 1;
        if (sql[at] == '\\') ++at;
    }
    return sql.size();
}

std::size_t length_of_comment(std::string_view sql, bool nested) {
    if (!nested) return length_to(sql, "*/", 2);
    int depth = 1;
    std::size_t at = 2;
    for (; at < sql.size() && depth > 0; ++at) {
        const auto rest = sql.substr(at);
        const bool opens = rest.starts_with("/*");
        if (!opens && !rest.starts_with("*/")) continue;
        depth += opens ? 1 : -1;
        ++at;
    }
    return std::min(at, sql.size());
}

// $$...$$ or $tag$...$tag$; 0 if it is neither.
std::size_t length_of_dollars(std::string_view sql) {
    std::size_t tag = 1;
    while (tag < sql.size() && is_name(sql[tag]) && sql[tag] != '$') ++tag;
    if (tag == sql.size() || sql[tag] != '$' || is_digit(sql[1])) return 0;
    return length_to(sql, sql.substr(0, tag + 1), tag + 1);
}

// The length of a quoted text or name or of a comment that begins here, else 0.
std::size_t opaque_length(std::string_view sql, const Quoting& quoting) {
    switch (sql[0]) {
        case '\'':
        case '"':
            return quoting.backslashes ? length_with_backslashes(sql, sql[0], 1)
                                       : length_to(sql, sql.substr(0, 1), 1);
        case '`':
            return length_to(sql, "`", 1);
        case '[':
            return quoting.brackets ? length_to(sql, "]", 1) : 0;
        case '#':
            return quoting.hashes ? length_to(sql, "\n", 1) : 0;
        case '$':
            return quoting.dollars ? length_of_dollars(sql) : 0;
        case 'E':
        case 'e':
            if (!quoting.escape_texts || sql.size() < 2 || sql[1] != '\'') return 0;
            return length_with_backslashes(sql, '\'', 2);
        case '-':
            if (!sql.starts_with("--")) return 0;
            if (quoting.dashes_need_space && sql.size() > 2 && !is_space(sql[2])) return 0;
            return length_to(sql, "\n", 2);
        case '/':
            return sql.starts_with("/*") ? length_of_comment(sql, quoting.nested_comments) : 0;
        default:
            return 0;
    }
}

std::size_t length_of_name(std::string_view sql) {
    std::size_t length = 0;
    while (length < sql.size() && is_name(sql[length])) ++length;
    return length;
}

}  // namespace

std::string rewrite(std::string_view sql, const Dialect& dialect,
                    std::vector<std::size_t>* places) {
    std::string out;
    out.reserve(sql.size() + 64);
    while (!sql.empty()) {
        std::size_t length = opaque_length(sql, dialect.quoting);
        if (length == 0 && is_name(sql[0]) && !is_digit(sql[0]) && sql[0] != '$') {
            length = length_of_name(sql);
            if (dialect.prefix && sql.starts_with(own_prefix)) {
                out += *dialect.prefix;
                sql.remove_prefix(own_prefix.size());
                length -= own_prefix.size();
            }
        } else if (length == 0 && sql[0] == '$' && sql.size() > 1 && is_digit(sql[1])) {
            out += dialect.mark;
            sql.remove_prefix(1);
            while (length < sql.size() && is_digit(sql[length])) ++length;
            if (places) places->push_back(number_of_place(sql.substr(0, length)));
            if (dialect.numbered) out += sql.substr(0, length);
            sql.remove_prefix(length);
            continue;
        }
        if (length == 0) length = 1;
        out += sql.substr(0, length);
        sql.remove_prefix(length);
    }
    return out;
}

std::vector<std::string> first_words(std::string_view sql, const Quoting& quoting,
                                     std::size_t count) {
    std::vector<std::string> words;
    while (!sql.empty() && words.size() < count) {
        std::size_t length = opaque_length(sql, quoting);
        const bool is_comment = length > 0 && (sql[0] == '-' || sql[0] == '/' || sql[0] == '#');
        if (length == 0 && !is_space(sql[0]) && sql[0] != '(' && sql[0] != ';') {
            length = std::max<std::size_t>(length_of_name(sql), 1);
            auto& word = words.emplace_back(sql.substr(0, length));
            for (char& c : word)
                if (is_lower(c)) c = static_cast<char>(c - 'a' + 'A');
        } else if (length > 0 && !is_comment) {
            words.emplace_back(sql.substr(0, length));
        }
        sql.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return words;
}

std::vector<std::string> split_script(std::string_view script) {
    std::vector<std::string> parts;
    std::string part;
    while (!script.empty()) {
        const bool comment = script.starts_with("--");
        const auto length = std::max<std::size_t>(opaque_length(script, {}), 1);
        if (script[0] == ';') {
            parts.push_back(std::move(part));
            part.clear();
        } else if (!comment && !(part.empty() && (script[0] == ' ' || script[0] == '\n'))) {
            part += script.substr(0, length);
        }
        script.remove_prefix(length);
    }
    if (!part.empty()) parts.push_back(std::move(part));
    return parts;
}

void check_prefix(std::string_view prefix) {
    bool good = !prefix.empty() && prefix.size() <= longest_prefix && is_lower(prefix.front()) &&
                prefix.back() == '_';
    for (const char c : prefix) good = good && (is_lower(c) || is_digit(c) || c == '_');
    if (!good)
        throw Error{Code::invalid,
                    fmt::format("the table prefix {} is not usable: give it 1 to {} lower-case "
                                "letters, digits and underscores, a letter first and an underscore "
                                "last",
                                base::shown(prefix), longest_prefix)};
}

}  // namespace pawl::store::sql
