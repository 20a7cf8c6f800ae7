#include "store/sql/bell.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "base/threads.hpp"

namespace pawl::store::sql {
namespace {

constexpr std::chrono::milliseconds pause{10};
constexpr std::chrono::seconds pause_after_failure{1};

}  // namespace

Bell::~Bell() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Bell::ring() noexcept {
    try {
        const std::lock_guard lock{mutex_};
        if (std::exchange(rung_, true)) return;
        if (!thread_.joinable()) thread_ = base::start_thread("pawl-bell", [this] { run(); });
    } catch (...) {
        return;  // without a thread the others find the work when they look by themselves
    }
    changed_.notify_one();
}

void Bell::run() {
    std::unique_lock lock{mutex_};
    while (true) {
        changed_.wait(lock, [&] { return rung_ || stopping_; });
        if (!rung_) return;
        rung_ = false;
        lock.unlock();
        bool sent = true;
        try {
            send_();
        } catch (const std::exception&) {
            sent = false;  // it costs the others a poll; whoever listens has lost the same server
        }
        lock.lock();
        if (stopping_ && !rung_) return;
        changed_.wait_for(lock, sent ? std::chrono::milliseconds{pause} : pause_after_failure,
                          [&] { return stopping_; });
        if (stopping_ && !sent) return;
    }
}

}  // namespace pawl::store::sql
