/// The named points between two writes: a crash test ends the process at each of them.
#pragma once

#include <functional>
#include <string_view>

namespace pawl::base {

/// What is called at a point; empty outside of tests.
using AtPoint = std::function<void(std::string_view)>;

inline void reach(const AtPoint& at_point, std::string_view point) {
    if (at_point) at_point(point);
}

}  // namespace pawl::base

namespace pawl::base::points {

using Point = std::string_view;

// Opening a file: its log is on, its tables are made, and neither is committed.
inline constexpr Point prepare_logged = "prepare:logged";
inline constexpr Point prepare_migrated = "prepare:migrated";
inline constexpr Point prepare_committed = "prepare:committed";

inline constexpr Point open_before = "open:before";
inline constexpr Point open_written = "open:written";
inline constexpr Point open_after = "open:after";
inline constexpr Point renew_before = "renew:before";
inline constexpr Point renew_written = "renew:written";
inline constexpr Point renew_after = "renew:after";
inline constexpr Point close_before = "close:before";
inline constexpr Point close_released = "close:released";
inline constexpr Point close_after = "close:after";

inline constexpr Point claim_before = "claim:before";
inline constexpr Point claim_begun = "claim:begun";
inline constexpr Point claim_reaped = "claim:reaped";
inline constexpr Point claim_taken = "claim:taken";
inline constexpr Point claim_after = "claim:after";
inline constexpr Point alone_before = "alone:before";
inline constexpr Point alone_after = "alone:after";
inline constexpr Point release_before = "release:before";
inline constexpr Point release_written = "release:written";
inline constexpr Point release_after = "release:after";

inline constexpr Point handler_before = "handler:before";
inline constexpr Point handler_after = "handler:after";
inline constexpr Point timer_before = "timer:before";
inline constexpr Point step_before = "step:before";
inline constexpr Point step_after = "step:after";

// A group of Commits: in the engine, then inside the store's transaction, a table at a time.
inline constexpr Point commit_before = "commit:before";
inline constexpr Point group_begun = "group:begun";
inline constexpr Point group_judged = "group:judged";
inline constexpr Point group_instances = "group:instances";
inline constexpr Point group_events = "group:events";
inline constexpr Point group_inputs = "group:inputs";
inline constexpr Point group_item_changes = "group:item_changes";
inline constexpr Point group_new_items = "group:new_items";
inline constexpr Point group_written = "group:written";
inline constexpr Point group_committed = "group:committed";
inline constexpr Point commit_after = "commit:after";

/// Every one. What is not in this list is not tested.
inline constexpr Point all[] = {
    prepare_logged,  prepare_migrated,   prepare_committed, open_before,     open_written,
    open_after,      renew_before,       renew_written,     renew_after,     close_before,
    close_released,  close_after,        claim_before,      claim_begun,     claim_reaped,
    claim_taken,     claim_after,        alone_before,      alone_after,     release_before,
    release_written, release_after,      handler_before,    handler_after,   timer_before,
    commit_before,   group_begun,        group_judged,      group_instances, group_events,
    group_inputs,    group_item_changes, group_new_items,   group_written,   group_committed,
    commit_after,
};

}  // namespace pawl::base::points
