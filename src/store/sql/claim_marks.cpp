#include "store/sql/claim_marks.hpp"

#include <algorithm>
#include <chrono>

namespace pawl::store::sql {
namespace {

// Longer than a group takes from reading the time to its commit.
constexpr Duration slack = std::chrono::milliseconds{100};
constexpr Duration pause = std::chrono::seconds{1};
// A look from the start that takes long is made for a small part of the time only.
constexpr int pause_per_look = 10;

}  // namespace

Duration ClaimMarks::uptime() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
}

std::optional<Time> ClaimMarks::of(Ref line) const {
    const std::lock_guard lock{mutex_};
    const auto found = marks_.find(line);
    if (found == marks_.end() || uptime() >= found->second.start_wanted) return std::nullopt;
    return found->second.at;
}

void ClaimMarks::found_enough(Ref line, Time first) {
    const std::lock_guard lock{mutex_};
    if (const auto found = marks_.find(line); found != marks_.end())
        found->second.at = std::max(found->second.at, first - slack);
}

void ClaimMarks::found_enough_from_start(Ref line, Time first, Duration took) {
    const std::lock_guard lock{mutex_};
    marks_[line] = {.at = first - slack,
                    .start_wanted = uptime() + std::max(pause, took * pause_per_look)};
}

void ClaimMarks::forget(Ref line) {
    const std::lock_guard lock{mutex_};
    marks_.erase(line);
}

void ClaimMarks::forget() {
    const std::lock_guard lock{mutex_};
    marks_.clear();
}

}  // namespace pawl::store::sql
