// Handles to runs, as the user has them: asked of the engine, and of the store.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pawl/engine.hpp>
#include <pawl/error.hpp>
#include <pawl/function.hpp>

#include "base/text.hpp"
#include "engine/check_options.hpp"
#include "engine/core.hpp"
#include "engine/impl.hpp"
#include "engine/replaying.hpp"
#include "engine/run_summaries.hpp"

namespace pawl::inline v0 {

using namespace engine;

namespace {

// A run has failed by itself; it was cancelled by somebody.
const char* verb(std::string_view status) {
    return status == engine::name(RunStatus::cancelled) ||
                   status == engine::name(RunStatus::terminated)
               ? "was"
               : "has";
}

}  // namespace

void Attempt::beat() const {
    if (pulse) pulse->beat();
}

StepFailed::StepFailed(std::string step, int attempts, std::string reason, bool permanent)
    : std::runtime_error(fmt::format("step \"{}\" failed after {} attempt{}: {}", step, attempts,
                                     attempts == 1 ? "" : "s", reason)),
      step_(std::move(step)),
      reason_(std::move(reason)),
      attempts_(attempts),
      permanent_(permanent) {}

ChildFailed::ChildFailed(std::string type, std::string id, std::string status, std::string reason)
    : std::runtime_error(
          fmt::format("child \"{}\" of \"{}\" {} {}: {}", id, type, verb(status), status, reason)),
      type_(std::move(type)),
      id_(std::move(id)),
      status_(std::move(status)),
      reason_(std::move(reason)) {}

Cancelled::Cancelled(const std::string& reason)
    : std::runtime_error(reason.empty() ? "cancelled" : "cancelled: " + reason) {}

RunFailed::RunFailed(RunStatus status, std::string id, const std::string& reason)
    : std::runtime_error(fmt::format("run \"{}\" {} {}{}", id, verb(engine::name(status)),
                                     engine::name(status), reason.empty() ? "" : ": " + reason)),
      status_(status),
      id_(std::move(id)),
      reason_(reason) {}

namespace detail {

void fail_signal(const BranchEnd& end, const Error& why) {
    if (end.bytes == "null")
        throw Error{why.code(), fmt::format("signal \"{}\" came without a value, and the function "
                                            "waits for one: send a value, or use wait<void>; {}",
                                            end.signal, why.what())};
    throw Error{why.code(), fmt::format("signal \"{}\": the function can't read its value: {}",
                                        end.signal, why.what())};
}
namespace {

RunStatus status_of(const std::string& name) {
    for (const auto status :
         {RunStatus::succeeded, RunStatus::failed, RunStatus::cancelled, RunStatus::terminated})
        if (name == engine::name(status)) return status;
    return RunStatus::failed;
}

[[noreturn]] void fail_unknown(const std::string& type, const std::string& id) {
    throw Error{Code::unknown,
                fmt::format("there is no run \"{}\" of \"{}\", or it has ended", id, type)};
}

std::string result_of(const records::Finished& finished, const std::string& id) {
    if (finished.status == records::succeeded) return finished.result.text;
    throw RunFailed{status_of(finished.status), id, finished.error};
}

Runs::Starting starting(const Core& core, RunHandle::Start& start) {
    auto& o = start.options;
    base::check_optional_id("correlation", o.correlation);
    base::check_optional_id("conversation", o.conversation);
    base::check_optional_id("tenant", o.tenant);
    base::check_optional_id("trace", o.trace);
    check_timeout("StartOptions::timeout", o.timeout);
    Runs::Starting starting;
    starting.function = &core.functions().get(start.type);
    starting.id = start.id;
    starting.input = std::move(start.input);
    starting.envelope.correlation = std::move(o.correlation);
    starting.envelope.conversation = std::move(o.conversation);
    starting.envelope.tenant = std::move(o.tenant);
    starting.envelope.trace = std::move(o.trace);
    starting.timeout = o.timeout;
    return starting;
}

}  // namespace

RunHandle RunHandle::start(Engine& engine, Start start) {
    auto& core = *engine.impl_->core;
    core.runs().start(starting(core, start));
    return {engine, std::string{start.type}, std::string{start.id}};
}

std::string RunHandle::start_and_wait(Engine& engine, Start start) {
    auto& core = *engine.impl_->core;
    return result_of(core.runs().start_and_wait(starting(core, start)), std::string{start.id});
}

RunList RunHandle::list(Engine& engine, const RunQuery& query) {
    auto page = engine.impl_->store().instances(filter_of(query));
    RunList list{.runs = {}, .next = std::move(page.next)};
    for (const auto& row : page.rows) list.runs.push_back(summary_of(row));
    add_errors(engine.impl_->store(), list.runs);
    return list;
}

std::optional<std::string> RunHandle::result(Duration timeout) const {
    const auto finished = engine_->impl_->core->runs().wait({type_, id_}, timeout);
    if (!finished) return std::nullopt;
    return result_of(*finished, id_);
}

void RunHandle::check_executed() const {
    const auto* known = engine_->impl_->core->functions().find(type_);
    if (known && !known->model)
        throw Error{
            Code::misuse,
            fmt::format("run \"{}\" of \"{}\" is driven by the program that opened it: pawl "
                        "can't tell it anything, only terminate it",
                        id_, type_)};
}

void RunHandle::mail(const char* name, std::string bytes) const {
    check_executed();
    if (!engine_->impl_->core->runs().mail({type_, id_}, name, std::move(bytes)))
        fail_unknown(type_, id_);
}

void RunHandle::signal(std::string_view name, std::string value) const {
    base::check_id("name of a signal", std::string{name});
    mail(records::Signal::tag,
         json::encode_enveloped(records::Signal{
             std::string{name}, {std::move(value)}, engine_->impl_->core->fresh_id()}));
}

void RunHandle::cancel(std::string_view reason) const {
    mail(records::CancelRequested::tag,
         json::encode_enveloped(records::CancelRequested{std::string{reason}}));
}

void RunHandle::pause() const { mail(records::Paused::tag, "{}"); }
void RunHandle::resume() const { mail(records::Resumed::tag, "{}"); }

void RunHandle::terminate(std::string_view reason) const {
    if (!engine_->impl_->core->runs().terminate({type_, id_}, std::string{reason}))
        fail_unknown(type_, id_);
}

RunHandle RunHandle::restart_from(std::string_view step, std::string_view new_id) const {
    check_executed();
    auto& core = *engine_->impl_->core;
    core.runs().restart(core.functions().get(type_), id_, std::string{step}, std::string{new_id});
    return {*engine_, type_, std::string{new_id}};
}

RunStatus RunHandle::status() const {
    const store::InstanceName name{type_, id_};
    const auto tail = std::move(engine_->impl_->store().tails({&name, 1}).front());
    if (!tail.row) fail_unknown(type_, id_);
    const auto stored = static_cast<RunStatus>(tail.row->status);
    if (finished(stored)) return stored;
    const auto items = engine_->impl_->store().items(
        {.kind = store::ItemKind::run, .type = type_, .id = id_, .limit = 1});
    if (items.empty()) return stored;
    return shown_status(stored, items.front().session != 0, !items.front().last_error.empty());
}

std::optional<std::string> RunHandle::value(std::string_view key, Duration timeout) const {
    return engine_->impl_->core->runs().value({type_, id_}, std::string{key}, timeout);
}

std::vector<StepSummary> RunHandle::steps() const {
    std::vector<StepSummary> steps;
    std::map<std::pair<int, std::string>, std::size_t> at;  // those acquired by name have no call
    const auto step = [&](int call, const std::string& name) -> StepSummary& {
        const auto [found, added] = at.try_emplace({call, name}, steps.size());
        if (added) steps.push_back({.name = name, .call = call, .result = {}, .finished_at = {}});
        return steps[found->second];
    };
    constexpr std::size_t page = 1000;
    for (std::int64_t after = 0;;) {
        const auto entries = engine_->impl_->store().journal({type_, id_}, after, page);
        for (const auto& entry : entries) {
            const auto& bytes = entry.event.payload.bytes;
            if (entry.event.name == records::AttemptFailed::tag) {
                const auto failed = json::decode_enveloped<records::AttemptFailed>(bytes);
                auto& summary = step(failed.call, failed.name);
                summary.attempts = failed.attempt;
                summary.error = failed.error;
            } else if (entry.event.name == records::Step::tag) {
                auto ended = json::decode_enveloped<records::Step>(bytes);
                auto& summary = step(ended.call, ended.name);
                summary.attempts = ended.attempts;
                summary.finished = true;
                summary.finished_at = entry.at;
                if (ended.error)
                    summary.error = std::move(*ended.error);
                else
                    summary.result = std::move(ended.result.text);
            }
        }
        if (entries.size() < page) return steps;
        after = entries.back().sequence;
    }
}

std::vector<JournalEntry> RunHandle::journal(std::int64_t after, std::size_t limit) const {
    return engine_->journal(type_, id_, after, limit);
}

std::string RunHandle::export_journal() const {
    std::string lines;
    constexpr std::size_t page = 1000;
    for (std::int64_t after = 0;;) {
        const auto entries = engine_->impl_->store().journal({type_, id_}, after, page);
        for (const auto& entry : entries) lines += exported(entry) + '\n';
        if (lines.empty()) fail_unknown(type_, id_);
        if (entries.size() < page) return lines;
        after = entries.back().sequence;
    }
}

}  // namespace detail
}  // namespace pawl::inline v0
