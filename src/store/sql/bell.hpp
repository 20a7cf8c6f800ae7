/// Tells other processes that something was committed: at once, and then not too often.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace pawl::store::sql {

/// One thread that tells them. Thread-safe.
class Bell {
public:
    /// `send` is called on the thread; what it throws is a word that was lost.
    explicit Bell(std::function<void()> send) : send_(std::move(send)) {}
    /// What was rung before is told.
    ~Bell();
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;

    /// Returns at once. The first ring goes out at once, those that follow it together.
    void ring() noexcept;

private:
    void run();

    const std::function<void()> send_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
    bool stopping_ = false;
    std::thread thread_;  // begins with the first ring
};

}  // namespace pawl::store::sql
