// The bodies of steps: run on the function's thread or beside it, and what is written of them.
#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "engine/in_code.hpp"
#include "engine/log_records.hpp"
#include "engine/run_execution.hpp"
#include "engine/thrown.hpp"

namespace pawl::engine {
namespace {

namespace points = base::points;

// How often an `any` that waits for a running body looks at its mail.
constexpr Duration look_at_mail = std::chrono::milliseconds{100};
// And how many looks in a row may find that nobody has come to help.
constexpr int most_idle_looks = 3;

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
Ran RunExecution::run_body(Waiting& wait, int attempts) {
    if (!wait.branch.wants_attempt) return call_body(wait, {});
    // What undoes a run is not asked to stop because it was cancelled.
    const auto* run = compensating_ ? nullptr : &item_.instance;
    StopTimers::Watch watch{parts_.stops, run, wait.stop, wait.branch.options};
    const std::stop_callback pass_on{parts_.stop, [&] { wait.stop.request_stop(); }};
    Attempt attempt;
    attempt.key = key_of(wait.branch.name, wait.call);
    attempt.number = attempts + 1;
    attempt.deadline = watch.deadline();
    attempt.stop = wait.stop.get_token();
    attempt.pulse = &watch;
    return call_body(wait, attempt);
}

Ran RunExecution::call_body(const Waiting& wait, const Attempt& attempt) {
    Ran ran;
    base::reach(parts_.at_point, points::step_before);
    // It may have waited for a thread, and the process may have been stopped meanwhile.
    ran.lost = !parts_.is_held();
    if (ran.lost) return ran;
    try {
        const InCode in_step{&parts_.surroundings, item_.instance.id, wait.branch.name};
        ran.bytes = wait.branch.body(attempt);
    } catch (...) {
        const auto failure = thrown();
        ran.failed = true;
        ran.permanent = failure.permanent;
        ran.error = base::readable(failure.error);
    }
    base::reach(parts_.at_point, points::step_after);
    return ran;
}

void RunExecution::conclude(Waiting& wait, Ran ran) {
    if (ran.lost) lose();
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
    records::AttemptFailed failed{.call = wait.call,
                                  .name = wait.branch.name,
                                  .attempt = attempts,
                                  .error = std::move(ran.error)};
    if (ran.permanent || attempts >= options.attempts) {
        log_failed(options, failed, std::nullopt);
        step.error = std::move(failed.error);
        step.permanent = ran.permanent;
        return writer_.record(step);
    }
    const Policy policy{.base = options.base, .cap = options.cap, .jitter = options.jitter};
    const auto pause = base::backoff(policy, attempts, parts_.random);
    failed.retry_at = parts_.store.now() + pause;
    log_failed(options, failed, pause);
    writer_.record(failed);
}

void RunExecution::log_failed(const StepOptions& options, const records::AttemptFailed& failed,
                              std::optional<Duration> pause) {
    auto record = record_of(LogLevel::warning, LogEvent::attempt_failed, item_);
    record.item = failed.name;
    record.attempt = failed.attempt;
    record.error = failed.error;
    if (pause) record.next_at = failed.retry_at;
    record.text = fmt::format("attempt {} of {} at step \"{}\" of {} failed, {}: {}",
                              failed.attempt, options.attempts, failed.name, shown(item_),
                              pause ? "the next one is " + shown_pause(*pause) : "it was the last",
                              failed.error);
    parts_.log.count(std::move(record));
}

void RunExecution::run_ready(Waits& waits, detail::Gathering how, std::size_t at_once) {
    std::vector<std::size_t> ready;
    for (std::size_t at = 0; at < waits.size(); ++at) {
        if (waits[at].state != Waiting::State::ready) continue;
        ready.push_back(at);
        if (waits[at].branch.wants_attempt) waits[at].stop = std::stop_source{};
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

std::shared_ptr<BodyCrew> RunExecution::crew_of(Waits& waits,
                                                const std::vector<std::size_t>& ready) {
    std::vector<int> attempts;
    for (const auto at : ready) {
        const auto* recorded = writer_.journal().find(waits[at].call);
        attempts.push_back(recorded ? recorded->attempts : 0);
    }
    return std::make_shared<BodyCrew>(
        ready.size(), [this, &waits, ready, attempts = std::move(attempts)](std::size_t turn) {
            return run_body(waits[ready[turn]], attempts[turn]);
        });
}

// This thread works too, so that they end even if nobody else is free.
void RunExecution::run_together(Waits& waits, const std::vector<std::size_t>& ready,
                                std::size_t at_once) {
    const auto crew = crew_of(waits, ready);
    const auto most = at_once == 0 ? ready.size() : std::min(at_once, ready.size());
    for (std::size_t helper = 1; helper < most; ++helper)
        if (!parts_.surroundings.run_beside([crew] { crew->work(); })) break;
    in_body_ = &waits[ready.front()].branch.name;
    crew->work();
    in_body_ = nullptr;
    std::exception_ptr failure;  // kept until everybody has returned
    for (;;) {
        auto news = crew->news();
        try {
            for (auto& [turn, ran] : news.done) conclude(waits[ready[turn]], std::move(ran));
            // What is done is recorded while the others go on: a crash repeats only those.
            if (!news.over && !news.done.empty() && writer_.hold() == RunWriter::Written::lost)
                lose();
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        if (news.over) break;
        crew->wait_for(base::for_ever);
    }
    if (failure) std::rethrow_exception(failure);
}

// `any`: all of them beside this thread, which waits for the first, for a timer, or for mail. The
// others are asked to stop and waited for.
void RunExecution::run_until_first(Waits& waits, const std::vector<std::size_t>& ready) {
    const auto crew = crew_of(waits, ready);
    bool beside = true;
    for (std::size_t helper = 0; beside && helper < ready.size(); ++helper)
        beside = parts_.surroundings.run_beside([crew] { crew->work(); });
    bool stopping = false;
    int idle_looks = 0;
    bodies_run_ = true;
    std::exception_ptr failure;  // kept until everybody has returned
    for (;;) {
        bool worked = false;
        if (!beside && !stopping) {
            // There are no threads: one after the other, and the first that ends is it.
            in_body_ = &waits[ready.front()].branch.name;
            worked = crew->work_once();
            in_body_ = nullptr;
        }
        auto news = crew->news();
        try {
            for (auto& [turn, ran] : news.done) {
                auto& wait = waits[ready[turn]];
                // Too late: another was first, or it was asked to stop and did.
                if (writer_.journal().winner(waits.front().call) || (stopping && ran.failed))
                    continue;
                conclude(wait, std::move(ran));
                // The first is it, whatever else ends before the others have stopped.
                if (writer_.journal().find(wait.call)->ended) end_any(waits, ready[turn]);
            }
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        if (news.over) break;
        if (!stopping && (failure || is_over(waits, ready))) {
            stopping = true;
            crew->close();
            for (const auto at : ready) waits[at].stop.request_stop();
            continue;
        }
        if (worked) continue;
        crew->wait_for(look_at_mail);
        // This may be the only thread that the executor has.
        idle_looks = crew->is_idle() ? idle_looks + 1 : 0;
        if (idle_looks >= most_idle_looks) beside = false;
    }
    bodies_run_ = false;
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
    if (writer_.journal().cancel_requested() || parts_.surroundings.is_stopping(parts_.is_lent))
        return true;
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
