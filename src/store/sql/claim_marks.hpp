/// How far the claims of a line have come.
#pragma once

#include <mutex>
#include <optional>
#include <pawl/time.hpp>
#include <unordered_map>

#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// While an old transaction is open, a database can't remove what was claimed since, and a look at
/// a line from its start passes all of that. So as long as a line has more than is asked for, looks
/// begin a little before where the last one found its first item, and from the start only once in a
/// while: what has come to stand before that (by a transaction that took long, or was undone) waits
/// about a second. Thread-safe.
class ClaimMarks {
public:
    /// Where a look at the line may begin; none: at its start.
    std::optional<Time> of(Ref line) const;
    /// A look found as many items as it asked for, from this due time on.
    void found_enough(Ref line, Time first);
    /// The same, by a look from the start that took so long.
    void found_enough_from_start(Ref line, Time first, Duration took);
    void forget(Ref line);
    /// An item may stand before any mark.
    void forget();

    static Duration uptime();

private:
    struct Mark {
        Time at{};
        Duration start_wanted{};  ///< by uptime: when to look from the start again
    };

    mutable std::mutex mutex_;
    std::unordered_map<Ref, Mark> marks_;
};

}  // namespace pawl::store::sql
