#include "crash/process.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

extern char** environ;

namespace pawl::crash {

Process::Process(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int error =
        ::posix_spawn(&id_, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error != 0) throw std::system_error{error, std::generic_category(), command[0]};
    file_ = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
    if (file_ < 0) throw std::system_error{errno, std::generic_category(), "pidfd_open"};
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, 0)),
      file_(std::exchange(other.file_, -1)),
      status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(file_, other.file_);
    std::swap(status_, other.status_);
    return *this;
}

Process::~Process() {
    kill();
    if (file_ >= 0) ::close(file_);
}

void Process::kill() {
    if (id_ == 0) return;
    ::kill(id_, SIGKILL);
    wait(std::chrono::hours{1});
}

void Process::pause() { signal(SIGSTOP); }

void Process::resume() { signal(SIGCONT); }

void Process::signal(int number) {
    if (id_ != 0) ::kill(id_, number);
}

bool Process::wait(std::chrono::milliseconds deadline) {
    if (id_ == 0) return true;
    pollfd file{file_, POLLIN, 0};
    if (::poll(&file, 1, static_cast<int>(deadline.count())) <= 0) return false;
    ::waitpid(id_, &status_, 0);
    id_ = 0;
    return true;
}

bool Process::was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

bool Process::succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }

bool await(const std::function<bool()>& condition, std::chrono::milliseconds deadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        ::poll(nullptr, 0, 10);
    }
    return true;
}

}  // namespace pawl::crash
