#include "engine/run_summaries.hpp"

#include <algorithm>

#include "engine/run_records.hpp"

namespace pawl::engine {
namespace {

constexpr RunStatus every_status[] = {
    RunStatus::pending,  RunStatus::running,   RunStatus::waiting,
    RunStatus::retrying, RunStatus::paused,    RunStatus::succeeded,
    RunStatus::failed,   RunStatus::cancelled, RunStatus::terminated};

// Which of the stored statuses are shown as one that is asked for.
std::vector<std::int32_t> stored_statuses(const std::vector<RunStatus>& wanted, bool is_claimed,
                                          bool has_failed) {
    std::vector<std::int32_t> stored;
    for (const auto status : every_status)
        if (std::ranges::count(wanted, shown_status(status, is_claimed, has_failed)) > 0)
            stored.push_back(static_cast<std::int32_t>(status));
    return stored;
}

template <class Record>
bool is(const store::StoredEvent& entry) {
    return entry.event.name == Record::tag;
}

void take_failure(RunSummary& run, const store::StoredEvent& entry) {
    auto failed = json::decode_enveloped<records::AttemptFailed>(entry.event.payload.bytes);
    run.attempt = failed.attempt;
    run.last_error = std::move(failed.error);
}

}  // namespace

RunStatus shown_status(RunStatus stored, bool is_claimed, bool has_failed) {
    if (finished(stored) || stored == RunStatus::paused) return stored;
    if (is_claimed) return RunStatus::running;
    return has_failed ? RunStatus::retrying : stored;
}

store::InstanceFilter filter_of(const RunQuery& query) {
    store::InstanceFilter filter{.type = query.type,
                                 .id_prefix = query.id_prefix,
                                 .tenant = query.tenant,
                                 .created_from = query.started_from,
                                 .created_before = query.started_before,
                                 .cursor = query.cursor,
                                 .limit = query.limit};
    if (query.statuses.empty()) return filter;
    for (const auto status : query.statuses)
        filter.statuses.push_back(static_cast<std::int32_t>(status));
    filter.statuses_if_claimed = stored_statuses(query.statuses, true, false);
    filter.statuses_if_failed = stored_statuses(query.statuses, false, true);
    return filter;
}

RunSummary summary_of(const store::InstanceRow& row) {
    RunSummary run{.type = row.name.type,
                   .id = row.name.id,
                   .status = static_cast<RunStatus>(row.status),
                   .entries = row.version,
                   .tenant = row.tenant,
                   .last_error = {},
                   .next_at = {},
                   .held_by = {},
                   .started_at = row.created_at,
                   .updated_at = row.updated_at,
                   .finished_at = row.finished_at};
    if (!row.run) return run;
    run.status = shown_status(run.status, row.run->is_claimed, !row.run->last_error.empty());
    run.last_error = row.run->last_error;
    run.attempt = row.run->attempts;
    if (row.run->due_at && *row.run->due_at < store::never) run.next_at = row.run->due_at;
    run.held_by = row.run->owner;
    return run;
}

void add_errors(store::Store& store, std::vector<RunSummary>& runs) {
    std::vector<store::InstanceName> names;
    std::vector<RunSummary*> asked;
    for (auto& run : runs) {
        const bool has_ended = finished(run.status) && run.status != RunStatus::succeeded;
        const bool tries_step = run.status == RunStatus::retrying && run.last_error.empty();
        if (!has_ended && !tries_step) continue;
        names.push_back({run.type, run.id});
        asked.push_back(&run);
    }
    if (names.empty()) return;
    const auto tails = store.tails(names);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto& last = tails[i].last;
        if (!last) continue;
        if (is<records::Finished>(*last)) {
            asked[i]->last_error =
                json::decode_enveloped<records::Finished>(last->event.payload.bytes).error;
        } else if (is<records::AttemptFailed>(*last)) {
            take_failure(*asked[i], *last);
        } else {
            const auto failures = store.journal_back(names[i], records::AttemptFailed::tag, 0, 1);
            if (!failures.empty()) take_failure(*asked[i], failures.front());
        }
    }
}

}  // namespace pawl::engine
