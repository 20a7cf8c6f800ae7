/// A thread that drives a part: calls its step, then waits until woken or until the step's time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <pawl/time.hpp>
#include <string>
#include <thread>

namespace pawl::base {

/// Until when a part wants to be left alone: a length of time, or nothing for "until woken".
using Pause = std::optional<Duration>;

/// Thread-safe. `step` must not throw; it is called by one thread at a time.
class Loop {
public:
    Loop(std::string name, std::function<Pause()> step)
        : name_(std::move(name)), step_(std::move(step)) {}
    ~Loop() { stop(); }

    void start();
    void stop();
    /// Makes a waiting step run now, and a running one run again.
    void wake();

private:
    void drive();

    std::string name_;
    std::function<Pause()> step_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool woken_ = false;
    bool waiting_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace pawl::base
