#include "child.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <stdexcept>

namespace pawl::bench {

void Line::say(double number) const {
    if (::write(out_, &number, sizeof number) != sizeof number)
        throw std::runtime_error("the other process of this benchmark is gone");
}

double Line::hear() const {
    double number = 0;
    if (::read(in_, &number, sizeof number) != sizeof number)
        throw std::runtime_error("the other process of this benchmark is gone");
    return number;
}

Child::Child(const std::function<void(const Line&)>& work) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("no socket for another process");
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no other process");
    line_ = process_ == 0 ? Line{ends[1], ends[1]} : Line{ends[0], ends[0]};
    ::close(ends[process_ == 0 ? 0 : 1]);
    if (process_ != 0) return;
    try {
        work(line_);
    } catch (const std::exception& e) {
        fmt::print(stderr, "bench: another process: {}\n", e.what());
        ::_exit(1);
    }
    ::_exit(0);
}

Child::~Child() { ::waitpid(process_, nullptr, 0); }

}  // namespace pawl::bench
