/// Turns a statement into what one database prepares: its own table prefix and parameter marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::store::sql {

struct Dialect {
    std::string prefix = "pawl_";  ///< of tables and indexes
    char mark = '$';               ///< before the number of a parameter
    bool numbered = true;          ///< else the mark stands alone, and parameters count by place
};

/// Replaces `pawl_` where a name begins with it, and `$` before a number. Quoted texts and comments
/// stay as they are. `places` gets the number of the parameter at each mark, in the order of marks.
std::string rewrite(std::string_view sql, const Dialect& dialect,
                    std::vector<std::size_t>* places = nullptr);

/// The statements of a script, without the semicolons between them and the comments before them.
std::vector<std::string> split_script(std::string_view script);

/// Throws pawl::Error (invalid) unless `prefix` is 1 to 32 lower-case letters, digits and
/// underscores that begin with a letter and end with an underscore.
void check_prefix(std::string_view prefix);

}  // namespace pawl::store::sql
