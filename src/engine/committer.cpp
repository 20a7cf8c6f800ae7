#include "engine/committer.hpp"

#include <algorithm>
#include <pawl/error.hpp>

#include "base/latch.hpp"
#include "base/points.hpp"

namespace pawl::engine {
namespace {

// A group is bounded so that its answers, and everybody behind it, do not wait for ever.
constexpr std::size_t group_count = 512;
constexpr std::size_t group_bytes = 8 * 1024 * 1024;
// Those who have just been woken come one by one, but none so late.
constexpr Duration between_two = std::chrono::microseconds{250};
// Where nobody came, it is a while before anybody is waited for again.
constexpr int lone_groups = 16;

std::size_t bytes_of(const store::Commit& commit) {
    std::size_t bytes = 256;
    if (commit.append) {
        for (const auto& e : commit.append->events) bytes += e.payload.bytes.size();
        for (const auto& p : commit.append->puts) bytes += p.payload.bytes.size();
        if (commit.append->snapshot) bytes += commit.append->snapshot->payload.bytes.size();
    }
    for (const auto& letter : commit.inbox) bytes += letter.payload.bytes.size();
    for (const auto& message : commit.messages) bytes += message.payload.bytes.size();
    return bytes;
}

store::Answer stale() {
    store::Answer answer;
    answer.fate = store::Fate::stale;
    return answer;
}

}  // namespace

Committer::Committer(store::Store& store, base::Pool& callbacks, Options options)
    : store_(store),
      callbacks_(callbacks),
      at_point_(std::move(options.at_point)),
      queue_(options.queue),
      loop_("pawl-commit", [this]() -> base::Pause {
          flush_all();
          return std::nullopt;
      }) {}

bool Committer::submit(Job::Owned& job, Duration timeout, base::Meeting::Round* round) {
    ++load_;  // before somebody else takes it away
    if (queue_.push(job, Duration::zero(), round)) return true;
    // What fills the queue may be this caller's own, which nobody was told of yet.
    wake();
    if (queue_.push(job, timeout, round)) return true;
    --load_;
    return false;
}

void Committer::wake() {
    if (threaded_)
        loop_.wake();
    else
        flush_all();
}

void Committer::help() {
    if (!threaded_) return flush_all();
    if (!gather()) return;
    if (flushing_.try_lock()) {
        const std::lock_guard lock{flushing_, std::adopt_lock};
        flush_one_group();
    }
    // Whoever gathers commits, too. Here, if the thread has ended in the meantime.
    if (!gathering_ && !queue_.empty()) wake();
}

// Those who waited for the last group have just been told, and come back together: the first of
// them would commit alone, and the others wait for that. So the last one commits, and only the
// first looks whether they come. False: somebody else does.
bool Committer::gather() {
    if (!is_company_coming()) return true;
    if (gathering_.exchange(true)) return false;
    await_company();
    gathering_ = false;
    return true;
}

bool Committer::is_company_coming() {
    if (queue_.count() >= coming_back_) return false;
    if (lone_groups_ == 0) return true;
    --lone_groups_;
    return false;
}

void Committer::await_company() {
    const auto turn = queue_.turn();
    base::Latch never;
    for (std::size_t before = 0;;) {
        never.wait_for(between_two);
        const auto count = queue_.count();
        if (queue_.turn() != turn || count >= coming_back_) return;
        if (count == before) {
            if (count * 2 < coming_back_) lone_groups_ = lone_groups;
            return;
        }
        before = count;
    }
}

void Committer::start() {
    threaded_ = true;
    loop_.start();
}

void Committer::stop() {
    loop_.stop();
    threaded_ = false;
    flush_all();
}

void Committer::flush_all() {
    // Whoever fails to get the lock may leave: its holder looks at the queue again after unlocking.
    while (!queue_.empty() && (!threaded_ || gather()) && flushing_.try_lock()) {
        const std::lock_guard lock{flushing_, std::adopt_lock};
        flush_one_group();
    }
}

bool Committer::flush_one_group() {
    std::vector<Job::Owned> jobs;
    std::size_t bytes = 0;
    const auto round = queue_.take(jobs, [&](const Job::Owned& job) {
        bytes += bytes_of(job->commit);
        return jobs.empty() || (jobs.size() < group_count && bytes <= group_bytes);
    });
    if (!round) return false;
    coming_back_ = static_cast<std::size_t>(
        std::ranges::count_if(jobs, [](const auto& job) { return job->is_awaited; }));

    std::vector<store::Answer> answers(jobs.size());
    commit_group(jobs, answers);
    load_ -= jobs.size();
    settle(std::move(jobs), std::move(answers));
    meeting_.end(*round);
    return true;
}

void Committer::commit_group(const std::vector<Job::Owned>& jobs,
                             std::vector<store::Answer>& answers) {
    std::vector<store::Commit> group;
    std::vector<std::size_t> members;
    group.reserve(jobs.size());
    members.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i]->collateral = jobs[i]->chain && jobs[i]->chain->broken;
        if (jobs[i]->collateral) {
            answers[i] = stale();
        } else {
            group.push_back(std::move(jobs[i]->commit));
            members.push_back(i);
        }
    }
    std::vector<store::Answer> got(group.size());
    base::reach(at_point_, base::points::commit_before);
    try {
        if (!group.empty()) store_.commit(group, got);
    } catch (const Error& e) {
        // Each caller gets an exception of its own, because they catch it on different threads. Not
        // a copy: that would share its text.
        for (auto& answer : got) {
            answer.fate = store::Fate::failed;
            answer.error = std::make_exception_ptr(Error{e.code(), e.what()});
        }
    } catch (...) {
        for (auto& answer : got) {
            answer.fate = store::Fate::failed;
            answer.error = std::current_exception();
        }
    }
    base::reach(at_point_, base::points::commit_after);
    for (std::size_t k = 0; k < members.size(); ++k) {
        const auto i = members[k];
        // Broken before the next group is gathered, so that nothing behind it slips through.
        if (got[k].fate != store::Fate::committed && jobs[i]->chain)
            jobs[i]->collateral = jobs[i]->chain->broken.exchange(true);
        jobs[i]->commit = std::move(group[k]);
        answers[i] = std::move(got[k]);
    }
}

void Committer::settle(std::vector<Job::Owned> jobs, std::vector<store::Answer> answers) {
    std::vector<Job::Owned> later;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto* job = jobs[i].get();
        job->settled(std::move(jobs[i]), std::move(answers[i]), later);
    }
    resume_later(callbacks_, std::move(later));
}

void resume_later(base::Pool& callbacks, std::vector<Job::Owned> jobs) {
    if (jobs.empty()) return;
    callbacks.post([jobs = std::move(jobs)]() mutable {
        for (auto& job : jobs) {
            auto* one = job.get();
            one->resume(std::move(job));
        }
    });
}

}  // namespace pawl::engine
