#include "base/pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/threads.hpp"

namespace pawl::base {

namespace {

// The pool whose task this thread runs: its address only.
thread_local const void* running_pool = nullptr;

}  // namespace

struct Pool::Shared {
    std::string name;
    OnFailure on_failure;
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Task> tasks;
    int idle = 0;
    std::size_t most = 0;  ///< threads that are started as they are needed
    bool stopping = false;
    bool replaced = false;  ///< by another, which has the tasks now

    void work() {
        std::unique_lock lock{mutex};
        while (!stopping) {
            if (tasks.empty()) {
                ++idle;
                wake.wait(lock);
                --idle;
                continue;
            }
            Task task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            run(std::move(task));
            lock.lock();
        }
    }

    void run(Task task) {
        const void* const outer = std::exchange(running_pool, this);
        try {
            task();
        } catch (...) {
            if (on_failure) on_failure(std::current_exception());
        }
        running_pool = outer;
    }
};

Pool::Pool(std::string name, OnFailure on_failure) : shared_(std::make_shared<Shared>()) {
    shared_->name = std::move(name);
    shared_->on_failure = std::move(on_failure);
}

Pool::~Pool() { stop(Running::wait_for); }

std::shared_ptr<Pool::Shared> Pool::shared() const {
    const std::lock_guard lock{mutex_};
    return shared_;
}

void Pool::post(Task task) {
    for (;;) {
        const auto shared = this->shared();
        std::unique_lock lock{shared->mutex};
        if (shared->replaced) continue;
        shared->tasks.push_back(std::move(task));
        // Those that were woken still count as idle, and will take a task each.
        const bool is_short = shared->tasks.size() > static_cast<std::size_t>(shared->idle);
        if (is_short && !shared->stopping && threads_.size() < shared->most) return spawn();
        const bool wake = shared->idle > 0;
        lock.unlock();
        if (wake) shared->wake.notify_one();
        return;
    }
}

void Pool::spawn() {
    threads_.push_back(start_thread(shared_->name, [shared = shared_] { shared->work(); }));
}

void Pool::start(int threads) {
    const std::lock_guard lock{shared_->mutex};
    shared_->stopping = false;
    for (int i = 0; i < threads; ++i) spawn();
}

void Pool::start_as_needed(int most) {
    const std::lock_guard lock{shared_->mutex};
    shared_->stopping = false;
    shared_->most = static_cast<std::size_t>(most);
    for (auto waiting = shared_->tasks.size(); waiting > 0 && threads_.size() < shared_->most;
         --waiting)
        spawn();
}

void Pool::replace_one() {
    const std::lock_guard lock{shared_->mutex};
    if (!shared_->stopping && !threads_.empty()) spawn();
}

void Pool::stop(Running running) {
    std::vector<std::thread> threads;
    {
        const std::lock_guard lock{shared_->mutex};
        shared_->stopping = true;
        shared_->most = 0;
        threads.swap(threads_);
    }
    shared_->wake.notify_all();
    for (auto& thread : threads) {
        if (running == Running::wait_for)
            thread.join();
        else
            thread.detach();
    }
    // Abandoned threads look at the old state when they come back, and end.
    if (running == Running::abandon) {
        const auto old = shared_;
        auto fresh = std::make_shared<Shared>();
        fresh->name = old->name;
        fresh->on_failure = old->on_failure;
        {
            const std::lock_guard lock{mutex_};
            shared_ = fresh;
        }
        const std::scoped_lock lock{old->mutex, fresh->mutex};
        for (auto& task : old->tasks) fresh->tasks.push_back(std::move(task));
        old->tasks.clear();
        old->replaced = true;
    }
}

bool Pool::is_running_here() const { return running_pool == shared().get(); }

void Pool::run_here(Task task) { shared()->run(std::move(task)); }

bool Pool::run_one() {
    const auto shared = this->shared();
    std::unique_lock lock{shared->mutex};
    if (shared->tasks.empty()) return false;
    Task task = std::move(shared->tasks.front());
    shared->tasks.pop_front();
    lock.unlock();
    shared->run(std::move(task));
    return true;
}

}  // namespace pawl::base
