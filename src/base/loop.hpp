/// A thread that drives a part: calls its step, then waits until woken or until the step's time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <pawl/time.hpp>
#include <string>
#include <thread>

#include "base/pool.hpp"

namespace pawl::base {

/// Until when a part wants to be left alone: a length of time, or nothing for "until woken".
using Pause = std::optional<Duration>;

/// The shorter one.
inline Pause sooner(Pause a, Pause b) {
    if (!a) return b;
    if (!b) return a;
    return std::min(*a, *b);
}

/// Thread-safe. `step` is called by one thread at a time; one that throws is called again soon.
class Loop {
public:
    Loop(std::string name, std::function<Pause()> step, OnFailure on_failure = {})
        : name_(std::move(name)), step_(std::move(step)), on_failure_(std::move(on_failure)) {}
    ~Loop() { stop(); }

    void start();
    void stop();
    /// Makes a waiting step run now, and a running one run again.
    void wake();

private:
    void drive();
    Pause step();

    std::string name_;
    std::function<Pause()> step_;
    OnFailure on_failure_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool woken_ = false;
    bool waiting_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pawl::base
