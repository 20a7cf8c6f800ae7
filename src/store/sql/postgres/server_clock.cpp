#include "store/sql/postgres/server_clock.hpp"

#include <time.h>

#include <pawl/error.hpp>

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr Duration fresh = std::chrono::seconds{1};

Duration since_boot() {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::duration_cast<Duration>(std::chrono::seconds{now.tv_sec} +
                                                std::chrono::nanoseconds{now.tv_nsec});
}

}  // namespace

void ServerClock::measure(PostgresConnection& connection) {
    const Duration before = since_boot();
    Time server{};
    connection.query(clock, {}, [&](const Row& row) { server = row.time(0); });
    const Duration after = since_boot();
    const Duration half = (after - before) / 2;
    const Duration ahead = server.time_since_epoch() - (before + half);
    const std::lock_guard lock{mutex_};
    measured_ = after;
    // A look that took longer says less: the time must not jump about because of it.
    const auto differs =
        ahead_ ? (ahead > *ahead_ ? ahead - *ahead_ : *ahead_ - ahead) : Duration{};
    if (ahead_ && differs <= half + uncertainty_ && half >= uncertainty_) return;
    ahead_ = ahead;
    uncertainty_ = half;
}

Time ServerClock::now() {
    std::unique_lock lock{mutex_};
    const bool stale = !ahead_ || since_boot() - measured_ > fresh;
    if (stale && !measuring_) {
        measuring_ = true;
        const bool never = !ahead_;
        lock.unlock();
        PostgresConnection* connection = nullptr;
        try {
            connection = never ? &pool_.take() : pool_.take_idle();
            if (connection) measure(*connection);
        } catch (const Error&) {
            if (connection) pool_.give_back(*connection);
            lock.lock();
            measuring_ = false;
            if (never) throw;
            return Time{since_boot() + *ahead_};
        }
        if (connection) pool_.give_back(*connection);
        lock.lock();
        measuring_ = false;
    }
    if (!ahead_)
        throw Error{Code::unavailable, "PostgreSQL: the server's time is not known yet; try again"};
    return Time{since_boot() + *ahead_};
}

}  // namespace pawl::store::sql::postgres
