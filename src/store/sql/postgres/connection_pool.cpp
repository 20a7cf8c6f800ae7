#include "store/sql/postgres/connection_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>
#include <thread>

namespace pawl::store::sql::postgres {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause{20};
constexpr std::chrono::milliseconds longest_pause{500};

}  // namespace

std::unique_ptr<PostgresConnection> ConnectionPool::open() const {
    return std::make_unique<PostgresConnection>(options_.connection);
}

// A server that restarts, or has no free connection, may have one in a moment.
ConnectionPool::Owned ConnectionPool::open_patiently(Steady::time_point deadline) {
    for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        try {
            return open();
        } catch (const LostConnection&) {
            if (Steady::now() + pause >= deadline) throw;
        } catch (const Error& error) {
            if (!error.retryable() || Steady::now() + pause >= deadline) throw;
        }
        std::this_thread::sleep_for(pause);
    }
}

PostgresConnection& ConnectionPool::lend(Owned connection) {
    lent_.push_back(std::move(connection));
    return *lent_.back();
}

PostgresConnection& ConnectionPool::take(Rank rank) {
    const auto deadline = Steady::now() + options_.patience;
    const std::size_t most = options_.most + (rank == Rank::urgent ? 1 : 0);
    std::unique_lock lock{mutex_};
    const bool free = freed_.wait_until(
        lock, deadline, [&] { return !free_.empty() || lent_.size() + opening_ < most; });
    if (!free)
        throw Error{Code::busy, fmt::format("all {} connections to PostgreSQL are in use: give it "
                                            "more time, or more connections with pool=N in the "
                                            "store URL",
                                            most)};
    if (!free_.empty()) {
        // The one that was used last, because its statements are prepared.
        auto connection = std::move(free_.back());
        free_.pop_back();
        return lend(std::move(connection));
    }
    ++opening_;
    lock.unlock();
    Owned opened;
    try {
        opened = open_patiently(deadline);
    } catch (...) {
        lock.lock();
        --opening_;
        lock.unlock();
        freed_.notify_one();
        throw;
    }
    lock.lock();
    --opening_;
    return lend(std::move(opened));
}

PostgresConnection* ConnectionPool::take_idle() {
    const std::lock_guard lock{mutex_};
    if (free_.empty()) return nullptr;
    auto connection = std::move(free_.back());
    free_.pop_back();
    return &lend(std::move(connection));
}

void ConnectionPool::give_back(PostgresConnection& connection) noexcept {
    std::vector<Owned> gone;
    {
        const std::lock_guard lock{mutex_};
        const auto at = std::ranges::find(lent_, &connection, &Owned::get);
        Owned owned = std::move(*at);
        lent_.erase(at);
        if (!owned->is_broken()) {
            free_.push_back(std::move(owned));
        } else {
            // What ended one has most likely ended them all.
            gone.swap(free_);
            gone.push_back(std::move(owned));
        }
    }
    freed_.notify_one();
}

}  // namespace pawl::store::sql::postgres
