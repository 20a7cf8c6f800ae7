/// Whether a file may be used, and bringing its tables up to date.
#pragma once

#include "store/sql/sqlite/sqlite_connection.hpp"

namespace pawl::store::sql::sqlite {

struct OpeningOptions {
    std::string prefix = "pawl_";
    bool adopt = false;  ///< also a file that says it belongs to another application
};

/// Throws pawl::Error that says why this file is refused. Writes nothing.
void check_file(SqliteConnection& connection, const OpeningOptions& options);

/// Turns the log on and applies the migrations that are missing, each once, however many processes
/// try. The caller has the turn to write.
void prepare_file(SqliteConnection& connection, const OpeningOptions& options);

}  // namespace pawl::store::sql::sqlite
