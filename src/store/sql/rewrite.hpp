/// Turns a statement into what one database prepares: its own table prefix and parameter marks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::sql {

/// What a database takes for text, a name or a comment besides 'text', "name", `name`, `-- comment`
/// and `/* comment */`.
struct Quoting {
    bool backslashes = false;        ///< in a text they make the next character a plain one
    bool escape_texts = false;       ///< only in texts like E'it\'s'
    bool brackets = false;           ///< [name]
    bool dollars = false;            ///< $$text$$, $tag$text$tag$
    bool hashes = false;             ///< # comment
    bool nested_comments = false;    ///< /* /* */ */
    bool dashes_need_space = false;  ///< 1--1 is 2
};

struct Dialect {
    /// Of tables and indexes. Without a value names stay as they are: in the user's own SQL a
    /// `pawl_` is the user's.
    std::optional<std::string> prefix{};
    char mark = '$';       ///< before the number of a parameter
    bool numbered = true;  ///< else the mark stands alone, and parameters count by place
    Quoting quoting{};
};

/// Replaces `pawl_` where a name begins with it, and `$` before a number. Quoted texts and comments
/// stay as they are. `places` gets the number of the parameter at each mark, in the order of marks.
std::string rewrite(std::string_view sql, const Dialect& dialect,
                    std::vector<std::size_t>* places = nullptr);

/// The first `count` words outside of comments and parentheses, in capitals: what sort of statement
/// it is.
std::vector<std::string> first_words(std::string_view sql, const Quoting& quoting,
                                     std::size_t count);

/// The statements of a script, without the semicolons between them and the comments before them.
std::vector<std::string> split_script(std::string_view script);

/// Throws pawl::Error (invalid) unless `prefix` is 1 to 32 lower-case letters, digits and
/// underscores that begin with a letter and end with an underscore.
void check_prefix(std::string_view prefix);

}  // namespace pawl::store::sql
