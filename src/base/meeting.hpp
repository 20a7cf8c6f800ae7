/// Where many threads wait for one that serves them in rounds.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
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
        for (; !over; ++round)
            while (bell_of(round) == rung_before(round)) sleep(bell_of(round), rung_before(round));
    }

    void end(Round round) {
        auto& bell = bell_of(round);
        bell = rung_before(round) + 1;
        ::syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }

private:
    using Bell = std::atomic<std::uint32_t>;

    // Not `bell.wait`: that yields some times before it sleeps, and whoever waits here does so for
    // longer than that. With many who wait it cost more than all that they did.
    static void sleep(const Bell& bell, std::uint32_t while_it_is) {
        static_assert(sizeof(Bell) == sizeof(std::uint32_t) && Bell::is_always_lock_free);
        ::syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
    }

    // Every other round has the same bell. How often it has rung tells whoever comes late that the
    // round he asks for is over.
    Bell& bell_of(Round round) { return bells_[round % bells_.size()]; }
    std::uint32_t rung_before(Round round) const {
        return static_cast<std::uint32_t>(round / bells_.size());
    }

    std::array<Bell, 2> bells_{};
};

}  // namespace pawl::base
