/// Which threads have begun transactions of the user's own that are not over.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace pawl::store::sql {

/// Thread-safe. A transaction may end on another thread than it began on.
class OpenTransactions {
public:
    void add(std::thread::id thread) {
        const std::lock_guard lock{mutex_};
        threads_.push_back(thread);
        ++count_;
    }
    void remove(std::thread::id thread) noexcept {
        const std::lock_guard lock{mutex_};
        const auto at = std::ranges::find(threads_, thread);
        if (at == threads_.end()) return;
        threads_.erase(at);
        --count_;
    }
    bool is_any_here() const {
        if (count_ == 0) return false;  // a thread knows what it has begun itself
        const std::lock_guard lock{mutex_};
        return std::ranges::count(threads_, std::this_thread::get_id()) > 0;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::thread::id> threads_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace pawl::store::sql
