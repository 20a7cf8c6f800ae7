/// The world around the demo: a mail server, a process to kill, and a line of progress.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

struct Mail {
    std::string key;  // a mail server that has seen it drops the mail
    std::string to;
    std::string text;
};

// A socket in the file system, closed with this object.
class Socket {
public:
    Socket() : Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
    explicit Socket(int number) : number_(number) {}
    ~Socket() { if (number_ >= 0) ::close(number_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    static sockaddr_un address(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
        return address;
    }
    int number() const { return number_; }

private:
    int number_;
};

// Where the invoices go. It lives in the process that is not killed, and remembers every key.
class MailServer {
public:
    explicit MailServer(const std::string& path) {
        const auto address = Socket::address(path);
        if (::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(socket_.number(), 64) != 0)
            throw std::runtime_error{"no mail server at " + path + ": " + std::strerror(errno)};
        thread_ = std::thread{[this] { serve(); }};
    }
    ~MailServer() {
        ::shutdown(socket_.number(), SHUT_RDWR);
        thread_.join();
    }

    long delivered() const {
        const std::lock_guard lock{mutex_};
        return static_cast<long>(keys_.size());
    }
    int delivered_to(const std::string& order) {
        const std::lock_guard lock{mutex_};
        return boxes_[order];
    }
    int repeated() const {
        const std::lock_guard lock{mutex_};
        return repeated_;
    }

private:
    void serve() {
        for (;;) {
            const Socket client{::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (client.number() < 0) return;
            char request[512];
            const auto length = ::recv(client.number(), request, sizeof request, 0);
            if (length <= 0) continue;  // its sender was killed before it could say anything
            const std::string mail{request, static_cast<std::size_t>(length)};
            const auto first = mail.find('\n');
            take(mail.substr(0, first), mail.substr(first + 1, mail.find('\n', first + 1) - first - 1));
            ::send(client.number(), "ok", 2, MSG_NOSIGNAL);
        }
    }

    void take(const std::string& key, const std::string& to) {
        const std::lock_guard lock{mutex_};
        if (keys_.insert(key).second)
            ++boxes_[to];
        else
            ++repeated_;
    }

    mutable std::mutex mutex_;
    std::set<std::string> keys_;
    std::map<std::string, int> boxes_;
    int repeated_ = 0;
    Socket socket_;
    std::thread thread_;
};

// The worker's way to the mail server.
class Mailer {
public:
    explicit Mailer(std::string path) : path_(std::move(path)) {}

    void send(const Mail& mail) const {
        const Socket socket;
        const auto address = Socket::address(path_);
        const std::string request = mail.key + '\n' + mail.to + '\n' + mail.text;
        char answer[2];
        if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL) < 0 ||
            ::recv(socket.number(), answer, sizeof answer, 0) <= 0)
            throw std::runtime_error{std::string{"the mail server does not answer: "} + std::strerror(errno)};
        // Mail servers take their time to answer: a good moment to be killed in.
        std::this_thread::sleep_for(std::chrono::milliseconds{60});
    }

private:
    std::string path_;
};

// This program once more, as a worker. Ended with this object, by SIGKILL.
class WorkerProcess {
public:
    static constexpr const char* argument = "--work";

    WorkerProcess() {
        char program[] = "/proc/self/exe";
        char* const words[] = {program, const_cast<char*>(argument), nullptr};
        if (const int error = ::posix_spawn(&id_, program, nullptr, nullptr, words, environ))
            throw std::runtime_error{std::string{"no worker: "} + std::strerror(error)};
    }
    ~WorkerProcess() { kill(); }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(WorkerProcess&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }

    void kill() {
        if (id_ == 0) return;
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
        id_ = 0;
    }

private:
    pid_t id_ = 0;
};

// What a worker's main thread does; if the demo itself is killed, the worker goes with it.
[[noreturn]] inline void wait_for_ever() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
}

// One line that changes in place; now and then a line where the output is no terminal.
class Progress {
public:
    template <class Report>
    void show(Report report) {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + (terminal_ ? std::chrono::milliseconds{200} : std::chrono::milliseconds{2000});
        print(report());
    }
    void end(const std::string& report) {
        print(report);
        if (terminal_) std::cout << '\n';
    }

private:
    void print(const std::string& line) {
        if (terminal_)
            std::cout << "\r\033[K  " << line << std::flush;
        else
            std::cout << "  " << line << std::endl;
    }

    const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
    std::chrono::steady_clock::time_point next_{};
};
