/// Threads that run tasks; without threads, a queue that its owner drains.
#pragma once

#include <memory>
#include <pawl/task.hpp>
#include <string>
#include <thread>
#include <vector>

namespace pawl::base {

/// Thread-safe. Tasks must not throw.
class Pool {
public:
    explicit Pool(std::string name);
    ~Pool();

    void post(Task task);
    /// Runs tasks on `threads` threads from now on, with all signals blocked.
    void start(int threads);
    /// One more thread, for one that does not come back.
    void replace_one();
    enum class Running { wait_for, abandon };
    /// Ends the threads; what waits in the queue stays there. Threads in the middle of a task are
    /// waited for, or left to end by themselves once it returns.
    void stop(Running running);
    /// Runs one waiting task on this thread. False if there is none.
    bool run_one();

private:
    struct Shared;
    void spawn();

    std::shared_ptr<Shared> shared_;  ///< and the threads': an abandoned one outlives the pool
    std::vector<std::thread> threads_;
};

}  // namespace pawl::base
