/// Connections to a server: opened when needed, bounded in number, replaced when they are lost.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <pawl/error.hpp>
#include <pawl/time.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/check.hpp"

namespace pawl::store::sql {

struct PoolOptions {
    std::size_t size = 4;
    /// Of waiting for a free connection, and for a server that can't be reached.
    Duration deadline = std::chrono::seconds{30};
    std::string what;  ///< for messages: "connections to 10.0.0.7:3306"
};

/// C has `bool is_lost() const`. Thread-safe.
template <class C>
class ConnectionPool {
public:
    ConnectionPool(PoolOptions options, std::function<std::unique_ptr<C>()> open)
        : options_(std::move(options)), open_(std::move(open)) {}

    /// Waits until one is free, or until the server can be reached again. Throws `busy` if none
    /// became free, or what opening failed with, when the deadline has passed: never a
    /// LostConnection, because it was waited for already. There are `extra` more for a caller that
    /// must not wait for the others.
    C& take(std::size_t extra = 0) {
        const auto deadline = Steady::now() + options_.deadline;
        std::unique_lock lock{mutex_};
        const auto usable = [&] { return !free_.empty() || open_count_ < options_.size + extra; };
        if (!freed_.wait_until(lock, deadline, usable))
            throw Error{Code::busy, "all " + std::to_string(options_.size) + ' ' + options_.what +
                                        " are in use: give it more time or more connections"};
        if (!free_.empty()) {
            // The one that was used last: its statements are prepared, and others grow old.
            auto& connection = *taken_.emplace_back(std::move(free_.back()));
            free_.pop_back();
            return connection;
        }
        ++open_count_;  // the place is kept while it is opened without the lock
        lock.unlock();
        auto opened = open_until(deadline);
        lock.lock();
        return *taken_.emplace_back(std::move(opened));
    }

    void give_back(C& connection) noexcept {
        std::vector<std::unique_ptr<C>> closing;  // without the lock: it may take a while
        {
            const std::lock_guard lock{mutex_};
            const auto at = std::ranges::find(taken_, &connection, &std::unique_ptr<C>::get);
            base::check(at != taken_.end(), "a connection goes back to where it came from");
            if (connection.is_lost()) {
                // What ended this one has ended the others that idle: they are found out now, and
                // not one by one.
                closing.swap(free_);
                closing.push_back(std::move(*at));
                open_count_ -= closing.size();
            } else {
                free_.push_back(std::move(*at));
            }
            taken_.erase(at);
        }
        freed_.notify_all();
    }

private:
    using Steady = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds first_wait{10};
    static constexpr std::chrono::milliseconds longest_wait{1000};

    std::unique_ptr<C> open_until(Steady::time_point deadline) {
        for (auto wait = first_wait;; wait = std::min(wait * 2, longest_wait)) {
            try {
                return open_();
            } catch (const Error& error) {
                if (!error.retryable() || Steady::now() + wait >= deadline) {
                    give_up_place();
                    throw Error{error.code(), error.what()};
                }
            } catch (...) {
                give_up_place();
                throw;
            }
            std::this_thread::sleep_for(wait);
        }
    }

    void give_up_place() {
        {
            const std::lock_guard lock{mutex_};
            --open_count_;
        }
        freed_.notify_one();
    }

    const PoolOptions options_;
    const std::function<std::unique_ptr<C>()> open_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::size_t open_count_ = 0;  // free, taken, and being opened
    std::vector<std::unique_ptr<C>> free_;
    std::vector<std::unique_ptr<C>> taken_;
};

}  // namespace pawl::store::sql
