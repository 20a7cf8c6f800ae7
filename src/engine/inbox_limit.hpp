/// Keeps inboxes from growing without end: whoever posts into a full one is told so.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <pawl/clock.hpp>
#include <string>

#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe. Counting takes longer than posting, so it is done seldom, and the more often the
/// fuller an inbox is. Several processes that post may go over the limit by what each of them has
/// posted since it counted.
class InboxLimit {
public:
    /// 0: none.
    InboxLimit(store::Store& store, const Clock& clock, std::size_t limit)
        : store_(store), clock_(clock), limit_(limit) {}

    /// Before another input is posted, behind so many that are not committed yet. Throws Error
    /// (busy) if the inbox of this type is full.
    void check(const std::string& type, std::size_t uncommitted);

private:
    struct Inbox {
        std::size_t waiting = 0;             ///< when it was counted
        std::size_t posted = 0;              ///< since
        std::optional<Duration> counted_at;  ///< by the clock's `elapsed`
    };

    store::Store& store_;
    const Clock& clock_;
    const std::size_t limit_;
    std::mutex mutex_;
    std::map<std::string, Inbox> inboxes_;
};

}  // namespace pawl::engine
