#include "engine/session.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

namespace pawl::engine {
namespace {

namespace points = base::points;

// Of the lease: two clocks may differ in their speed, and in what they take for the store's time.
constexpr int margin_parts = 10;

}  // namespace

Session::Session(store::Store& store, const Clock& clock, base::Log& log, Options options)
    : store_(store),
      clock_(clock),
      log_(log),
      options_(std::move(options)),
      renewing_("pawl-lease", [this] { return renew(); }),
      expiring_("pawl-expiry", [this] { return expire(); }) {}

// From before the request on: a slow answer must not make the lease look longer.
Duration::rep Session::end_of_lease(Duration asked_at) const {
    return (asked_at + options_.lease - options_.lease / margin_parts).count();
}

store::SessionId Session::ensure() {
    const std::lock_guard asking{asking_};
    auto id = id_.load();
    auto asked_at = clock_.elapsed();
    if (id != 0 && !renewed(id)) {
        log_.say(LogLevel::warning, LogEvent::ownership_lost,
                 "the lease had passed and its claims were taken by others: a new session begins");
        id_ = id = 0;
        replaced_ = true;
    } else if (id != 0 && clock_.elapsed().count() >= trusted_until_.load()) {
        ++lapses_;
        replaced_ = true;
    }
    if (id == 0) {
        asked_at = clock_.elapsed();
        point(points::open_before);
        id = store_.open_session({.lease = options_.lease, .owner = options_.owner});
        point(points::open_after);
    }
    id_ = id;
    trusted_until_ = end_of_lease(asked_at);
    expiring_.wake();
    return id;
}

bool Session::renewed(store::SessionId id) {
    point(points::renew_before);
    const bool renewed = store_.renew(id, options_.lease);
    point(points::renew_after);
    return renewed;
}

std::optional<store::SessionId> Session::current() const {
    const auto until = trusted_until_.load();
    const auto id = id_.load();
    if (id == 0 || clock_.elapsed().count() >= until) return std::nullopt;
    return id;
}

bool Session::holds(store::SessionId session) const {
    const auto until = trusted_until_.load();
    return session != 0 && id_.load() == session && clock_.elapsed().count() < until;
}

void Session::close() {
    const std::lock_guard asking{asking_};
    const auto id = id_.exchange(0);
    if (id == 0) return;
    try {
        point(points::close_before);
        store_.close_session(id);
        point(points::close_after);
    } catch (const std::exception& e) {
        log_.say({.level = LogLevel::warning,
                  .event = LogEvent::store_failed,
                  .error = e.what(),
                  .text = fmt::format("the session could not be closed, its lease will pass: {}",
                                      e.what())});
    }
}

base::Pause Session::renew() {
    try {
        ensure();
    } catch (const std::exception& e) {
        log_.say({.level = LogLevel::warning,
                  .event = LogEvent::store_failed,
                  .error = e.what(),
                  .text = fmt::format("the lease could not be renewed: {}", e.what())});
        return options_.lease / 10;
    }
    return options_.lease / 3;
}

base::Pause Session::expire() {
    if (replaced_.exchange(false) && lost_) lost_();
    const auto until = trusted_until_.load();
    if (id_ == 0 || until == told_) return std::nullopt;
    const Duration left{until - clock_.elapsed().count()};
    if (left > Duration::zero()) return left;
    told_ = until;
    log_.say(
        LogLevel::warning, LogEvent::ownership_lost,
        "the lease expired before it could be renewed: no new work begins until it is renewed");
    if (lost_) lost_();
    return std::nullopt;
}

}  // namespace pawl::engine
