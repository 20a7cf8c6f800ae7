// Callers who wait for runs, and who may.
#include <fmt/format.h>

#include <pawl/error.hpp>

#include "engine/in_code.hpp"
#include "engine/in_transaction.hpp"
#include "engine/run_start.hpp"

namespace pawl::engine {
namespace {

thread_local const InCode* innermost = nullptr;

}  // namespace

InCode::InCode(const RunSurroundings* engine, std::string_view run, std::string_view step)
    : engine_(engine), run_(run), step_(step), outer_(innermost) {
    innermost = this;
}

InCode::~InCode() { innermost = outer_; }

const InCode* InCode::here(const RunSurroundings* engine) {
    for (const auto* one = innermost; one; one = one->outer_)
        if (one->engine_ == engine) return one;
    return nullptr;
}

// As many runs as there are threads would stop all of them for good.
void Runs::check_may_wait(const store::InstanceName& run) const {
    const auto* code = InCode::here(this);
    if (!code) return;
    const auto where = code->step().empty()
                           ? fmt::format("run \"{}\"", code->run())
                           : fmt::format("step \"{}\" of run \"{}\"", code->step(), code->run());
    throw Error{Code::misuse,
                fmt::format("{} waits for run \"{}\" of \"{}\": that would hold a thread which the "
                            "other may need; call it as a child (Context::call), or look without "
                            "waiting",
                            where, run.id, run.type)};
}

std::optional<records::Finished> Runs::wait(const store::InstanceName& run, Duration timeout) {
    RunWaiters::Seat seat{waiters_, run};
    if (timeout <= Duration::zero()) return seat.wait(timeout);
    check_not_in_transaction(parts_.store, "waiting for a run");
    check_may_wait(run);
    if (waiters_.life() != RunWaiters::Life::idle) return seat.wait(timeout);
    if (auto finished = seat.wait(Duration::zero())) return finished;
    const auto* function = functions_.find(run.type);
    if (timeout >= base::for_ever && function && function->model && options_.executes)
        throw Error{Code::misuse,
                    fmt::format("run \"{}\" of \"{}\" has not ended, and would be awaited without "
                                "end in an engine that has its function and was not started: call "
                                "Engine::start, or wait with a timeout",
                                run.id, run.type)};
    options_.attend();
    return seat.wait(timeout);
}

records::Finished Runs::start_and_wait(Starting starting) {
    const auto keep = options_.keep_alive ? options_.keep_alive() : nullptr;
    const store::InstanceName run{starting.function->name, starting.id};
    check_may_wait(run);
    const bool is_idle = waiters_.life() == RunWaiters::Life::idle;
    const base::Countdown countdown{starting.timeout};
    if (is_idle) options_.keep_lease();
    RunWaiters::Seat seat{waiters_, run};
    const auto start = std::make_shared<Start>();
    start->lends = is_idle || (has_threads_ && !options_.executor);
    start_one(std::move(starting), start);
    if (start->lent)
        parts_.threads.run_here([&] {
            base::Slot none{nullptr};
            perform(start->lent, none);
        });
    if (is_idle) {
        if (auto finished = seat.wait(Duration::zero())) return std::move(*finished);
        options_.attend();
    }
    for (;;) {
        const auto patience = is_idle ? countdown.left() : base::for_ever;
        if (auto finished = seat.wait(patience)) return std::move(*finished);
        if (is_idle && countdown.left() == Duration::zero())
            throw Error{Code::unavailable,
                        fmt::format("run \"{}\" of \"{}\" waits, and did not end in time "
                                    "(StartOptions::timeout): this engine was not started, so it "
                                    "goes on in another process, or after Engine::start",
                                    run.id, run.type)};
    }
}

}  // namespace pawl::engine
