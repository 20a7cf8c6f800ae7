#include "engine/run_journal.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace pawl::engine {
namespace {

using Kind = RecordedCall::Kind;

template <class Record>
Record decoded(const store::Event& event) {
    return json::decode_enveloped<Record>(event.payload.bytes);
}

}  // namespace

const char* name(RecordedCall::Kind kind) {
    switch (kind) {
        case Kind::none:
            return "nothing";
        case Kind::step:
            return "step";
        case Kind::sleep:
            return "sleep";
        case Kind::wait:
            return "wait";
        case Kind::child:
            return "child";
        case Kind::value:
            return "value";
        case Kind::now:
            return "now";
        case Kind::change:
            return "version";
    }
    return "?";
}

RecordedCall& RunJournal::call(int number, RecordedCall::Kind kind, const std::string& name) {
    auto& call = calls_[number];
    if (call.kind == RecordedCall::Kind::none) {
        call.kind = kind;
        call.name = name;
        last_call_ = std::max(last_call_, number);
    }
    return call;
}

const RecordedCall* RunJournal::find(int call) const {
    const auto at = calls_.find(call);
    return at == calls_.end() ? nullptr : &at->second;
}

const std::string* RunJournal::signal(const std::string& name, int number) const {
    const auto at = signals_.find(name);
    if (at == signals_.end() || number < 1 || static_cast<std::size_t>(number) > at->second.size())
        return nullptr;
    return &at->second[static_cast<std::size_t>(number) - 1];
}

int RunJournal::received(const std::string& name) const {
    const auto at = received_.find(name);
    return at == received_.end() ? 0 : at->second;
}

std::optional<int> RunJournal::winner(int call) const {
    const auto at = winners_.find(call);
    return at == winners_.end() ? std::nullopt : std::optional{at->second};
}

const RunJournal::Folds RunJournal::folds_{
    {records::Started::tag,
     [](RunJournal& j, const store::Event& e) { j.started_ = decoded<records::Started>(e); }},
    {records::Step::tag,
     [](RunJournal& j, const store::Event& e) { j.fold_step(decoded<records::Step>(e)); }},
    {records::AttemptFailed::tag,
     [](RunJournal& j, const store::Event& e) {
         auto failed = decoded<records::AttemptFailed>(e);
         auto& call = j.call(failed.call, Kind::step, failed.name);
         call.attempts = failed.attempt;
         call.last_error = std::move(failed.error);
         call.due = failed.retry_at;
     }},
    {records::Timer::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto timer = decoded<records::Timer>(e);
         const bool sleep = timer.name.empty();
         j.call(timer.call, sleep ? Kind::sleep : Kind::wait, timer.name).due = timer.until;
     }},
    {records::Signal::tag,
     [](RunJournal& j, const store::Event& e) {
         auto signal = decoded<records::Signal>(e);
         j.signal_ids_.insert(signal.id);
         j.signals_[signal.name].push_back(std::move(signal.value.text));
     }},
    {records::Received::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto received = decoded<records::Received>(e);
         auto& call = j.call(received.call, Kind::wait, received.name);
         call.ended = true;
         call.signal = received.signal;
         j.received_[received.name] = std::max(j.received_[received.name], received.signal);
     }},
    {records::Child::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto child = decoded<records::Child>(e);
         auto& call = j.call(child.call, Kind::child, child.type);
         call.child = child.id;
         call.waited_for = child.waited_for;
         if (!child.waited_for) call.ended = true;
     }},
    {records::ChildrenStarted::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto started = decoded<records::ChildrenStarted>(e);
         for (int c = started.first; c <= started.last; ++c)
             if (const auto at = j.calls_.find(c); at != j.calls_.end()) at->second.started = true;
     }},
    {records::ChildEnded::tag,
     [](RunJournal& j, const store::Event& e) {
         auto ended = decoded<records::ChildEnded>(e);
         const auto at = j.calls_.find(ended.call);
         if (at == j.calls_.end() || at->second.ended) return;
         auto& call = at->second;
         call.ended = true;
         call.status = std::move(ended.status);
         if (call.status == records::succeeded)
             call.result = std::move(ended.result.text);
         else
             call.error = std::move(ended.error);
     }},
    {records::Won::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto won = decoded<records::Won>(e);
         j.winners_[won.call] = won.branch;
     }},
    {records::LosersCancelled::tag,
     [](RunJournal& j, const store::Event& e) {
         j.losers_cancelled_.insert(decoded<records::LosersCancelled>(e).call);
     }},
    {records::Value::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto value = decoded<records::Value>(e);
         j.call(value.call, Kind::value, value.key).ended = true;
     }},
    {records::Now::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto now = decoded<records::Now>(e);
         auto& call = j.call(now.call, Kind::now, "");
         call.ended = true;
         call.at = now.at;
     }},
    {records::Change::tag,
     [](RunJournal& j, const store::Event& e) {
         const auto change = decoded<records::Change>(e);
         auto& call = j.call(change.call, Kind::change, change.name);
         call.ended = true;
         call.version = change.version;
     }},
    {records::CancelRequested::tag,
     [](RunJournal& j, const store::Event& e) {
         if (!j.cancel_) j.cancel_ = decoded<records::CancelRequested>(e).reason;
         j.paused_ = false;  // it goes on to its end, unless what it undoes is paused
     }},
    {records::Paused::tag, [](RunJournal& j, const store::Event&) { j.paused_ = true; }},
    {records::Resumed::tag, [](RunJournal& j, const store::Event&) { j.paused_ = false; }},
    {records::Compensating::tag,
     [](RunJournal& j, const store::Event& e) {
         j.compensating_ = decoded<records::Compensating>(e);
     }},
    {records::Finished::tag,
     [](RunJournal& j, const store::Event& e) { j.finished_ = decoded<records::Finished>(e); }},
};

void RunJournal::fold_step(records::Step step) {
    auto& call = this->call(step.call, Kind::step, step.name);
    call.ended = true;
    call.attempts = step.attempts;
    call.permanent = step.permanent;
    call.error = std::move(step.error);
    call.due.reset();
    call.result = std::move(step.result.text);
}

void RunJournal::fold(const store::Event& event) {
    if (event.kind != store::EventKind::engine) return;
    if (const auto at = folds_.find(event.name); at != folds_.end()) at->second(*this, event);
}

}  // namespace pawl::engine
