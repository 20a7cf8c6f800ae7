#include "engine/session.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

namespace pawl::engine {

namespace points = base::points;

Session::Session(store::Store& store, Options options)
    : store_(store),
      options_(std::move(options)),
      loop_("pawl-lease", [this] { return renew(); }) {}

store::SessionId Session::ensure() {
    const std::lock_guard asking{asking_};
    std::optional<store::SessionId> id;
    {
        const std::lock_guard lock{mutex_};
        id = id_;
    }
    // Trust begins before the request: a slow answer must not make the lease look longer.
    const Time asked_at = store_.now();
    if (id && !renewed(*id)) {
        options_.warn(
            "the lease had passed and its claims were taken by others: a new session begins");
        id.reset();
    }
    if (!id) {
        point(points::open_before);
        id = store_.open_session({.lease = options_.lease, .owner = options_.owner});
        point(points::open_after);
    }
    const std::lock_guard lock{mutex_};
    id_ = id;
    trusted_until_ = asked_at + options_.lease;
    return *id;
}

bool Session::renewed(store::SessionId id) {
    point(points::renew_before);
    const bool renewed = store_.renew(id, options_.lease);
    point(points::renew_after);
    return renewed;
}

std::optional<store::SessionId> Session::current() const {
    const std::lock_guard lock{mutex_};
    if (!id_ || store_.now() >= trusted_until_) return std::nullopt;
    return id_;
}

void Session::close() {
    const std::lock_guard asking{asking_};
    std::optional<store::SessionId> id;
    {
        const std::lock_guard lock{mutex_};
        id.swap(id_);
    }
    if (!id) return;
    try {
        point(points::close_before);
        store_.close_session(*id);
        point(points::close_after);
    } catch (const std::exception& e) {
        options_.warn(
            fmt::format("the session could not be closed, its lease will pass: {}", e.what()));
    }
}

base::Pause Session::renew() {
    try {
        ensure();
    } catch (const std::exception& e) {
        options_.warn(fmt::format("the lease could not be renewed: {}", e.what()));
        return options_.lease / 10;
    }
    return options_.lease / 3;
}

}  // namespace pawl::engine
