/// Opens the store in a SQLite file, which may hold the user's own tables too.
#pragma once

#include <functional>
#include <memory>
#include <pawl/clock.hpp>
#include <pawl/time.hpp>
#include <string>
#include <string_view>

#include "store/store.hpp"

namespace pawl::store {

struct SqliteOptions {
    std::string path{};            ///< of the file; made if it is not there, its directory is not
    const Clock* clock = nullptr;  ///< the machine's, unless given; outlives the store
    std::string prefix = "pawl_";  ///< of the tables
    bool full_sync = true;         ///< off: a power failure may undo commits that were answered
    bool adopt = false;            ///< also a file that says it belongs to another application
    Duration busy_deadline = std::chrono::seconds{10};  ///< of waiting for a turn or a lock
    std::size_t readers = 4;                            ///< connections that read beside the writer
    std::size_t longest_log = 32 * 1024 * 1024;         ///< bytes; at twice of it, groups wait
    std::function<void(std::string_view)> at_point{};   ///< for crash tests: `base::points`
};

/// Throws pawl::Error: `unavailable` if the file can't be read and written, `corrupt` if it is
/// damaged, somebody else's or of a newer pawl, `invalid` for a bad prefix. A refused file is left
/// as it was. Files called <path>-wal, -shm and -turn stand beside it.
std::unique_ptr<Store> open_sqlite(const SqliteOptions& options);

/// What is run in an empty file. Opens nothing.
std::string sqlite_migration_sql(const SqliteOptions& options);

}  // namespace pawl::store
