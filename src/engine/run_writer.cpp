#include "engine/run_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <pawl/error.hpp>

#include "base/latch.hpp"
#include "base/uuid.hpp"

namespace pawl::engine {
namespace {

constexpr Duration queue_patience = std::chrono::seconds{5};
constexpr Duration pause_after_failure = std::chrono::milliseconds{200};
// Mail is read in portions, so that one commit does not get too large.
constexpr std::size_t mail_portion = 2000;

/// Gives its Commit back, to be sent again or taken apart where the thread that waits has time.
class AwaitedJob final : public Job {
public:
    AwaitedJob(Awaited& awaited, store::Commit& from) : awaited_(awaited), from_(from) {
        commit = std::move(from);
        is_awaited = true;
    }
    void settled(Owned, store::Answer answer, std::vector<Owned>&) override {
        from_ = std::move(commit);
        awaited_.give(std::move(answer));
    }
    void resume(Owned) override {}

private:
    Awaited& awaited_;
    store::Commit& from_;
};

bool may_pass(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return e.code() == Code::busy || e.code() == Code::unavailable;
    } catch (...) {
        return false;
    }
}

/// What the store says of something that it will never take, as it is larger than it can write.
std::optional<std::string> refusal(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        if (e.code() == Code::invalid) return e.what();
    } catch (...) {
    }
    return std::nullopt;
}

store::Answer commit_once(Committer& lane, store::Commit& commit) {
    Awaited awaited;
    Job::Owned job = std::make_unique<AwaitedJob>(awaited, commit);
    base::Meeting::Round round = 0;
    if (!lane.submit(job, queue_patience, &round)) {
        commit = std::move(job->commit);
        store::Answer full;
        full.error = std::make_exception_ptr(
            Error{Code::busy, "the commit queue stayed full: the store is slower than the work"});
        return full;
    }
    lane.help();
    lane.await(round, awaited);
    return std::move(awaited.answer);
}

}  // namespace

store::Event entry_of(std::string name, std::string bytes, const Clock& clock,
                      base::Random& random) {
    store::Event event;
    event.id = base::uuid7(clock.now(), random);
    event.name = std::move(name);
    event.payload.bytes = std::move(bytes);
    event.kind = store::EventKind::engine;
    return event;
}

store::Answer commit_and_wait(CommitterLanes& lanes, store::Commit& commit,
                              const std::function<bool()>& patience) {
    auto& lane = lanes.any();
    for (;;) {
        auto answer = commit_once(lane, commit);
        if (answer.fate != store::Fate::failed || !may_pass(answer.error) || !patience())
            return answer;
        base::Latch never;
        never.wait_for(pause_after_failure);
    }
}

ParentIs without_run(store::Store& store, const store::InstanceName& parent) {
    const auto tail = std::move(store.tails({&parent, 1}).front());
    return tail.row && !tail.row->finished_at ? ParentIs::dead_letter : ParentIs::gone;
}

RunWriter::RunWriter(Parts parts, const store::Item& item, RunJournal journal, RunPlace place)
    : parts_(std::move(parts)),
      instance_(item.instance),
      item_(item.id),
      fence_(item.fence),
      envelope_(item.envelope),
      journal_(std::move(journal)),
      version_(place.version),
      head_(place.head),
      status_(place.status),
      was_lost_(item.losses > 0),
      failed_before_(!item.born_claimed),
      warned_(place.version > warning_limit()) {
    if (item.mail > 0) {
        seen_mail_ = item.mail;
        read_mail();
    }
}

store::Event RunWriter::entry(const char* name, std::string bytes) {
    if (bytes.size() > parts_.payload_limit)
        throw Error{Code::invalid,
                    fmt::format("run \"{}\": an entry {} has {} bytes, the limit is {} "
                                "(Options::payload_limit)",
                                instance_.id, name, bytes.size(), parts_.payload_limit)};
    const auto entries = version_ + static_cast<store::Version>(pending_.size());
    if (entries >= parts_.journal_limit)
        throw Error{Code::invalid,
                    fmt::format("the journal of run \"{}\" has {} entries, the limit is {} "
                                "(FunctionOptions::journal_limit): go on in a new run",
                                instance_.id, entries, parts_.journal_limit)};
    if (entries >= warning_limit() && !std::exchange(warned_, true)) warn_of_limit(entries);
    return entry_of(name, std::move(bytes), parts_.clock, parts_.random);
}

void RunWriter::warn_of_limit(std::int64_t entries) const {
    parts_.log.say(
        {.level = LogLevel::warning,
         .event = LogEvent::journal_limit,
         .type = instance_.type,
         .id = instance_.id,
         .trace = envelope_.trace,
         .text = fmt::format("the journal of run \"{}\" of \"{}\" has {} of {} entries "
                             "(FunctionOptions::journal_limit)",
                             instance_.id, instance_.type, entries, parts_.journal_limit)});
}

void RunWriter::add(const char* name, std::string bytes) {
    pending_.push_back(entry(name, std::move(bytes)));
}

store::Append& RunWriter::append_to(store::Commit& commit, RunStatus status) {
    auto& append = commit.append.emplace();
    append.instance = instance_;
    append.expected = version_;
    append.expected_head = head_;
    handed_over_ = pending_.size();
    append.events = std::exchange(pending_, {});
    append.taken = taken_;
    append.status = static_cast<std::int32_t>(status);
    append.has_timers = false;
    return append;
}

store::Settlement RunWriter::word_of(store::Settlement word) const {
    word.item = item_;
    word.fence = fence_;
    word.seen_mail = seen_mail_;
    word.failed_before = failed_before_;
    return word;
}

store::Commit RunWriter::commit_of(store::Settlement word, RunStatus status) {
    store::Commit commit;
    const bool is_suspended = word.verdict == store::Verdict::suspend;
    commit.settlements.push_back(word_of(std::move(word)));
    commit.envelope = envelope_;
    if (!pending_.empty()) {
        append_to(commit, status);
    } else if (is_suspended && static_cast<std::int32_t>(status) != status_) {
        append_to(commit, status).taken.clear();  // it has no entry that holds the mail
    }
    return commit;
}

RunWriter::Written RunWriter::write(store::Commit commit) {
    const auto answer = commit_away(commit);
    return note(answer, commit);
}

// Others run while this one waits. It comes back only where its function goes on.
store::Answer RunWriter::commit_away(store::Commit& commit) {
    const auto verdict = commit.settlements.front().verdict;
    parts_.slot.leave();
    auto answer = commit_and_wait(parts_.lanes, commit, parts_.is_held);
    const bool is_over = verdict != store::Verdict::hold && answer.fate == store::Fate::committed;
    if (!is_over) parts_.slot.come_back();
    return answer;
}

// What was not written is pending again, without what only this Commit would have made true.
void RunWriter::take_back(store::Commit& commit) {
    if (!commit.append) return;
    pending_ = std::move(commit.append->events);
    pending_.resize(handed_over_);
}

RunWriter::Written RunWriter::write_through(store::Event entry, const CommitThrough& through) {
    auto commit = commit_of({.verdict = store::Verdict::hold}, RunStatus::running);
    auto& append = commit.append ? *commit.append : append_to(commit, RunStatus::running);
    append.events.push_back(std::move(entry));
    store::Answer answer;
    try {
        answer = through(commit);
    } catch (...) {
        take_back(commit);
        throw;
    }
    if (answer.fate == store::Fate::committed) journal_.fold(append.events.back());
    return note(answer, commit);
}

void RunWriter::wrote(const store::Append& append) {
    version_ += static_cast<store::Version>(append.events.size());
    status_ = append.status;
    if (!append.events.empty()) head_ = store::head_of(append.events.back().id);
}

RunWriter::Written RunWriter::note(const store::Answer& answer, store::Commit& commit) {
    if (answer.fate != store::Fate::committed) take_back(commit);
    switch (answer.fate) {
        case store::Fate::committed:
            if (commit.append) wrote(*commit.append);
            taken_.clear();
            must_write_ = false;
            if (answer.mail > seen_mail_) read_mail_later(answer.mail);
            return Written::yes;
        case store::Fate::mail_waits:
            seen_mail_ = answer.mail;
            read_mail();
            return Written::mail;
        case store::Fate::no_run:
            parent_is_ = without_run(parts_.store, parent_name());
            return Written::mail;
        case store::Fate::failed:
            try {
                std::rethrow_exception(answer.error);
            } catch (const std::exception& e) {
                failure_ = e.what();
            }
            return Written::lost;
        case store::Fate::fence_lost:
            return Written::lost;
        default:
            failure_ = "another process has written to its journal";
            return Written::lost;
    }
}

RunWriter::Written RunWriter::hold() {
    if (pending_.empty()) return Written::yes;
    const auto written = write(
        commit_of({.verdict = store::Verdict::hold, .got_further = was_lost_}, RunStatus::running));
    if (written == Written::yes) was_lost_ = false;
    return written;
}

RunWriter::Written RunWriter::suspend(const store::Wake& wake, RunStatus status) {
    return write(commit_of({.verdict = store::Verdict::suspend, .wake = wake}, status));
}

RunWriter::Written RunWriter::finish(const records::Finished& finished, RunStatus status) {
    if (const auto size = finished.result.text.size(); size > parts_.payload_limit)
        throw Error{Code::invalid,
                    fmt::format("the result of run \"{}\" of \"{}\" has {} bytes, the limit is {} "
                                "(Options::payload_limit): keep it elsewhere and return where",
                                instance_.id, instance_.type, size, parts_.payload_limit)};
    auto last = entry_of(records::Finished::tag, json::encode_enveloped(finished), parts_.clock,
                         parts_.random);
    auto news = news_for_parent(finished);  // what can throw comes before anything changes
    auto commit = commit_of({.verdict = store::Verdict::ack}, status);
    if (!commit.append) append_to(commit, status);
    commit.append->events.push_back(std::move(last));
    commit.append->finished = true;
    if (news) commit.inbox.push_back(std::move(*news));
    const auto answer = commit_away(commit);
    if (answer.fate == store::Fate::failed && finished.status == records::succeeded)
        if (const auto why = refusal(answer.error)) {
            take_back(commit);
            throw Error{
                Code::invalid,
                fmt::format("the result of run \"{}\" of \"{}\" has {} bytes and can't be "
                            "written: {}",
                            instance_.id, instance_.type, finished.result.text.size(), *why)};
        }
    return note(answer, commit);
}

std::optional<store::InboxRow> RunWriter::news_for_parent(const records::Finished& finished) const {
    const auto& parent = journal_.started().parent;
    if (!parent || parent->call == 0 || parent_is_ == ParentIs::gone) return std::nullopt;
    const records::ChildEnded ended{.call = parent->call,
                                    .status = finished.status,
                                    .result = finished.result,
                                    .error = finished.error};
    store::InboxRow row;
    row.to = parent_name();
    row.to_run = parent_is_ == ParentIs::there;
    row.urgent = finished.status != records::succeeded;
    row.name = records::ChildEnded::tag;
    row.payload.bytes = json::encode_enveloped(ended);
    row.envelope = envelope_;
    return row;
}

// Sent twice, because nobody could say what had become of the first.
bool RunWriter::is_known_signal(const store::InboxRow& row) const {
    return row.name == records::Signal::tag &&
           journal_.has_signal(json::decode_enveloped<records::Signal>(row.payload.bytes).id);
}

// What is committed stays so if the mail can't be read just now: the next answer tells of it again.
void RunWriter::read_mail_later(std::int64_t mail) {
    const auto seen = std::exchange(seen_mail_, mail);
    try {
        read_mail();
    } catch (const Error& e) {
        seen_mail_ = seen;
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .type = instance_.type,
                        .id = instance_.id,
                        .error = e.what(),
                        .text = fmt::format("the mail of run \"{}\" is read later: {}",
                                            instance_.id, e.what())});
    }
}

void RunWriter::read_mail() {
    for (auto portion = mail_portion;;) {
        const auto rows = parts_.store.inbox(instance_, portion);
        const std::unordered_set<std::int64_t> taken{taken_.begin(), taken_.end()};
        for (const auto& row : rows) {
            if (taken.contains(row.position)) continue;
            taken_.push_back(row.position);
            if (is_known_signal(row)) continue;
            pending_.push_back(entry_of(row.name, row.payload.bytes, parts_.clock, parts_.random));
            journal_.fold(pending_.back());
        }
        if (rows.size() < portion) return;
        // Repetitions of what is known go with the next entry, and there is none: read past them.
        if (pending_.empty()) {
            portion += mail_portion;
            continue;
        }
        // There may be more behind these, which have to go first.
        auto commit = commit_of({.verdict = store::Verdict::hold}, RunStatus::running);
        const auto answer = commit_away(commit);
        if (answer.fate != store::Fate::committed) return take_back(commit);  // the next says why
        if (commit.append) wrote(*commit.append);
        taken_.clear();
        must_write_ = false;
        seen_mail_ = answer.mail;
        portion = mail_portion;
    }
}

}  // namespace pawl::engine
