/// Where many threads wait for one that serves them in rounds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace pawl::base {

/// Those of a round are woken together, by one call of the system's, and those of the next one
/// sleep on. Rounds are counted from 0 and end one after the other. Thread-safe.
class Meeting {
public:
    using Round = std::uint64_t;

    /// Until `over`, which is set before the end of `round`, or of a later one if there was no
    /// room in it.
    void wait(Round round, const std::atomic<bool>& over) {
        for (; !over; ++round) bell_of(round).wait(rung_before(round));
    }

    void end(Round round) {
        auto& bell = bell_of(round);
        bell = rung_before(round) + 1;
        bell.notify_all();
    }

private:
    using Bell = std::atomic<std::uint32_t>;

    // Every other round has the same bell. How often it has rung tells whoever comes late that the
    // round he asks for is over.
    Bell& bell_of(Round round) { return bells_[round % bells_.size()]; }
    std::uint32_t rung_before(Round round) const {
        return static_cast<std::uint32_t>(round / bells_.size());
    }

    std::array<Bell, 2> bells_{};
};

}  // namespace pawl::base
