/// Group commit: callers hand over their Commits, and many of them share one transaction.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bounded_queue.hpp"
#include "base/loop.hpp"
#include "base/meeting.hpp"
#include "base/pool.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Commits of one instance, each decided on the state after the one before. When one fails, those
/// behind it rest on something that never happened, even if their version number fits again.
struct Chain {
    std::atomic<bool> broken{false};
};

/// A Commit on its way, and who waits for it.
class Job {
public:
    using Owned = std::unique_ptr<Job>;
    virtual ~Job() = default;

    /// Called on the committing thread: quick, and never the user's code. Whatever takes longer
    /// goes to `later`, and is resumed on another thread.
    virtual void settled(Owned self, store::Answer answer, std::vector<Owned>& later) = 0;
    virtual void resume(Owned self) = 0;

    store::Commit commit;
    std::shared_ptr<Chain> chain;  ///< none for a Commit that appends to no journal
    bool collateral = false;       ///< it failed because one before it in the chain did
    bool is_awaited = false;       ///< by a thread that may come back with another
};

/// On another thread, one after the other.
void resume_later(base::Pool& callbacks, std::vector<Job::Owned> jobs);

/// An answer that a thread waits for.
struct Awaited {
    std::atomic<bool> over{false};  ///< it is there
    store::Answer answer;

    void give(store::Answer given) {
        answer = std::move(given);
        over = true;
    }
};

/// One lane: its groups reach the store in the order of submission. Thread-safe.
class Committer {
public:
    struct Options {
        std::size_t queue = 0;
        std::function<void(std::string_view)> at_point{};
    };
    Committer(store::Store& store, base::Pool& callbacks, Options options);

    /// Queues a job. False, and the job untouched, if the queue stayed full. Nothing happens to it
    /// before somebody calls `wake` or `help`; a queue that is full is woken here.
    [[nodiscard]] bool submit(Job::Owned& job, Duration timeout,
                              base::Meeting::Round* round = nullptr);
    /// Until the answer to a Commit of this round is there. It is waited for here, and not at the
    /// answer itself, because a whole group is woken at once.
    void await(base::Meeting::Round round, const Awaited& awaited) {
        meeting_.wait(round, awaited.over);
    }
    /// Has everything queued committed by the thread; without a thread, here and now.
    void wake();
    /// For a caller that waits: commits one group itself if nobody is at it, and leaves the rest to
    /// the thread.
    void help();

    /// How many Commits are queued, or at the store.
    std::size_t load() const { return load_; }

    void start();
    void stop();

private:
    bool gather();
    bool is_company_coming();
    void await_company();
    void flush_all();
    bool flush_one_group();
    void settle(std::vector<Job::Owned> jobs, std::vector<store::Answer> answers);
    void commit_group(const std::vector<Job::Owned>& jobs, std::vector<store::Answer>& answers);

    store::Store& store_;
    base::Pool& callbacks_;
    const std::function<void(std::string_view)> at_point_;
    base::BoundedQueue<Job::Owned> queue_;
    base::Meeting meeting_;
    std::mutex flushing_;
    std::atomic<bool> threaded_{false};
    std::atomic<std::size_t> coming_back_{0};  ///< those who waited for the last group
    std::atomic<bool> gathering_{false};       ///< somebody waits for them, and commits then
    std::atomic<int> lone_groups_{0};          ///< so many more are not waited for
    std::atomic<std::size_t> load_{0};
    base::Loop loop_;
};

}  // namespace pawl::engine
