/// Threads that run tasks; without threads, a queue that its owner drains.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <pawl/task.hpp>
#include <string>
#include <thread>
#include <vector>

namespace pawl::base {

/// Told of what a task or a step threw; must not throw itself.
using OnFailure = std::function<void(std::exception_ptr)>;

/// Thread-safe. A task that throws ends nothing but itself.
class Pool {
public:
    explicit Pool(std::string name, OnFailure on_failure = {});
    ~Pool();

    void post(Task task);
    /// Runs tasks on `threads` threads from now on, with all signals blocked.
    void start(int threads);
    /// The same, with a thread more whenever a task would have to wait for one, up to `most`.
    void start_as_needed(int most);
    /// One more thread, for one that does not come back.
    void replace_one();
    enum class Running { wait_for, abandon };
    /// Ends the threads; what waits in the queue stays there. Threads in the middle of a task are
    /// waited for, or left to end by themselves once it returns.
    void stop(Running running);
    /// Runs one waiting task on this thread. False if there is none.
    bool run_one();
    /// Runs a task of this pool on the thread that calls. What it throws goes where that of others
    /// does.
    void run_here(Task task);
    /// Whether this thread is in the middle of a task of this pool.
    bool is_running_here() const;

private:
    struct Shared;
    std::shared_ptr<Shared> shared() const;
    void spawn();

    mutable std::mutex mutex_;        ///< of the pointer, which changes when threads are abandoned
    std::shared_ptr<Shared> shared_;  ///< and the threads': an abandoned one outlives the pool
    std::vector<std::thread> threads_;
};

}  // namespace pawl::base
