/// A network of the tests' own in front of a server: it goes silent, is cut, or refuses.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl::faults {

/// Forwards a port of 127.0.0.1 to another. What it is told has happened when the call returns.
class Proxy {
public:
    explicit Proxy(int server_port);
    ~Proxy();
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;

    int port() const { return port_; }

    /// Every connection, and each new one until `heal`, stays open and carries nothing any more.
    void fall_silent();
    /// Only those that have sent LISTEN. They never come back; new ones are as usual.
    void silence_listeners();
    /// All connections end with a reset.
    void cut();
    /// As `cut`, and so does each new one until `heal`.
    void refuse();
    /// One COMMIT in `one_in` is cut off: the server has answered it, and nobody hears the answer;
    /// or, where the client's words can be read, it never gets there. 0: none any more.
    void cut_commits(unsigned one_in);
    /// New connections are forwarded again. Those that went silent stay so: nobody remembers them.
    void heal();

    std::size_t commits_cut() const;
    /// Connections that have sent LISTEN and carry.
    std::size_t listeners();

private:
    struct Pair;
    enum class Mode { forward, silent, refuse };

    void tell(const std::function<void()>& command);
    void run();
    void run_commands();
    void cut_all();
    void accept_one();
    bool carry(Pair& pair, bool from_client);
    bool flush(Pair& pair, bool to_server);
    /// False: the pair is to be cut instead of carrying this.
    bool look_at(Pair& pair, std::string_view bytes, bool from_client);
    bool lucky() { return one_in_ > 0 && random_() % one_in_ == 0; }

    const int server_port_;
    int port_ = 0;
    int listener_ = -1;
    int wakeup_ = -1;
    mutable std::mutex mutex_;
    std::vector<std::packaged_task<void()>> commands_;
    bool stopping_ = false;
    std::size_t commits_cut_ = 0;
    // Of the thread.
    Mode mode_ = Mode::forward;
    unsigned one_in_ = 0;
    std::minstd_rand random_;
    std::vector<std::unique_ptr<Pair>> pairs_;
    std::thread thread_;
};

}  // namespace pawl::faults
