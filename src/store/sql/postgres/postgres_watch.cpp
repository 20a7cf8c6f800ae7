#include "store/sql/postgres/postgres_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pawl/error.hpp>

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds look_when_deaf{50};
constexpr std::chrono::seconds ask_when_silent{5};
constexpr std::chrono::seconds patience_for_an_answer{3};
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{5000};

class Interruption {
public:
    Interruption() : number_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        if (number_ < 0)
            throw Error{Code::unavailable, fmt::format("no more files can be opened: {}; raise the "
                                                       "limit of open files",
                                                       std::strerror(errno))};
    }
    ~Interruption() { ::close(number_); }
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    int number() const { return number_; }
    void raise() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(number_, &one, sizeof one);
    }
    bool take() {
        std::uint64_t count = 0;
        return ::read(number_, &count, sizeof count) > 0;
    }

private:
    int number_;
};

class PostgresWatch final : public Watch {
public:
    PostgresWatch(ConnectionOptions options, const Notifier& notifier)
        : options_(std::move(options)), notifier_(notifier) {
        // Silence of the network must not hold up the one who waits.
        options_.link.statement_timeout =
            std::min<Duration>(options_.link.statement_timeout, patience_for_an_answer);
        connect();
    }

    bool wait(Duration timeout) override {
        const auto deadline = Steady::now() + timeout;
        while (true) {
            if (interruption_.take()) return false;
            if (!connection_ && !options_.pooler && Steady::now() >= next_try_) connect();
            if (connection_ && hear()) return true;
            const auto left = deadline - Steady::now();
            if (left <= Steady::duration::zero()) return false;
            if (!connection_) return wait_deaf(left);
            try {
                const auto silence = heard_ + ask_when_silent - Steady::now();
                if (silence <= Steady::duration::zero()) {
                    ask();
                    continue;
                }
                const auto pause = std::chrono::ceil<milliseconds>(std::min(left, silence));
                connection_->link().wait_for_input(pause, interruption_.number());
            } catch (const Error&) {
                lose();
                return true;  // what was told meanwhile was not heard
            }
        }
    }

    void interrupt() override { interruption_.raise(); }

private:
    // A poll: whoever waits looks for itself.
    bool wait_deaf(Steady::duration left) {
        const auto pause = std::min<Steady::duration>(left, look_when_deaf);
        pollfd file{interruption_.number(), POLLIN, 0};
        const auto ms = std::chrono::ceil<milliseconds>(pause).count();
        const bool interrupted = ::poll(&file, 1, static_cast<int>(ms)) > 0;
        if (interrupted) interruption_.take();
        return !interrupted && left > look_when_deaf;
    }

    void connect() {
        if (options_.pooler) return;
        try {
            connection_ = std::make_unique<PostgresConnection>(options_);
            connection_->run_script(
                fmt::format("{}\"{}\"", postgres::listen, Notifier::channel(options_)));
            heard_ = Steady::now();
            pause_ = first_pause;
        } catch (const Error&) {
            lose();
        }
    }

    void lose() {
        connection_.reset();
        next_try_ = Steady::now() + pause_;
        pause_ = std::min(2 * pause_, longest_pause);
    }

    // A line can be dead without a word: only an answer shows that it is not.
    void ask() {
        connection_->query(alive, {}, [](const Row&) {});
        heard_ = Steady::now();
    }

    // Our own process knows what it has committed.
    bool hear() {
        bool others = false;
        while (PGnotify* const notice = PQnotifies(connection_->link().handle())) {
            others = others || !notifier_.is_own(notice->be_pid);
            PQfreemem(notice);
            heard_ = Steady::now();
        }
        return others;
    }

    ConnectionOptions options_;
    const Notifier& notifier_;
    Interruption interruption_;
    std::unique_ptr<PostgresConnection> connection_;  // null while it is deaf
    Steady::time_point heard_;
    Steady::time_point next_try_;
    milliseconds pause_ = first_pause;
};

}  // namespace

std::unique_ptr<Watch> make_watch(ConnectionOptions options, const Notifier& notifier) {
    return std::make_unique<PostgresWatch>(std::move(options), notifier);
}

}  // namespace pawl::store::sql::postgres
