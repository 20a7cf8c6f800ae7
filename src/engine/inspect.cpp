// What can be asked of an engine: the store's rows in the words of the public API.
#include <algorithm>
#include <pawl/engine.hpp>
#include <pawl/error.hpp>

#include "engine/core.hpp"
#include "engine/drafting.hpp"
#include "engine/impl.hpp"
#include "engine/outgoing.hpp"

namespace pawl::inline v0 {
namespace {

WorkKind kind_of(store::ItemKind kind) {
    switch (kind) {
        case store::ItemKind::effect:
            return WorkKind::effect;
        case store::ItemKind::timer:
            return WorkKind::timer;
        case store::ItemKind::run:
            break;
    }
    return WorkKind::run;
}

std::optional<store::ItemKind> kind_of(std::optional<WorkKind> kind) {
    if (!kind) return std::nullopt;
    switch (*kind) {
        case WorkKind::effect:
            return store::ItemKind::effect;
        case WorkKind::timer:
            return store::ItemKind::timer;
        case WorkKind::run:
            break;
    }
    return store::ItemKind::run;
}

void require_type_with_id(const std::string& type, const std::string& id) {
    if (!id.empty() && type.empty())
        throw Error{Code::invalid, "a query by instance id needs the workflow type too"};
}

Instance instance_of(store::InstanceRow row) {
    return {.type = std::move(row.name.type),
            .id = std::move(row.name.id),
            .version = row.version,
            .tenant = std::move(row.tenant),
            .unique_key = std::move(row.unique_key),
            .created_at = row.created_at,
            .updated_at = row.updated_at,
            .finished_at = row.finished_at};
}

PendingWork work_of(store::Item item) {
    const bool effect = item.line.kind == store::ItemKind::effect;
    auto key = effect ? engine::effect_key(item) : std::move(item.key);
    return {.item = item.id,
            .kind = kind_of(item.line.kind),
            .type = std::move(item.line.type),
            .id = std::move(item.instance.id),
            .name = std::move(item.line.name),
            .key = std::move(key),
            .payload = std::move(item.payload.bytes),
            .attempts = item.attempts,
            .last_error = std::move(item.last_error),
            .created_at = item.created_at,
            .due_at = item.due_at};
}

JournalEntry entry_of(store::StoredEvent stored) {
    auto& e = stored.envelope;
    JournalEntry entry{.sequence = stored.sequence,
                       .position = stored.position,
                       .id = stored.event.id,
                       .name = std::move(stored.event.name),
                       .payload = std::move(stored.event.payload.bytes),
                       .correlation = std::move(e.correlation),
                       .conversation = std::move(e.conversation),
                       .tenant = std::move(e.tenant),
                       .trace = std::move(e.trace),
                       .causation = std::nullopt,
                       .at = stored.at};
    if (entry.correlation.empty()) entry.correlation = stored.event.id.text();
    if (!e.causation.is_nil()) entry.causation = e.causation;
    return entry;
}

DeadLetter dead_letter_of(store::DeadLetter dead) {
    DeadLetter out{.work = work_of(std::move(dead.item)),
                   .reason = std::move(dead.reason),
                   .died_at = dead.died_at,
                   .history = {}};
    for (auto& f : dead.failures) out.history.push_back({f.attempt, f.at, std::move(f.error)});
    return out;
}

store::ItemFilter filter_of(const WorkQuery& query) {
    require_type_with_id(query.type, query.id);
    return {.kind = kind_of(query.kind),
            .type = query.type,
            .id = query.id,
            .name = query.name,
            .after = query.after,
            .limit = query.limit};
}

store::DeadLetterFilter filter_of(const DeadLetterQuery& query) {
    require_type_with_id(query.type, query.id);
    return {.items = query.items,
            .kind = kind_of(query.kind),
            .type = query.type,
            .id = query.id,
            .name = query.name,
            .reason = query.reason,
            .died_from = query.died_from,
            .died_before = query.died_before,
            .after = query.after,
            .limit = query.limit};
}

template <class Out, class In, class F>
std::vector<Out> each(std::vector<In> in, F convert) {
    std::vector<Out> out;
    out.reserve(in.size());
    for (auto& one : in) out.push_back(convert(std::move(one)));
    return out;
}

// Leases are renewed between two batches, however many letters there are. What dies meanwhile, for
// the second time perhaps, is not meant.
template <class Change>
std::int64_t in_batches(store::Store& store, store::DeadLetterFilter filter, Change&& change) {
    constexpr std::size_t batch = 1000;
    if (filter.limit <= batch) return change(filter);
    const Time begun = store.now() + Duration{1};
    filter.died_before = std::min(filter.died_before.value_or(begun), begun);
    std::int64_t changed = 0;
    for (std::size_t left = filter.limit; left > 0;) {
        filter.limit = std::min(left, batch);
        const auto count = change(filter);
        changed += count;
        left -= static_cast<std::size_t>(count);
        if (count < static_cast<std::int64_t>(filter.limit)) break;
    }
    return changed;
}

}  // namespace

// Without a type, pawl's own are left out: a page may be shorter than asked for, but not empty.
InstanceList Engine::instances(const InstanceQuery& query) {
    store::InstanceFilter filter{.type = query.type,
                                 .id_prefix = query.id_prefix,
                                 .tenant = query.tenant,
                                 .finished = query.finished,
                                 .created_from = query.created_from,
                                 .created_before = query.created_before,
                                 .cursor = query.cursor,
                                 .limit = query.limit};
    for (;;) {
        auto page = impl_->store().instances(filter);
        if (query.type.empty())
            std::erase_if(page.rows, [](const auto& row) { return engine::is_own(row.name.type); });
        if (!page.rows.empty() || page.next.empty())
            return {each<Instance>(std::move(page.rows), instance_of), std::move(page.next)};
        filter.cursor = std::move(page.next);
    }
}

std::vector<JournalEntry> Engine::journal(std::string_view type, std::string_view id,
                                          std::int64_t after, std::size_t limit) {
    return each<JournalEntry>(
        impl_->store().journal({std::string{type}, std::string{id}}, after, limit), entry_of);
}

std::vector<PendingWork> Engine::pending(const WorkQuery& query) {
    return each<PendingWork>(impl_->store().items(filter_of(query)), work_of);
}

std::vector<Backlog> Engine::backlog() {
    return each<Backlog>(impl_->store().depths(), [](store::LineDepth depth) -> Backlog {
        return {.kind = kind_of(depth.line.kind),
                .type = std::move(depth.line.type),
                .name = std::move(depth.line.name),
                .ready = depth.ready,
                .waiting = depth.waiting,
                .claimed = depth.claimed,
                .oldest_due = depth.oldest_due};
    });
}

std::vector<Ending> Engine::endings(const WorkQuery& query) {
    return each<Ending>(impl_->store().endings(filter_of(query)),
                        [](store::RecordedEnding row) -> Ending {
                            return {.item = row.item,
                                    .kind = kind_of(row.line.kind),
                                    .type = std::move(row.line.type),
                                    .id = std::move(row.instance.id),
                                    .name = std::move(row.line.name),
                                    .key = std::move(row.key),
                                    .rejected = row.ending == store::Ending::rejected,
                                    .reason = std::move(row.reason),
                                    .at = row.at};
                        });
}

std::vector<DeadLetter> Engine::dead_letters(const DeadLetterQuery& query) {
    return each<DeadLetter>(impl_->store().dead_letters(filter_of(query)), dead_letter_of);
}

std::int64_t Engine::count_dead_letters(const DeadLetterQuery& query) {
    return impl_->store().count_dead_letters(filter_of(query));
}

std::int64_t Engine::retry_dead_letters(const DeadLetterQuery& query) {
    const auto count = in_batches(impl_->store(), filter_of(query), [&](const auto& part) {
        return impl_->store().retry_dead_letters(part);
    });
    if (count > 0) impl_->core->wake();
    return count;
}

// A run without its letter would have nobody left who goes on with it, or tells those who wait for
// it: it is ended first.
std::int64_t Engine::discard_dead_letters(const DeadLetterQuery& query) {
    auto& store = impl_->store();
    return in_batches(store, filter_of(query), [&](auto part) -> std::int64_t {
        const auto letters = store.dead_letters(part);
        if (letters.empty()) return 0;
        part.items.clear();
        for (const auto& letter : letters) {
            part.items.push_back(letter.item.id);
            if (letter.item.line.kind == store::ItemKind::run)
                impl_->core->runs().terminate(letter.item.instance,
                                              "its dead letter was discarded");
        }
        return store.discard_dead_letters(part);
    });
}

}  // namespace pawl::inline v0
