/// How far the messages of each partition have been removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <pawl/time.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// While an old transaction is open, the database can't remove the index entries of messages that
/// were delivered since, and a search from the start of a partition passes all of them. So a search
/// begins where the last one found its first message. The order of delivery must not depend on
/// that: a transaction that is still open may have messages before the mark, and they must be found
/// by the first search after its commit. Therefore every mark belongs to a moment, at which the
/// open transactions and the lowest position of each were known, and the statement itself begins
/// lower if one of these has ended. Thread-safe.
class MessageMarks {
    struct Moment;

public:
    /// A moment, as the server saw it: the last position given, then the snapshot, then the number
    /// that the next transaction gets, read in this order.
    struct Seen {
        std::int64_t position = 0;
        std::string snapshot;
        std::uint64_t ceiling = 0;
    };
    /// Where a search begins: at `position`, or behind the floor of each of the transactions that
    /// has ended. Both lists are literals of arrays.
    struct Start {
        std::int64_t position = 0;
        std::string transactions = "{}";
        std::string floors = "{}";
        bool whole = true;                     ///< from the start of the partition
        std::shared_ptr<const Moment> moment;  ///< the last one before the search
    };

    /// Whether the last moment was some time ago.
    bool wants_moment() const;
    void set_moment(const Seen& seen);
    Start of(Ref channel, std::int32_t part) const;
    /// The search began there, took so long and found this position first; 0: none.
    void found(Ref channel, std::int32_t part, const Start& start, std::int64_t first,
               Duration took);

    static Duration uptime();

private:
    // Positions that a transaction gives are higher than its floor.
    struct Running {
        std::uint64_t transaction = 0;
        std::int64_t floor = 0;
    };
    struct Moment {
        std::uint64_t history = 0;
        std::int64_t position = 0;
        std::uint64_t ceiling = 0;
        std::vector<Running> running{};  ///< those that the snapshot names
        std::int64_t floor = 0;          ///< of those that began behind the end of the snapshot
    };
    struct Mark {
        std::int64_t position = 0;
        std::shared_ptr<const Moment> moment;
        Duration whole_wanted{};  ///< by uptime: when to search from the start again
    };

    mutable std::mutex mutex_;
    std::shared_ptr<const Moment> moment_;
    Duration moment_at_{};
    std::uint64_t history_ = 0;  ///< raised when the server is found put back to an older state
    std::map<std::pair<Ref, std::int32_t>, Mark> marks_;
};

}  // namespace pawl::store::sql
