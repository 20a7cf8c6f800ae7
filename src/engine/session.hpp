/// The process's lease on everything it has claimed: opened once, renewed in time.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

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
        std::function<void(const std::string&)> warn;
        base::AtPoint at_point;
    };
    Session(store::Store& store, Options options);

    /// Opens a session, or renews the open one; a lost one is replaced. May throw.
    store::SessionId ensure();
    /// The open session; none before the first `ensure`, or when its lease could not be kept: then
    /// nothing new is begun under it.
    std::optional<store::SessionId> current() const;
    /// Gives back what is still claimed. Does not throw: a lease that can't be ended passes.
    void close();

    /// Renews by a thread of its own, which never waits behind a Commit.
    void start() { loop_.start(); }
    void stop() { loop_.stop(); }

private:
    base::Pause renew();
    bool renewed(store::SessionId id);
    void point(std::string_view name) const { base::reach(options_.at_point, name); }

    store::Store& store_;
    const Options options_;
    std::mutex asking_;         ///< one thread at a time talks to the store about the session
    mutable std::mutex mutex_;  ///< of what follows; never held while the store is asked
    std::optional<store::SessionId> id_;
    Time trusted_until_{};
    base::Loop loop_;
};

}  // namespace pawl::engine
