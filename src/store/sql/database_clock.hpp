/// The database's time, without asking for it every time.
#pragma once

#include <mutex>
#include <pawl/clock.hpp>
#include <pawl/time.hpp>

namespace pawl::store::sql {

/// What the database last said, plus what has passed since. This machine's own clock plays no part,
/// so it may be hours off. Thread-safe.
class DatabaseClock {
public:
    /// With `test` it is that clock alone; both outlive this. What has passed is measured by
    /// `machine`.
    explicit DatabaseClock(const Clock* test, const Clock& machine = system_clock())
        : test_(test), machine_(machine) {}

    /// Never before `measure` was called once. Goes back only if the database's clock did, and by
    /// more than a second: what is due must not be undone by the noise of two measurements. An
    /// answer that took longer than that never sets it ahead of the database's clock.
    Time now();

    /// Has `ask()`, which returns the database's time, called if the last answer is old. Call it
    /// with a connection in hand and outside of a transaction.
    template <class Ask>
    void measure(Ask&& ask) {
        if (!is_old()) return;
        const Duration before = uptime();
        const Time told = ask();
        set(told, before, uptime());
    }

private:
    bool is_old() const;
    void set(Time told, Duration before, Duration after);
    /// Runs on while the machine is suspended, as the database's clock does.
    Duration uptime() const { return machine_.elapsed(); }

    const Clock* test_;
    const Clock& machine_;
    mutable std::mutex mutex_;
    bool is_measured_ = false;
    Duration measured_at_{};  // by uptime, when the question was sent
    Duration offset_{};       // from uptime to the database's time
    Time last_{};
};

}  // namespace pawl::store::sql
