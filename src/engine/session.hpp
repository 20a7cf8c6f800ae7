/// The process's lease on everything it has claimed: opened once, renewed in time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <pawl/clock.hpp>
#include <string>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "base/points.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe.
class Session {
public:
    struct Options {
        Duration lease{};
        std::string owner;
        base::AtPoint at_point;
    };
    Session(store::Store& store, const Clock& clock, base::Log& log, Options options);

    /// Opens a session, or renews the open one; a lost one is replaced. May throw.
    store::SessionId ensure();
    /// The open session; none before the first `ensure`, or when its lease was not renewed in time:
    /// then nothing new is begun under it.
    std::optional<store::SessionId> current() const;
    /// Whether what was claimed under this session is certainly still ours. Asks nobody and takes
    /// no lock, so it is called before every piece of work.
    bool holds(store::SessionId session) const;
    /// How often a lease was renewed after it had passed. Items that were claimed before are still
    /// ours then, or the renewal would have failed; partitions may have been taken by others.
    std::uint64_t lapses() const { return lapses_.load(); }
    /// Called when a session does not hold any more, also while the store does not answer.
    void on_lost(std::function<void()> lost) { lost_ = std::move(lost); }
    /// Gives back what is still claimed. Does not throw: a lease that can't be ended passes.
    void close();

    /// Renews by a thread of its own, which never waits behind a Commit; another one watches the
    /// clock while that one waits for the store.
    void start() {
        renewing_.start();
        expiring_.start();
    }
    void stop() {
        renewing_.stop();
        expiring_.stop();
    }

private:
    base::Pause renew();
    base::Pause expire();
    bool renewed(store::SessionId id);
    /// Of a request that was made at this time.
    Duration::rep end_of_lease(Duration asked_at) const;
    void point(std::string_view name) const { base::reach(options_.at_point, name); }

    store::Store& store_;
    const Clock& clock_;
    base::Log& log_;
    const Options options_;
    std::function<void()> lost_;
    std::mutex asking_;  ///< one thread at a time talks to the store about the session
    // The id is written before the end of its lease, and read after it: the end of a new session's
    // lease is never taken for that of the one before.
    std::atomic<store::SessionId> id_{0};
    std::atomic<Duration::rep> trusted_until_{0};  ///< by the clock's `elapsed`
    std::atomic<std::uint64_t> lapses_{0};
    std::atomic<bool> replaced_{false};  ///< or lapsed, and nobody was told
    Duration::rep told_ = 0;             ///< the last end of a lease that was told
    base::Loop renewing_;
    base::Loop expiring_;
};

}  // namespace pawl::engine
