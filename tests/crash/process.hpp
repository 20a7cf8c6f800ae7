/// Child processes that are killed and waited for, and waiting for a condition with a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pawl::crash {

/// A running program. It is killed with this object.
class Process {
public:
    explicit Process(const std::vector<std::string>& command);
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;

    /// SIGKILL, and gone when this returns. Ending by itself before is fine too.
    void kill();
    /// SIGSTOP until `resume`: what it holds meanwhile may be taken from it.
    void pause();
    void resume();
    void signal(int number);
    /// False when it still runs at the deadline.
    bool wait(std::chrono::milliseconds deadline);
    bool is_running() { return !wait(std::chrono::milliseconds{0}); }
    /// Of one that has ended: whether by SIGKILL.
    bool was_killed() const;
    /// Of one that has ended: whether with exit code 0.
    bool succeeded() const;

private:
    pid_t id_ = 0;
    int file_ = -1;  // becomes readable when the process ends
    int status_ = 0;
};

/// Looks again and again. False at the deadline.
bool await(const std::function<bool()>& condition, std::chrono::milliseconds deadline);

}  // namespace pawl::crash
