#include "faults/proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace pawl::faults {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_in local(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void send_at_once(int file) {
    const int on = 1;
    ::setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void reset_at_close(int file) {
    const linger at_once{1, 0};
    ::setsockopt(file, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// The word of its own, not that of READ COMMITTED; or, on PostgreSQL, what is a transaction by
// itself: a group in one statement, and rows that were added when no transaction is open.
bool says_commit(std::string_view bytes) {
    using namespace std::string_view_literals;
    for (auto at = bytes.find("COMMIT"); at != bytes.npos; at = bytes.find("COMMIT", at + 1))
        if (at + 6 == bytes.size() || bytes[at + 6] != 'T') return true;
    return bytes.find("pawl_group") != bytes.npos ||
           (bytes.find("INSERT 0 ") != bytes.npos && bytes.ends_with("Z\0\0\0\5I"sv));
}

}  // namespace

struct Proxy::Pair {
    int client = -1;
    int server = -1;
    bool silent = false;
    bool listens = false;
    bool cut_at_answer = false;
    std::string to_server;
    std::string to_client;

    Pair() = default;
    ~Pair() {
        if (client >= 0) ::close(client);
        if (server >= 0) ::close(server);
    }
    /// It ends with a reset, not in good order.
    void break_off() const {
        reset_at_close(client);
        reset_at_close(server);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
};

Proxy::Proxy(int server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    auto address = local(0);
    socklen_t size = sizeof address;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 256) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        fail("the proxy's socket");
    port_ = ntohs(address.sin_port);
    wakeup_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wakeup_ < 0) fail("eventfd");
    thread_ = std::thread{[this] { run(); }};
}

Proxy::~Proxy() {
    tell([this] { stopping_ = true; });
    thread_.join();
    ::close(listener_);
    ::close(wakeup_);
}

void Proxy::tell(const std::function<void()>& command) {
    std::packaged_task<void()> task{command};
    auto done = task.get_future();
    {
        const std::lock_guard lock{mutex_};
        commands_.push_back(std::move(task));
    }
    const std::uint64_t one = 1;
    if (::write(wakeup_, &one, sizeof one) < 0) fail("eventfd");
    done.get();
}

void Proxy::fall_silent() {
    tell([this] {
        mode_ = Mode::silent;
        for (auto& pair : pairs_) pair->silent = true;
    });
}

void Proxy::silence_listeners() {
    tell([this] {
        for (auto& pair : pairs_) pair->silent = pair->silent || pair->listens;
    });
}

void Proxy::cut() {
    tell([this] { cut_all(); });
}

void Proxy::refuse() {
    tell([this] {
        mode_ = Mode::refuse;
        cut_all();
    });
}

void Proxy::cut_all() {
    for (const auto& pair : pairs_) pair->break_off();
    pairs_.clear();
}

void Proxy::cut_commits(unsigned one_in) {
    tell([this, one_in] { one_in_ = one_in; });
}

void Proxy::heal() {
    tell([this] { mode_ = Mode::forward; });
}

std::size_t Proxy::listeners() {
    std::size_t count = 0;
    tell([&] {
        for (const auto& pair : pairs_)
            if (pair->listens && !pair->silent) ++count;
    });
    return count;
}

std::size_t Proxy::commits_cut() const {
    const std::lock_guard lock{mutex_};
    return commits_cut_;
}

void Proxy::run_commands() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(wakeup_, &count, sizeof count);
    std::vector<std::packaged_task<void()>> commands;
    {
        const std::lock_guard lock{mutex_};
        commands.swap(commands_);
    }
    for (auto& command : commands) command();
}

void Proxy::run() {
    while (!stopping_) {
        std::vector<pollfd> files{{listener_, POLLIN, 0}, {wakeup_, POLLIN, 0}};
        const auto polled = pairs_.size();
        for (const auto& pair : pairs_) {
            // Read only what can be handed on.
            const auto events = [](const std::string& out, const std::string& in) {
                return static_cast<short>((out.empty() ? 0 : POLLOUT) | (in.empty() ? POLLIN : 0));
            };
            files.push_back({pair->client, events(pair->to_client, pair->to_server), 0});
            files.push_back({pair->server, events(pair->to_server, pair->to_client), 0});
        }
        if (::poll(files.data(), files.size(), -1) < 0) continue;
        for (std::size_t i = 0; i < polled; ++i) {
            auto& pair = *pairs_[i];
            const auto& client = files[2 + 2 * i];
            const auto& server = files[3 + 2 * i];
            bool alive = true;
            if (client.revents & POLLOUT) alive = flush(pair, false);
            if (alive && server.revents & POLLOUT) alive = flush(pair, true);
            if (alive && client.revents & (POLLIN | POLLHUP | POLLERR)) alive = carry(pair, true);
            if (alive && server.revents & (POLLIN | POLLHUP | POLLERR)) alive = carry(pair, false);
            if (!alive) pairs_[i].reset();
        }
        std::erase(pairs_, nullptr);
        if (files[1].revents != 0) run_commands();
        if (!stopping_ && files[0].revents != 0) accept_one();
    }
    pairs_.clear();
}

void Proxy::accept_one() {
    auto pair = std::make_unique<Pair>();
    pair->client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (pair->client < 0) return;
    if (mode_ == Mode::refuse) return pair->break_off();
    send_at_once(pair->client);
    pair->silent = mode_ == Mode::silent;
    if (!pair->silent) {
        pair->server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto address = local(server_port_);
        if (::connect(pair->server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            return;
        send_at_once(pair->server);
    }
    pairs_.push_back(std::move(pair));
}

bool Proxy::look_at(Pair& pair, std::string_view bytes, bool from_client) {
    const auto count_cut = [&] {
        const std::lock_guard lock{mutex_};
        ++commits_cut_;
        pair.break_off();
        return false;
    };
    if (from_client) {
        if (bytes.find("LISTEN ") != bytes.npos) pair.listens = true;
        if (!says_commit(bytes) || !lucky()) return true;
        if (random_() % 2 == 0) return count_cut();
        pair.cut_at_answer = true;
        return true;
    }
    if (pair.cut_at_answer || (says_commit(bytes) && lucky())) return count_cut();
    return true;
}

bool Proxy::carry(Pair& pair, bool from_client) {
    std::array<char, 65536> bytes;
    const int from = from_client ? pair.client : pair.server;
    auto& out = from_client ? pair.to_server : pair.to_client;
    if (from < 0) return true;
    const auto got = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (pair.silent) {
        // An end is not told either: the other side would notice.
        if (got > 0) return true;
        ::close(from);
        (from_client ? pair.client : pair.server) = -1;
        return pair.client >= 0 || pair.server >= 0;
    }
    if (got <= 0) return false;
    const std::string_view read{bytes.data(), static_cast<std::size_t>(got)};
    if (!look_at(pair, read, from_client)) return false;
    out.append(read);
    return flush(pair, from_client);
}

bool Proxy::flush(Pair& pair, bool to_server) {
    auto& out = to_server ? pair.to_server : pair.to_client;
    if (pair.silent) out.clear();
    if (out.empty()) return true;
    const int to = to_server ? pair.server : pair.client;
    const auto sent = ::send(to, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    out.erase(0, static_cast<std::size_t>(sent));
    return true;
}

}  // namespace pawl::faults
