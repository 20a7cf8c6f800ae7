// The bodies of steps: run on the function's thread or beside it, and what is written of them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <pawl/error.hpp>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "engine/run_execution.hpp"

namespace pawl::engine {
namespace {

namespace points = base::points;

// How often an `any` that waits for a running body looks at its mail.
constexpr Duration look_at_mail = std::chrono::milliseconds{100};

}  // namespace

std::string RunExecution::key_of(const std::string& name, int call) const {
    return idempotency_key({.process = item_.instance.type + '\0' + item_.instance.id + '\0' +
                                       writer_.journal().started().seed.text(),
                            .step = name,
                            .recipient = std::to_string(call),
                            .version = "1"})
        .text();
}

// Of any thread. Nothing leaves it but what it returns.
RunExecution::Ran RunExecution::run_body(Waiting& wait, int attempts) {
    Ran ran;
    StopTimers::Watch watch{parts_.stops, wait.stop, wait.branch.options, parts_.store.now()};
    const std::stop_callback pass_on{parts_.stop, [&] { wait.stop.request_stop(); }};
    Attempt attempt;
    attempt.key = key_of(wait.branch.name, wait.call);
    attempt.number = attempts + 1;
    attempt.deadline = watch.deadline();
    attempt.stop = wait.stop.get_token();
    attempt.pulse = &watch;
    base::reach(parts_.at_point, points::step_before);
    try {
        ran.bytes = wait.branch.body(attempt);
    } catch (const Permanent& e) {
        ran.failed = ran.permanent = true;
        ran.error = base::readable(e.what());
    } catch (const std::exception& e) {
        ran.failed = true;
        ran.error = base::readable(e.what());
    } catch (...) {
        ran.failed = true;
        ran.error = "something that is not a std::exception";
    }
    base::reach(parts_.at_point, points::step_after);
    return ran;
}

void RunExecution::conclude(Waiting& wait, Ran ran) {
    const auto* recorded = writer_.journal().find(wait.call);
    const auto& options = wait.branch.options;
    const int attempts = (recorded ? recorded->attempts : 0) + 1;
    records::Step step{.call = wait.call, .name = wait.branch.name, .attempts = attempts};
    if (!ran.failed) {
        step.result.text = std::move(ran.bytes);
        try {
            return writer_.record(step, options.repeatable);
        } catch (const Error& e) {
            // What can't be written can't be had by trying again.
            ran = {.bytes = "", .error = e.what(), .failed = true, .permanent = true};
            step.result.text = "null";
        }
    }
    if (ran.permanent || attempts >= options.attempts) {
        step.error = std::move(ran.error);
        step.permanent = ran.permanent;
        return writer_.record(step);
    }
    const Policy policy{.base = options.base, .cap = options.cap, .jitter = options.jitter};
    writer_.record(records::AttemptFailed{
        .call = wait.call,
        .name = wait.branch.name,
        .attempt = attempts,
        .error = std::move(ran.error),
        .retry_at = parts_.store.now() + base::backoff(policy, attempts, parts_.random)});
}

void RunExecution::run_ready(Waits& waits, detail::Gathering how, std::size_t at_once) {
    std::vector<std::size_t> ready;
    for (std::size_t at = 0; at < waits.size(); ++at) {
        if (waits[at].state != Waiting::State::ready) continue;
        ready.push_back(at);
        waits[at].stop = std::stop_source{};
    }
    begin_anew();
    make_durable();
    if (waits[ready.front()].branch.transaction) return run_transaction(waits[ready.front()]);
    if (how == detail::Gathering::any && waits.size() > 1) return run_until_first(waits, ready);
    if (ready.size() == 1) {
        auto& wait = waits[ready.front()];
        const auto* recorded = writer_.journal().find(wait.call);
        in_body_ = &wait.branch.name;
        auto ran = run_body(wait, recorded ? recorded->attempts : 0);
        in_body_ = nullptr;
        return conclude(wait, std::move(ran));
    }
    run_together(waits, ready, at_once);
}

// Whoever is free takes the next one; this thread too, so that they end even if nobody else is.
void RunExecution::run_together(Waits& waits, const std::vector<std::size_t>& ready,
                                std::size_t at_once) {
    struct Shared {
        std::mutex mutex;
        std::size_t next = 0;
        std::size_t helpers = 0;
        std::vector<std::pair<std::size_t, Ran>> done;
        base::Latch changed;
    };
    const auto shared = std::make_shared<Shared>();
    std::vector<int> attempts;
    for (const auto at : ready) {
        const auto* recorded = writer_.journal().find(waits[at].call);
        attempts.push_back(recorded ? recorded->attempts : 0);
    }
    const auto work = [&, shared] {
        for (;;) {
            std::size_t turn = 0;
            {
                const std::lock_guard lock{shared->mutex};
                if (shared->next == ready.size()) return;
                turn = shared->next++;
            }
            auto ran = run_body(waits[ready[turn]], attempts[turn]);
            const std::lock_guard lock{shared->mutex};
            shared->done.emplace_back(ready[turn], std::move(ran));
            shared->changed.set();
        }
    };
    const auto most = at_once == 0 ? ready.size() : std::min(at_once, ready.size());
    for (std::size_t helper = 1; helper < most; ++helper) {
        {
            const std::lock_guard lock{shared->mutex};
            ++shared->helpers;
        }
        const bool helped = parts_.surroundings.run_beside([shared, work] {
            work();
            const std::lock_guard lock{shared->mutex};
            --shared->helpers;
            shared->changed.set();
        });
        if (helped) continue;
        const std::lock_guard lock{shared->mutex};
        --shared->helpers;
        break;
    }
    in_body_ = &waits[ready.front()].branch.name;
    work();
    in_body_ = nullptr;
    std::exception_ptr failure;  // kept until everybody has returned
    for (;;) {
        std::vector<std::pair<std::size_t, Ran>> done;
        bool over = false;
        {
            const std::lock_guard lock{shared->mutex};
            done.swap(shared->done);
            over = shared->helpers == 0;
        }
        try {
            for (auto& [at, ran] : done) conclude(waits[at], std::move(ran));
            // What is done is recorded while the others go on: a crash repeats only those.
            if (!over && !done.empty() && writer_.hold() == RunWriter::Written::lost) lose();
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        if (over && done.empty()) break;
        if (!over) shared->changed.wait_for(base::for_ever);
    }
    if (failure) std::rethrow_exception(failure);
}

// `any`: all of them beside this thread, which waits for the first, for a timer, or for mail. The
// others are asked to stop and waited for.
void RunExecution::run_until_first(Waits& waits, const std::vector<std::size_t>& ready) {
    struct Shared {
        std::mutex mutex;
        std::size_t running = 0;
        std::vector<std::pair<std::size_t, Ran>> done;
        base::Latch changed;
    };
    const auto shared = std::make_shared<Shared>();
    for (const auto at : ready) {
        const auto* recorded = writer_.journal().find(waits[at].call);
        const int attempts = recorded ? recorded->attempts : 0;
        {
            const std::lock_guard lock{shared->mutex};
            ++shared->running;
        }
        Task body = [this, &waits, at, attempts, shared] {
            auto ran = run_body(waits[at], attempts);
            const std::lock_guard lock{shared->mutex};
            shared->done.emplace_back(at, std::move(ran));
            --shared->running;
            shared->changed.set();
        };
        if (parts_.surroundings.run_beside(std::move(body))) continue;
        // There are no threads: one after the other, and the first that ends is it.
        in_body_ = &waits[at].branch.name;
        auto ran = run_body(waits[at], attempts);
        in_body_ = nullptr;
        const std::lock_guard lock{shared->mutex};
        --shared->running;
        const bool ends = !ran.failed;
        shared->done.emplace_back(at, std::move(ran));
        if (ends) break;
    }
    bool stopping = false;
    std::exception_ptr failure;  // kept until everybody has returned
    for (;;) {
        std::vector<std::pair<std::size_t, Ran>> done;
        std::size_t running = 0;
        {
            const std::lock_guard lock{shared->mutex};
            done.swap(shared->done);
            running = shared->running;
        }
        try {
            for (auto& [at, ran] : done) {
                // Too late: another was first, or it was asked to stop and did.
                if (writer_.journal().winner(waits.front().call) || (stopping && ran.failed))
                    continue;
                conclude(waits[at], std::move(ran));
                // The first is it, whatever else ends before the others have stopped.
                if (waits.size() > 1 && writer_.journal().find(waits[at].call)->ended)
                    end_any(waits, at);
            }
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        if (running == 0) break;
        if (!stopping && is_over(waits, ready)) {
            stopping = true;
            for (const auto at : ready) waits[at].stop.request_stop();
        }
        shared->changed.wait_for(look_at_mail);
    }
    if (failure) std::rethrow_exception(failure);
}

// Whether a branch has ended, by a body, by time or by mail, or all are to stop.
bool RunExecution::is_over(Waits& waits, const std::vector<std::size_t>& running) try {
    if (writer_.journal().winner(waits.front().call)) return true;
    const Time now = parts_.store.now();
    const bool mail = std::ranges::any_of(waits, [](const Waiting& wait) {
        return wait.branch.kind == detail::Branch::Kind::wait ||
               wait.branch.kind == detail::Branch::Kind::call;
    });
    if (mail) writer_.read_mail();
    if (writer_.journal().cancel_requested() || parts_.surroundings.is_stopping()) return true;
    for (std::size_t at = 0; at < waits.size(); ++at) {
        if (std::ranges::count(running, at) > 0) continue;
        look_at(waits[at], now);
        if (waits[at].state != Waiting::State::ended) continue;
        end_any(waits, at);
        return true;
    }
    return false;
} catch (...) {
    return true;  // it comes again when the bodies have returned
}

}  // namespace pawl::engine
