#include "engine/run_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/text.hpp"

namespace pawl::engine {
namespace {

using Kind = RecordedCall::Kind;

// The same numbers from the same seed, for ever: they are part of what a replay repeats.
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

std::uint64_t half_of(const Uuid& id, std::size_t from) {
    std::uint64_t half = 0;
    for (std::size_t i = from; i < from + 8; ++i) half = half << 8 | id.bytes[i];
    return half;
}

}  // namespace

RunExecution::RunExecution(Parts parts, RunWriter& writer, const store::Item& item)
    : parts_(std::move(parts)), writer_(writer), item_(item) {}

void RunExecution::unwind(Flow flow) {
    flow_ = flow;
    if (flow == Flow::cancelled) throw Cancelled{writer_.journal().cancel_reason()};
    throw Unwinding{};
}

void RunExecution::lose(std::string why) {
    failure_ = std::move(why);
    unwind(Flow::lost);
}

void RunExecution::fail_mismatch(const std::string& what) {
    mismatch_ = fmt::format(
        "run \"{}\" of \"{}\": the journal does not fit the code: {}; run it with the code that "
        "wrote it, or tell the two apart with Context::version",
        item_.instance.id, item_.instance.type, what);
    unwind(Flow::mismatched);
}

void RunExecution::enter() {
    if (!thread_.is_here())
        throw Error{Code::misuse,
                    fmt::format("run \"{}\": its context is used by another thread than the "
                                "function's, perhaps in the body of a step",
                                item_.instance.id)};
    if (in_body_)
        throw Error{Code::misuse, fmt::format("run \"{}\": its context is used in the body of step "
                                              "\"{}\"; do that between steps",
                                              item_.instance.id, *in_body_)};
    if (flow_ != Flow::running) unwind(flow_);
}

int RunExecution::next_call(Kind kind, std::string_view name, std::string_view child) {
    check_recorded(++calls_, kind, name, child);
    return calls_;
}

// What a restarted run was given of the old one are results of children that may be named after it.
bool RunExecution::is_child(const RecordedCall& recorded, std::string_view child) const {
    const bool restarted = !writer_.journal().started().restarted_from.empty();
    return recorded.child == child || (restarted && recorded.ended);
}

void RunExecution::check_recorded(int call, Kind kind, std::string_view name,
                                  std::string_view child) {
    const auto* recorded = writer_.journal().find(call);
    if (!recorded || (recorded->kind == kind && recorded->name == name &&
                      (kind != Kind::child || is_child(*recorded, child))))
        return;
    const auto shown = [](Kind k, std::string_view n, std::string_view id) {
        if (k == Kind::child) return fmt::format("child \"{}\" of \"{}\"", id, n);
        return n.empty() ? fmt::format("a {}", engine::name(k))
                         : fmt::format("{} \"{}\"", engine::name(k), n);
    };
    fail_mismatch(fmt::format("call {} is {}, recorded is {}", call, shown(kind, name, child),
                              shown(recorded->kind, recorded->name, recorded->child)));
}

void RunExecution::check_end() {
    const auto& journal = writer_.journal();
    if (calls_ >= journal.last_call()) return;
    for (int call = calls_ + 1; call <= journal.last_call(); ++call)
        if (const auto* recorded = journal.find(call))
            fail_mismatch(
                fmt::format("the function ended after {} calls, recorded is also {} "
                            "\"{}\" as call {}",
                            calls_, engine::name(recorded->kind), recorded->name, call));
}

// Before anything is done that the journal does not hold.
void RunExecution::begin_anew() {
    const auto& journal = writer_.journal();
    if (parts_.replay_only) unwind(Flow::suspended);
    if (compensating_) return;
    // It came to its end here before: what is left is to undo it.
    if (journal.compensating()) unwind(Flow::undoing);
    boundary();
}

// Before anything that others would see. Without asking the store: a process that was stopped finds
// out here that somebody else may have the run by now.
void RunExecution::check_held() {
    if (!parts_.is_held()) lose();
}

// Where a run can be cancelled, paused, or given back because the engine stops.
void RunExecution::boundary() {
    // Somebody else could begin them anew before they have returned. There is a boundary behind it.
    if (bodies_run_) return;
    const auto& journal = writer_.journal();
    if (journal.cancel_requested() && !compensating_) unwind(Flow::cancelled);
    while (journal.paused() && !(journal.cancel_requested() && !compensating_)) {
        const auto written = writer_.suspend({}, RunStatus::paused);
        if (written != RunWriter::Written::mail) leave(written);
    }
    if (journal.cancel_requested() && !compensating_) unwind(Flow::cancelled);
    if (!parts_.surroundings.is_stopping(parts_.is_lent) && !parts_.stop.stop_requested()) return;
    const auto written = writer_.suspend({.at = parts_.store.now()}, RunStatus::running);
    if (written == RunWriter::Written::mail) return boundary();
    leave(written);
}

// It is suspended, or could not be.
void RunExecution::leave(RunWriter::Written written) {
    if (written == RunWriter::Written::lost) lose();
    unwind(Flow::suspended);
}

// What is recorded so far must not be lost once something new begins.
void RunExecution::make_durable() {
    if (writer_.must_write() && writer_.hold() == RunWriter::Written::lost) lose();
    boundary();
}

void RunExecution::spawn(std::string_view type, std::string_view id, std::string input) {
    guarded([&] { spawn_once(type, id, std::move(input)); });
}

void RunExecution::spawn_once(std::string_view type, std::string_view id, std::string input) {
    enter();
    base::check_id("id of a child", std::string{id});
    const int call = next_call(Kind::child, type, id);
    const auto* recorded = writer_.journal().find(call);
    if (recorded && recorded->started) return;
    begin_anew();
    if (!recorded)
        writer_.record(records::Child{
            .call = call, .type = std::string{type}, .id = std::string{id}, .waited_for = false});
    make_durable();
    start_children({{.type = std::string{type}, .id = std::string{id}, .input = std::move(input)}});
    writer_.record(records::ChildrenStarted{.first = call, .last = call}, true);
}

// A process that has lost the run must not start children: whoever ends the run would not know
// them.
void RunExecution::start_children(std::vector<RunSurroundings::NewChild> children) {
    check_held();
    if (!parts_.surroundings.start_children(item_, writer_.claim(), std::move(children))) lose();
}

void RunExecution::cancel_child(const RecordedCall& child, const std::string& reason) {
    check_held();
    if (!parts_.surroundings.cancel_child(writer_.claim(), {child.name, child.child}, reason))
        lose();
}

void RunExecution::set_value(std::string_view key, std::string value) {
    guarded([&] { set_value_once(key, std::move(value)); });
}

void RunExecution::set_value_once(std::string_view key, std::string value) {
    enter();
    base::check_id("key of a value", std::string{key});
    const int call = next_call(Kind::value, key);
    if (writer_.journal().find(call)) return;
    begin_anew();
    make_durable();
    writer_.record(
        records::Value{.call = call, .key = std::string{key}, .value = {std::move(value)}});
    make_durable();
    parts_.surroundings.journal_has_grown(item_.instance);
}

Time RunExecution::now() {
    enter();
    const int call = next_call(Kind::now, "");
    if (const auto* recorded = writer_.journal().find(call)) return recorded->at;
    guarded([&] {
        begin_anew();
        writer_.record(records::Now{.call = call, .at = parts_.store.now()});
    });
    return writer_.journal().find(call)->at;
}

std::uint64_t RunExecution::random() {
    enter();
    const auto& seed = writer_.journal().started().seed;
    return mixed(half_of(seed, 0) ^ mixed(half_of(seed, 8) + ++randoms_));
}

Uuid RunExecution::uuid() {
    Uuid id;
    for (std::size_t half = 0; half < 2; ++half) {
        const auto bits = random();
        for (std::size_t i = 0; i < 8; ++i)
            id.bytes[half * 8 + i] = static_cast<std::uint8_t>(bits >> (8 * i));
    }
    // Version 4 of the usual variant: there is nothing in it but chance.
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x40);
    id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

int RunExecution::version(std::string_view change, int newest) {
    enter();
    base::check_id("name of a change", std::string{change});
    const auto& journal = writer_.journal();
    const auto* recorded = journal.find(calls_ + 1);
    if (recorded && recorded->kind == Kind::change && recorded->name == change) {
        ++calls_;
        return recorded->version;
    }
    // Something else is recorded from here on: it went past when the change was not there.
    if (calls_ < journal.last_call()) return 0;
    guarded([&] { begin_anew(); });
    writer_.record(
        records::Change{.call = ++calls_, .name = std::string{change}, .version = newest}, true);
    return newest;
}

void RunExecution::compensate(std::string_view name, StepOptions options,
                              std::function<void(const Attempt&)> body) {
    enter();
    base::check_id("name of a compensation", std::string{name});
    undos_.push_back({std::string{name}, options, std::move(body)});
}

void RunExecution::run_compensations(const std::string& status, const std::string& error) {
    flow_ = Flow::running;
    in_body_ = nullptr;
    compensating_ = true;
    writer_.lift_limit();
    if (const auto& before = writer_.journal().compensating()) {
        // A call that was interrupted then may return now: what is registered behind it never was.
        undos_.resize(std::min(undos_.size(), static_cast<std::size_t>(before->undos)));
    } else if (!undos_.empty()) {
        writer_.record(records::Compensating{
            .status = status, .error = error, .undos = static_cast<int>(undos_.size())});
        make_durable();
    }
    for (auto at = undos_.size(); at-- > 0;) {
        auto& undo = undos_[at];
        Waits waits(1);
        waits[0].branch = detail::branch(detail::Branch::Kind::step, undo.name);
        waits[0].branch.options = undo.options;
        waits[0].branch.body = [&undo](const Attempt& attempt) {
            undo.body(attempt);
            return std::string{"null"};
        };
        // Numbered apart: whether there are more calls before them must not matter.
        waits[0].call = -static_cast<int>(at + 1);
        check_recorded(waits[0].call, Kind::step, undo.name);
        run_all(waits, 0);
        if (waits[0].end.error) not_undone_.push_back(undo.name);
    }
}

void RunExecution::cancel_children(const std::string& reason) {
    for (const auto& [call, recorded] : writer_.journal().calls())
        if (recorded.kind == Kind::child && recorded.waited_for && !recorded.ended)
            cancel_child(recorded, reason);
}

}  // namespace pawl::engine
