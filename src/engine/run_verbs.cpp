// What is done to runs from outside: told things by mail, ended, restarted, asked for values.
#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/text.hpp"
#include "engine/in_transaction.hpp"
#include "engine/runs.hpp"

namespace pawl::engine {
namespace {

constexpr Duration queue_patience = std::chrono::seconds{30};

// Which call an entry belongs to; 0 for one of the whole run.
struct OfCall {
    int call = 0;
    std::string name;
};

bool is_of_a_call(const std::string& name) {
    for (const auto* tag : {records::Step::tag, records::AttemptFailed::tag, records::Timer::tag,
                            records::Received::tag, records::Child::tag, records::ChildEnded::tag,
                            records::Won::tag, records::LosersCancelled::tag, records::Value::tag,
                            records::Now::tag, records::Change::tag})
        if (name == tag) return true;
    return false;
}

// The calls of an `any` that was decided.
struct Decided {
    int first = 0;
    int last = 0;
    bool contains(int call) const { return first <= call && call <= last; }
};

Decided decided(const store::Event& event) {
    const auto won = json::decode_enveloped<records::Won>(event.payload.bytes);
    return {won.call, won.call + std::max(won.branches, won.branch + 1) - 1};
}

// Where the entries of a run end that another is given to begin with, at most `cut`.
int earlier_cut(const RunJournal& journal, const std::vector<Decided>& all, int cut) {
    const auto any_of = [&](int call) {
        const auto at =
            std::ranges::find_if(all, [&](const auto& any) { return any.contains(call); });
        return at == all.end() ? nullptr : &*at;
    };
    // A branch that is to be done again may be first this time: it is decided anew.
    if (const auto* any = any_of(cut)) cut = any->first;
    // What stood beside it and had not ended would never end: it reports to the old run. Nobody
    // waits for a branch that was not the first.
    for (int call = 1; call < cut; ++call)
        if (const auto* recorded = journal.find(call); recorded && !recorded->ended)
            if (recorded->kind == RecordedCall::Kind::child && !any_of(call)) cut = call;
    return cut;
}

}  // namespace

// A run of this id is there. Unless it is the child that was started before a crash, nobody will
// tell the parent of its end.
void Runs::tell_of_stranger(const store::Item& parent, const NewChild& child) {
    const store::InstanceName name{child.type, child.id};
    const auto first = parts_.store.journal(name, 0, 1);
    const auto started =
        first.empty() ? records::Started{}
                      : json::decode_enveloped<records::Started>(first.front().event.payload.bytes);
    if (started.parent && started.parent->type == parent.instance.type &&
        started.parent->id == parent.instance.id && started.parent->call == child.call)
        return;
    mail(parent.instance, records::ChildEnded::tag,
         json::encode_enveloped(records::ChildEnded{
             .call = child.call,
             .status = engine::name(RunStatus::failed),
             .error = fmt::format("there is a run \"{}\" of \"{}\" that is not this child", name.id,
                                  name.type)}));
}

bool Runs::mail(const store::InstanceName& run, const char* name, std::string bytes) {
    return send_mail(run, name, std::move(bytes), std::nullopt) == store::Fate::committed;
}

store::Fate Runs::send_mail(const store::InstanceName& run, const char* name, std::string bytes,
                            const std::optional<store::Settlement>& claim) {
    if (bytes.size() > options_.payload_limit)
        throw Error{Code::invalid, fmt::format("{} for run \"{}\" has {} bytes, the limit is {} "
                                               "(Options::payload_limit)",
                                               name, run.id, bytes.size(), options_.payload_limit)};
    check_not_in_transaction(parts_.store, "a signal or command to a run");
    store::Commit commit;
    if (claim) commit.settlements.push_back(*claim);
    auto& row = commit.inbox.emplace_back();
    row.to = run;
    row.to_run = true;
    row.urgent = true;
    row.name = name;
    row.payload.bytes = std::move(bytes);
    const base::Countdown countdown{queue_patience};
    const auto answer =
        commit_and_wait(parts_.lanes, commit, [&] { return countdown.left() > Duration::zero(); });
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    if (answer.fate == store::Fate::committed) parts_.dispatcher.want();
    return answer.fate;
}

bool Runs::cancel_child(const store::Settlement& claim, const store::InstanceName& child,
                        const std::string& reason) {
    return send_mail(child, records::CancelRequested::tag,
                     json::encode_enveloped(records::CancelRequested{reason}),
                     claim) != store::Fate::fence_lost;
}

bool Runs::terminate(const store::InstanceName& run, const std::string& reason) {
    check_not_in_transaction(parts_.store, "the end of a run");
    for (auto parent_is = ParentIs::there;;) {
        const auto tail = std::move(parts_.store.tails({&run, 1}).front());
        if (!tail.row || tail.row->finished_at) return false;
        const records::Finished finished{.status = name(RunStatus::terminated), .error = reason};
        store::Commit commit;
        auto& append = commit.append.emplace();
        append.instance = run;
        append.expected = tail.row->version;
        append.expected_head = tail.row->head;
        append.events.push_back(entry_of(records::Finished::tag, json::encode_enveloped(finished),
                                         parts_.clock, parts_.random));
        append.finished = true;
        append.ends_run = true;
        append.status = static_cast<std::int32_t>(RunStatus::terminated);
        const auto first = parts_.store.journal(run, 0, 1);
        const auto started =
            json::decode_enveloped<records::Started>(first.front().event.payload.bytes);
        const bool has_parent = started.parent && started.parent->call != 0;
        const store::InstanceName parent =
            has_parent ? store::InstanceName{started.parent->type, started.parent->id}
                       : store::InstanceName{};
        if (has_parent && parent_is != ParentIs::gone) {
            auto& news = commit.inbox.emplace_back();
            news.to = parent;
            news.to_run = parent_is == ParentIs::there;
            news.urgent = true;
            news.name = records::ChildEnded::tag;
            news.payload.bytes = json::encode_enveloped(records::ChildEnded{
                .call = started.parent->call, .status = finished.status, .error = reason});
        }
        const auto answer = commit_and_wait(parts_.lanes, commit, [] { return false; });
        if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
        if (answer.fate == store::Fate::no_run) parent_is = without_run(parts_.store, parent);
        if (answer.fate != store::Fate::committed) continue;  // it went on meanwhile
        waiters_.left(run, &finished);
        if (parent_is == ParentIs::dead_letter) say_that_mail_was_left(parent);
        if (has_parent) parts_.dispatcher.want();
        return true;
    }
}

// It may have been retried, and have read its mail, just before the news was left there. Then this
// is counted, and it reads again; while it is dead there is nobody to be told.
void Runs::say_that_mail_was_left(const store::InstanceName& run) {
    try {
        mail(run, records::MailLeft::tag, "{}");
    } catch (const Error& e) {
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .type = run.type,
                        .id = run.id,
                        .error = e.what(),
                        .text = fmt::format("run \"{}\" of \"{}\" may hear late of a child: {}",
                                            run.id, run.type, e.what())});
    }
}

void Runs::restart(const RegisteredFunction& function, const std::string& id,
                   const std::string& step, const std::string& new_id) {
    const store::LoadRequest wanted{.instance = {function.name, id}, .use_snapshot = false};
    const auto loaded = std::move(parts_.store.load({&wanted, 1}).front());
    if (!loaded.row)
        throw Error{Code::unknown,
                    fmt::format("there is no run \"{}\" of \"{}\"", id, function.name)};
    int cut = 0;
    RunJournal journal;
    std::vector<Decided> all_decided;
    for (const auto& event : loaded.events) {
        journal.fold(event);
        if (event.name == records::Won::tag) all_decided.push_back(decided(event));
        if (event.name != records::Step::tag && event.name != records::AttemptFailed::tag) continue;
        const auto of = json::decode_enveloped<OfCall>(event.payload.bytes);
        if (of.name == step && of.call > 0 && (cut == 0 || of.call < cut)) cut = of.call;
    }
    if (cut == 0)
        throw Error{Code::unknown, fmt::format("run \"{}\" of \"{}\" has no step \"{}\" in its "
                                               "journal",
                                               id, function.name, step)};
    cut = earlier_cut(journal, all_decided, cut);
    Starting starting;
    starting.function = &function;
    starting.id = new_id;
    starting.input = journal.started().input.text;
    starting.seed = journal.started().seed;
    starting.restarted_from = id;
    for (const auto& event : loaded.events) {
        if (event.name == records::Signal::tag) {
            starting.copied.push_back(event);
        } else if (is_of_a_call(event.name)) {
            const auto of = json::decode_enveloped<OfCall>(event.payload.bytes);
            // A child that was not the first is the old run's, and nobody waits for it.
            const auto* recorded = journal.find(of.call);
            const bool is_loser = event.name == records::Child::tag && recorded && !recorded->ended;
            if (of.call > 0 && of.call < cut && !is_loser) starting.copied.push_back(event);
        } else if (event.name == records::ChildrenStarted::tag) {
            starting.copied.push_back(event);
        }
    }
    if (!start(std::move(starting)))
        throw Error{Code::invalid,
                    fmt::format("run \"{}\" of \"{}\" can't be restarted as \"{}\": there is a run "
                                "of that id",
                                id, function.name, new_id)};
}

std::optional<std::string> Runs::value(const store::InstanceName& run, const std::string& key,
                                       Duration timeout) {
    if (timeout > Duration::zero()) {
        check_not_in_transaction(parts_.store, "waiting for a value");
        check_may_wait(run);
        if (!has_threads_) options_.attend();
    }
    const base::Countdown countdown{timeout};
    constexpr std::size_t page = 100;
    for (;;) {
        for (store::Version before = 0;;) {
            const auto entries = parts_.store.journal_back(run, records::Value::tag, before, page);
            for (const auto& entry : entries) {
                auto value = json::decode_enveloped<records::Value>(entry.event.payload.bytes);
                if (value.key == key) return std::move(value.value.text);
            }
            if (entries.size() < page) break;
            before = entries.back().sequence;
        }
        const auto tail = std::move(parts_.store.tails({&run, 1}).front());
        if (!tail.row)
            throw Error{Code::unknown,
                        fmt::format("there is no run \"{}\" of \"{}\"", run.id, run.type)};
        if (tail.row->finished_at || countdown.left() == Duration::zero()) return std::nullopt;
        if (timeout >= base::for_ever) waiters_.check_worth_waiting(run);
        waiters_.wait_for_news(run, tail.row->version, countdown.left());
    }
}

}  // namespace pawl::engine
