// What a function waits for: one branch or many, each recorded for itself.
#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/text.hpp"
#include "base/waits.hpp"
#include "engine/run_execution.hpp"

namespace pawl::engine {
namespace {

using Kind = RecordedCall::Kind;
using Branch = detail::Branch;

Kind kind_of(Branch::Kind kind) {
    switch (kind) {
        case Branch::Kind::step:
            return Kind::step;
        case Branch::Kind::sleep:
            return Kind::sleep;
        case Branch::Kind::wait:
            return Kind::wait;
        case Branch::Kind::call:
            return Kind::child;
    }
    return Kind::none;
}

void check(const Branch& branch) {
    if (branch.kind == Branch::Kind::step) base::check_id("name of a step", branch.name);
    if (branch.kind == Branch::Kind::wait) base::check_id("name of a signal", branch.name);
    if (branch.kind == Branch::Kind::call) base::check_id("id of a child", branch.child);
}

}  // namespace

detail::Gathered RunExecution::gather(std::vector<Branch> branches, detail::Gathering how,
                                      std::size_t at_once) {
    return guarded([&] { return gather_once(std::move(branches), how, at_once); });
}

detail::Gathered RunExecution::gather_once(std::vector<Branch> branches, detail::Gathering how,
                                           std::size_t at_once) {
    enter();
    Waits waits;
    waits.reserve(branches.size());
    for (auto& branch : branches) {
        check(branch);
        auto& wait = waits.emplace_back();
        wait.call = next_call(kind_of(branch.kind), branch.name, branch.child);
        wait.branch = std::move(branch);
    }
    if (how == detail::Gathering::any) return run_any(waits);
    run_all(waits, at_once);
    return gathered(waits);
}

detail::Gathered RunExecution::gathered(Waits& waits) {
    detail::Gathered out;
    out.ends.reserve(waits.size());
    for (auto& wait : waits) out.ends.push_back(std::move(wait.end));
    return out;
}

void RunExecution::look_at(Waiting& wait, Time now) {
    if (wait.state == Waiting::State::ended) return;
    const auto* recorded = writer_.journal().find(wait.call);
    wait.due.reset();
    switch (wait.branch.kind) {
        case Branch::Kind::step:
            return look_at_step(wait, recorded, now);
        case Branch::Kind::sleep:
            return look_at_sleep(wait, recorded, now);
        case Branch::Kind::wait:
            return look_at_wait(wait, recorded, now);
        case Branch::Kind::call:
            return look_at_call(wait, recorded);
    }
}

void RunExecution::look_at_step(Waiting& wait, const RecordedCall* recorded, Time now) {
    wait.state = Waiting::State::ready;
    if (!recorded) return;
    if (recorded->ended) {
        wait.state = Waiting::State::ended;
        wait.end.ended = true;
        wait.end.bytes = recorded->result;
        if (recorded->error)
            wait.end.error = std::make_exception_ptr(StepFailed{
                wait.branch.name, recorded->attempts, *recorded->error, recorded->permanent});
    } else if (recorded->due && *recorded->due > now) {
        wait.state = Waiting::State::waiting;
        wait.due = recorded->due;
    }
}

void RunExecution::look_at_sleep(Waiting& wait, const RecordedCall* recorded, Time now) {
    if (!recorded) {
        begin_anew();
        const Time until =
            wait.branch.until.value_or(now + base::at_most_for_ever(wait.branch.length));
        writer_.record(records::Timer{.call = wait.call, .name = "", .until = until});
        recorded = writer_.journal().find(wait.call);
    }
    wait.due = recorded->due;
    wait.state = *recorded->due <= now ? Waiting::State::ended : Waiting::State::waiting;
    wait.end.ended = wait.state == Waiting::State::ended;
}

void RunExecution::look_at_wait(Waiting& wait, const RecordedCall* recorded, Time now) {
    const auto& name = wait.branch.name;
    const auto& journal = writer_.journal();
    if (!recorded || !recorded->ended) {
        const int next = journal.received(name) + 1;
        const auto& timeout = wait.branch.timeout;
        if (journal.signal(name, next)) {
            begin_anew();
            writer_.record(records::Received{.call = wait.call, .name = name, .signal = next});
        } else if (timeout && !recorded) {
            begin_anew();
            writer_.record(records::Timer{
                .call = wait.call, .name = name, .until = now + base::at_most_for_ever(*timeout)});
        }
        recorded = journal.find(wait.call);
        if (recorded && !recorded->ended && recorded->due && *recorded->due <= now) {
            begin_anew();
            writer_.record(records::Received{.call = wait.call, .name = name, .signal = 0});
        }
    }
    wait.state = Waiting::State::waiting;
    if (!recorded) return;
    wait.due = recorded->due;
    if (!recorded->ended) return;
    wait.state = Waiting::State::ended;
    wait.end.ended = true;
    wait.end.signal = name;
    wait.end.timed_out = recorded->signal == 0;
    if (wait.end.timed_out && !wait.branch.timeout)
        fail_mismatch(
            fmt::format("the function waits for signal \"{}\" without a timeout, recorded "
                        "is a wait that timed out, as call {}",
                        name, wait.call));
    if (const auto* value = journal.signal(name, recorded->signal)) wait.end.bytes = *value;
}

void RunExecution::look_at_call(Waiting& wait, const RecordedCall* recorded) {
    if (!recorded || (!recorded->started && !recorded->ended)) {
        wait.state = Waiting::State::unstarted;
        return;
    }
    wait.state = recorded->ended ? Waiting::State::ended : Waiting::State::waiting;
    if (!recorded->ended) return;
    wait.end.ended = true;
    wait.end.bytes = recorded->result;
    if (recorded->error)
        wait.end.error = std::make_exception_ptr(
            ChildFailed{wait.branch.name, wait.branch.child, recorded->status, *recorded->error});
}

// The children that there is room for: first it is written that they will be, so that whoever
// cancels this run finds them, then they are.
bool RunExecution::start_some(Waits& waits, std::size_t at_once) {
    const auto under_way =
        static_cast<std::size_t>(std::ranges::count_if(waits, [](const Waiting& wait) {
            return wait.branch.kind == Branch::Kind::call && wait.state == Waiting::State::waiting;
        }));
    std::size_t room = at_once == 0 ? waits.size() : at_once - std::min(under_way, at_once);
    // Few at a time would wake this run for each of them.
    if (at_once > 0 && under_way > 0 && room < (at_once + 1) / 2) return false;
    std::vector<RunSurroundings::NewChild> children;
    for (auto& wait : waits) {
        if (wait.state != Waiting::State::unstarted || room == 0) continue;
        if (children.empty()) begin_anew();
        --room;
        if (!writer_.journal().find(wait.call))
            writer_.record(records::Child{.call = wait.call,
                                          .type = wait.branch.name,
                                          .id = wait.branch.child,
                                          .waited_for = true});
        children.push_back({wait.branch.name, wait.branch.child, wait.branch.input, wait.call});
    }
    if (children.empty()) return false;
    make_durable();
    const int first = children.front().call;
    const int last = children.back().call;
    start_children(std::move(children));
    writer_.record(records::ChildrenStarted{.first = first, .last = last}, true);
    return true;
}

void RunExecution::suspend_until(const Waits& waits, detail::Gathering how, std::size_t at_once) {
    store::Wake wake;
    std::int64_t children = 0;
    bool signals = false;
    bool retries = false;
    for (const auto& wait : waits) {
        if (wait.state != Waiting::State::waiting) continue;
        retries = retries || wait.branch.kind == Branch::Kind::step;
        if (wait.due) wake.at = std::min(wake.at.value_or(*wait.due), *wait.due);
        children += wait.branch.kind == Branch::Kind::call ? 1 : 0;
        signals = signals || wait.branch.kind == Branch::Kind::wait;
    }
    // Not woken for each child: a failed one is urgent, and so is a signal.
    if (children > 0 && !signals && how == detail::Gathering::all) {
        const auto portion = static_cast<std::int64_t>((at_once + 1) / 2);
        wake.mail = at_once > 0 ? std::min(children, std::max<std::int64_t>(portion, 1)) : children;
    }
    const auto written = writer_.suspend(wake, retries ? RunStatus::retrying : RunStatus::waiting);
    if (written == RunWriter::Written::mail) return;
    leave(written);
}

void RunExecution::run_all(Waits& waits, std::size_t at_once) {
    for (;;) {
        const Time now = parts_.store.now();
        for (auto& wait : waits) look_at(wait, now);
        const auto in = [&](Waiting::State state) {
            return std::ranges::any_of(waits, [&](const Waiting& w) { return w.state == state; });
        };
        if (!in(Waiting::State::ready) && !in(Waiting::State::unstarted) &&
            !in(Waiting::State::waiting))
            return;
        if (start_some(waits, at_once)) continue;
        if (in(Waiting::State::ready)) {
            run_ready(waits, detail::Gathering::all, at_once);
            continue;
        }
        begin_anew();
        suspend_until(waits, detail::Gathering::all, at_once);
    }
}

detail::Gathered RunExecution::run_any(Waits& waits) {
    if (waits.empty())
        throw Error{Code::invalid, fmt::format("run \"{}\": any of nothing", item_.instance.id)};
    const int call = waits.front().call;
    for (;;) {
        const Time now = parts_.store.now();
        if (const auto recorded = writer_.journal().winner(call)) {
            auto& first = waits.at(static_cast<std::size_t>(*recorded));
            look_at(first, now);
            cancel_losers(waits);
            auto out = gathered(waits);
            out.first = static_cast<std::size_t>(*recorded);
            return out;
        }
        // One after the other: a signal is not taken for a branch that can't be the first any more.
        for (std::size_t at = 0; at < waits.size(); ++at) {
            look_at(waits[at], now);
            if (waits[at].state != Waiting::State::ended) continue;
            end_any(waits, at);
            break;
        }
        if (writer_.journal().winner(call)) continue;
        if (start_some(waits, 0)) continue;
        if (std::ranges::any_of(waits,
                                [](const auto& w) { return w.state == Waiting::State::ready; })) {
            run_ready(waits, detail::Gathering::any, 0);
            continue;
        }
        begin_anew();
        suspend_until(waits, detail::Gathering::any, 0);
    }
}

// The winner is an entry of its own: what else may have ended meanwhile does not count any more.
void RunExecution::end_any(Waits& waits, std::size_t first) {
    begin_anew();
    writer_.record(records::Won{.call = waits.front().call,
                                .branch = static_cast<int>(first),
                                .branches = static_cast<int>(waits.size())});
    cancel_losers(waits);
}

// The winner is durable before a child is cancelled: else that child's end could be the first after
// a crash. A crash before they are, or a store that can't be reached, leaves it to the next
// execution; one too many changes nothing.
void RunExecution::cancel_losers(const Waits& waits) {
    const int call = waits.front().call;
    const auto& journal = writer_.journal();
    if (parts_.replay_only || journal.losers_cancelled(call)) return;
    std::vector<const RecordedCall*> under_way;
    for (const auto& wait : waits) {
        if (wait.branch.kind != Branch::Kind::call) continue;
        // Also one that is not known to be there: it may have been started before a crash.
        if (const auto* recorded = journal.find(wait.call); recorded && !recorded->ended)
            under_way.push_back(recorded);
    }
    if (under_way.empty()) return;
    if (writer_.hold() == RunWriter::Written::lost) lose();
    for (const auto* child : under_way) cancel_child(*child, "another branch was first");
    writer_.record(records::LosersCancelled{.call = call}, true);
}

}  // namespace pawl::engine
