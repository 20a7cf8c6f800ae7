/// Where many threads wait for one that serves them in rounds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace pawl::base {

/// Those of a round are woken together, by one call of the system's, and those of the next one
/// sleep on. One round ends at a time, in their order. Thread-safe.
class Meeting {
public:
    using Round = std::uint64_t;

    /// Until `over`, which is set before the end of `round`, or of a later one if there was no
    /// room.
    void wait(Round round, const std::atomic<bool>& over) {
        for (;; ++round) {
            auto& bell = bells_[round % bells_.size()];
            const int before = bell;  // looked at first: whatever ends after this is heard
            if (over) return;
            bell.wait(before);
        }
    }

    void end(Round round) {
        auto& bell = bells_[round % bells_.size()];
        ++bell;
        bell.notify_all();
    }

private:
    // Whoever waits for a round came when the one before the last had ended: two are enough.
    std::array<std::atomic<int>, 2> bells_{};
};

}  // namespace pawl::base
