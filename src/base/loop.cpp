#include "base/loop.hpp"

#include "base/threads.hpp"

namespace pawl::base {

void Loop::start() {
    stopping_ = false;
    thread_ = start_thread(name_, [this] { drive(); });
}

void Loop::stop() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Loop::wake() {
    bool notify = false;
    {
        const std::lock_guard lock{mutex_};
        woken_ = true;
        notify = waiting_;
    }
    if (notify) changed_.notify_one();
}

Pause Loop::step() {
    try {
        return step_();
    } catch (...) {
        if (on_failure_) on_failure_(std::current_exception());
        return std::chrono::milliseconds{100};
    }
}

void Loop::drive() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
        woken_ = false;
        lock.unlock();
        const Pause pause = step();
        lock.lock();
        const auto ready = [&] { return woken_ || stopping_; };
        waiting_ = true;
        if (pause)
            changed_.wait_for(lock, *pause, ready);
        else
            changed_.wait(lock, ready);
        waiting_ = false;
    }
}

}  // namespace pawl::base
