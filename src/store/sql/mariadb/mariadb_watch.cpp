#include "store/sql/mariadb/mariadb_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "store/sql/mariadb/mariadb_statements.hpp"

namespace pawl::store::sql::mariadb {
namespace {

using Steady = std::chrono::steady_clock;

// MariaDB can't call. A look at the row takes the server some 50 µs: 200 a second while others are
// active, 20 when nothing has happened for a while.
constexpr std::chrono::milliseconds shortest_pause{5};
constexpr std::chrono::milliseconds longest_pause{50};

class MariadbWatch final : public Watch {
public:
    explicit MariadbWatch(std::function<std::unique_ptr<MariadbConnection>()> open)
        : open_(std::move(open)), connection_(open_()) {
        seen_ = look();
    }

    bool wait(Duration timeout) override {
        const auto deadline = Steady::now() + timeout;
        while (true) {
            if (has_news()) {
                pause_ = shortest_pause;
                return true;
            }
            const auto left = deadline - Steady::now();
            if (sleep(std::min<Steady::duration>(left, pause_))) return false;
            if (left <= Steady::duration::zero()) return false;
            pause_ = std::min<std::chrono::microseconds>(pause_ + pause_ / 4, longest_pause);
        }
    }

    void interrupt() override {
        {
            const std::lock_guard lock{mutex_};
            interrupted_ = true;
        }
        changed_.notify_one();
    }

private:
    using Taken = std::array<std::int64_t, 4>;

    // What was missed while there was no connection counts as news.
    bool has_news() {
        if (!connection_ || connection_->is_lost()) {
            connection_.reset();
            connection_ = open_();
            seen_ = look();
            return true;
        }
        const Taken taken = look();
        return std::exchange(seen_, taken) != taken;
    }

    Taken look() {
        Taken taken{};
        connection_->query(numbers_taken, {}, [&](const Row& row) {
            for (std::size_t i = 0; i < taken.size(); ++i)
                taken[i] = row.number(static_cast<int>(i));
        });
        connection_->rollback();  // the next look is at another moment
        return taken;
    }

    // True if it was interrupted.
    bool sleep(Steady::duration pause) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, pause, [&] { return interrupted_; });
        return std::exchange(interrupted_, false);
    }

    const std::function<std::unique_ptr<MariadbConnection>()> open_;
    std::unique_ptr<MariadbConnection> connection_;
    Taken seen_{};
    std::chrono::microseconds pause_ = shortest_pause;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool interrupted_ = false;
};

}  // namespace

std::unique_ptr<Watch> make_watch(std::function<std::unique_ptr<MariadbConnection>()> open) {
    return std::make_unique<MariadbWatch>(std::move(open));
}

}  // namespace pawl::store::sql::mariadb
