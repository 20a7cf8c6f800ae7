#include "engine/session.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

namespace pawl::engine {

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
    if (id && !store_.renew(*id, options_.lease)) {
        options_.warn(
            "the lease had passed and its claims were taken by others: a new session begins");
        id.reset();
    }
    if (!id) id = store_.open_session({.lease = options_.lease, .owner = options_.owner});
    const std::lock_guard lock{mutex_};
    id_ = id;
    trusted_until_ = asked_at + options_.lease;
    return *id;
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
        store_.close_session(*id);
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
