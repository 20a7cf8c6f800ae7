/// The statements of SQLite: the standard ones, and those that only this database has.
#pragma once

#include "store/sql/standard_statements.hpp"

namespace pawl::store::sql::sqlite {

// One writer at a time, so `lock` needs no words of its own: a write transaction begins IMMEDIATE
// and holds the only write lock. Bulk statements run in a loop on one prepared statement.
inline constexpr Statements statements = standard_statements;

inline constexpr Statement begin_read = "BEGIN";
// Not deferred: a read lock that becomes a write lock fails at once, whatever the busy timeout.
inline constexpr Statement begin_write = "BEGIN IMMEDIATE";
inline constexpr Statement commit = "COMMIT";
inline constexpr Statement rollback = "ROLLBACK";
inline constexpr Statement set_savepoint = "SAVEPOINT pawl";
inline constexpr Statement release_savepoint = "RELEASE pawl";
inline constexpr Statement rollback_to_savepoint = "ROLLBACK TO pawl";

/// Number, name and file of each that is attached, the main one first.
inline constexpr Statement attached = "PRAGMA database_list";
inline constexpr Statement take_write_lock = "DELETE FROM pawl_message WHERE 0";
inline constexpr Statement data_version = "PRAGMA data_version";
inline constexpr Statement use_wal = "PRAGMA journal_mode = WAL";
// SQLite acts on these two when they are prepared, so they are never cached.
inline constexpr Statement sync_every_commit = "PRAGMA synchronous = FULL";
inline constexpr Statement sync_at_checkpoints = "PRAGMA synchronous = NORMAL";
inline constexpr Statement only_read = "PRAGMA query_only = ON";
inline constexpr Statement large_cache = "PRAGMA cache_size = -16384";
inline constexpr Statement small_cache = "PRAGMA cache_size = -2048";
// What is left of the log file after it was emptied: it need not be made anew.
inline constexpr Statement keep_some_log = "PRAGMA journal_size_limit = 67108864";
// What the user's tables declare holds, as on the other databases; it can't be set in a
// transaction.
inline constexpr Statement keep_foreign_keys = "PRAGMA foreign_keys = ON";
inline constexpr Statement temporary_in_memory = "PRAGMA temp_store = MEMORY";

inline constexpr Statement application_id = "PRAGMA application_id";
inline constexpr Statement set_application_id = "PRAGMA application_id = 1885435756";  // "pawl"
inline constexpr std::int64_t own_application_id = 0x7061776c;
/// ($1 prefix): all tables, and those that begin with the prefix.
inline constexpr Statement count_tables =
    "SELECT count(*), coalesce(sum(substr(name, 1, length($1)) = $1), 0) FROM sqlite_master "
    "WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'";
inline constexpr Statement meta_columns =
    "SELECT count(*) FROM pragma_table_info($1) "
    "WHERE name IN ('application', 'schema_version', 'minimum_reader')";
inline constexpr Statement meta =
    "SELECT application, schema_version, minimum_reader FROM pawl_meta";

}  // namespace pawl::store::sql::sqlite
