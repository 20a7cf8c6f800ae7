/// Bodies of steps beside each other: whoever is free takes the next one.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/latch.hpp"

namespace pawl::engine {

/// What became of one attempt.
struct Ran {
    std::string bytes;  ///< the encoded result
    std::string error;
    bool failed = false;
    bool permanent = false;
    bool lost = false;  ///< it was not begun: the run may be somebody else's by now
};

/// Shared by the function's thread and those who help it. A helper may come at any time, also when
/// everything is over and what the bodies refer to is gone: then there is nothing left to take.
class BodyCrew {
public:
    BodyCrew(std::size_t count, std::function<Ran(std::size_t)> body)
        : count_(count), body_(std::move(body)) {}

    /// Runs the next body; false if there is none left.
    bool work_once() {
        std::size_t turn = 0;
        {
            const std::lock_guard lock{mutex_};
            if (next_ == count_) return false;
            turn = next_++;
            ++running_;
        }
        auto ran = body_(turn);
        const std::lock_guard lock{mutex_};
        --running_;
        done_.emplace_back(turn, std::move(ran));
        changed_.set();
        return true;
    }
    void work() {
        while (work_once()) {
        }
    }
    /// What has not begun never will.
    void close() {
        const std::lock_guard lock{mutex_};
        count_ = next_;
        changed_.set();
    }

    struct News {
        std::vector<std::pair<std::size_t, Ran>> done;
        bool over = false;  ///< nothing runs any more, and nothing will
    };
    News news() {
        const std::lock_guard lock{mutex_};
        return {std::exchange(done_, {}), running_ == 0 && next_ == count_};
    }
    /// Whether nothing runs although something has not begun.
    bool is_idle() {
        const std::lock_guard lock{mutex_};
        return running_ == 0 && next_ < count_;
    }
    void wait_for(Duration timeout) { changed_.wait_for(timeout); }

private:
    std::mutex mutex_;
    std::size_t count_;
    std::function<Ran(std::size_t)> body_;
    std::size_t next_ = 0;
    std::size_t running_ = 0;
    std::vector<std::pair<std::size_t, Ran>> done_;
    base::Latch changed_;
};

}  // namespace pawl::engine
