#include "store/memory/querying.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pawl/error.hpp>

namespace pawl::store::memory {
namespace {

const Instance* find(const State& state, const InstanceName& name) {
    const auto at = state.instances.find(name);
    return at == state.instances.end() ? nullptr : &at->second;
}

const StoredEvent& event_at(const State& state, const Instance& instance, Version sequence) {
    const auto position = instance.positions[static_cast<std::size_t>(sequence - 1)];
    return state.journal[static_cast<std::size_t>(position - 1)];
}

// A cursor is how many rows were seen, in digits. Nothing is ever removed from in front of it.
std::size_t parse_cursor(const std::string& cursor) {
    std::size_t seen = 0;
    if (cursor.empty()) return seen;
    const auto end = cursor.data() + cursor.size();
    const auto [at, error] = std::from_chars(cursor.data(), end, seen);
    if (error != std::errc{} || at != end)
        throw Error{Code::invalid, fmt::format("\"{}\" is not a cursor of this store", cursor)};
    return seen;
}

bool matches_status(const InstanceFilter& filter, const InstanceRow& row) {
    if (filter.statuses.empty()) return true;
    const auto* wanted = &filter.statuses;
    if (row.run && row.run->is_claimed) {
        if (filter.statuses_if_claimed) wanted = &*filter.statuses_if_claimed;
    } else if (row.run && !row.run->last_error.empty()) {
        if (filter.statuses_if_failed) wanted = &*filter.statuses_if_failed;
    }
    return std::ranges::count(*wanted, row.status) > 0;
}

bool matches(const InstanceFilter& filter, const InstanceRow& row) {
    return (filter.type.empty() || row.name.type == filter.type) &&
           row.name.id.starts_with(filter.id_prefix) &&
           (filter.tenant.empty() || row.tenant == filter.tenant) &&
           (!filter.finished || row.finished_at.has_value() == *filter.finished) &&
           matches_status(filter, row) &&
           (!filter.created_from || row.created_at >= *filter.created_from) &&
           (!filter.created_before || row.created_at < *filter.created_before);
}

bool matches(const ItemFilter& filter, const Line& line, const InstanceName& instance) {
    return (!filter.kind || line.kind == *filter.kind) &&
           (filter.type.empty() || line.type == filter.type) &&
           (filter.id.empty() || instance.id == filter.id) &&
           (filter.name.empty() || line.name == filter.name);
}

InstanceRow row_with_run(const State& state, const Instance& instance) {
    InstanceRow row = instance.row;
    const auto run = state.items.run_of(row.name);
    if (!run) return row;
    const Item& item = state.items.find(*run)->item;
    row.run = RunItem{.attempts = item.attempts,
                      .due_at = item.due_at,
                      .last_error = item.last_error,
                      .is_claimed = item.session != 0};
    const auto session = state.sessions.find(item.session);
    if (session != state.sessions.end()) row.run->owner = session->second.owner;
    return row;
}

}  // namespace

Loaded load_instance(const State& state, const LoadRequest& request) {
    Loaded loaded;
    const Instance* instance = find(state, request.instance);
    if (!instance) return loaded;
    loaded.row = instance->row;
    const Version last =
        request.up_to == 0 ? instance->row.version : std::min(request.up_to, instance->row.version);
    const auto& snapshot = instance->snapshot;
    if (request.use_snapshot && snapshot && snapshot->version == request.snapshot_version &&
        snapshot->sequence <= last)
        loaded.snapshot = snapshot;
    Version sequence = loaded.snapshot ? loaded.snapshot->sequence : 0;
    while (++sequence <= last) loaded.events.push_back(event_at(state, *instance, sequence).event);
    return loaded;
}

std::vector<StoredEvent> read_journal(const State& state, const InstanceName& name, Version after,
                                      std::size_t limit) {
    std::vector<StoredEvent> events;
    const Instance* instance = find(state, name);
    if (!instance) return events;
    for (Version sequence = after + 1; sequence <= instance->row.version && events.size() < limit;
         ++sequence)
        events.push_back(event_at(state, *instance, sequence));
    return events;
}

std::vector<StoredEvent> read_journal_back(const State& state, const InstanceName& name,
                                           const std::string& event, Version before,
                                           std::size_t limit) {
    std::vector<StoredEvent> events;
    const Instance* instance = find(state, name);
    if (!instance) return events;
    const Version end = instance->row.version + 1;
    Version sequence = before == 0 ? end : std::min(before, end);
    while (--sequence >= 1 && events.size() < limit) {
        const auto& entry = event_at(state, *instance, sequence);
        if (entry.event.name == event) events.push_back(entry);
    }
    return events;
}

Tail read_tail(const State& state, const InstanceName& name) {
    const Instance* instance = find(state, name);
    if (!instance) return {};
    return {instance->row, event_at(state, *instance, instance->row.version)};
}

std::vector<FinishedRow> list_finished(const State& state, Time since, std::size_t limit) {
    std::vector<FinishedRow> rows;
    for (const auto& [name, instance] : state.instances)
        if (instance.row.finished_at && *instance.row.finished_at >= since)
            rows.push_back({name, *instance.row.finished_at});
    std::ranges::stable_sort(rows, {}, &FinishedRow::at);
    if (rows.size() > limit) rows.resize(limit);
    return rows;
}

InstancePage list_instances(const State& state, const InstanceFilter& filter) {
    InstancePage page;
    for (auto seen = parse_cursor(filter.cursor); seen < state.by_creation.size(); ++seen) {
        const Instance* instance = find(state, state.by_creation[seen]);
        if (!instance) continue;
        InstanceRow row = row_with_run(state, *instance);
        if (!matches(filter, row)) continue;
        if (page.rows.size() == filter.limit) {
            page.next = std::to_string(seen);
            return page;
        }
        page.rows.push_back(std::move(row));
    }
    return page;
}

Followed follow_journal(const State& state, const std::string& cursor, std::size_t limit) {
    Followed followed;
    auto seen = parse_cursor(cursor);
    for (; seen < state.journal.size() && followed.events.size() < limit; ++seen)
        if (state.journal[seen].position != 0) followed.events.push_back(state.journal[seen]);
    followed.cursor = std::to_string(seen);
    return followed;
}

std::vector<Item> list_items(const State& state, const ItemFilter& filter) {
    std::vector<Item> items;
    const auto& rows = state.items.rows();
    for (auto at = rows.upper_bound(filter.after); at != rows.end() && items.size() < filter.limit;
         ++at) {
        const Item& item = at->second.item;
        if (matches(filter, item.line, item.instance)) items.push_back(item);
    }
    return items;
}

std::vector<LineDepth> line_depths(const State& state, Time now) {
    std::map<Line, LineDepth> depths;
    for (const auto& [id, row] : state.items.rows()) {
        LineDepth& depth = depths[row.item.line];
        depth.line = row.item.line;
        if (!row.item.due_at) {
            ++depth.claimed;
            continue;
        }
        ++(*row.item.due_at <= now ? depth.ready : depth.waiting);
        depth.oldest_due = std::min(depth.oldest_due.value_or(Time::max()), *row.item.due_at);
    }
    std::vector<LineDepth> sorted;
    for (const auto& [line, depth] : depths) sorted.push_back(depth);
    return sorted;
}

std::vector<RecordedEnding> list_endings(const State& state, const ItemFilter& filter) {
    std::vector<RecordedEnding> endings;
    for (auto at = state.endings.upper_bound(filter.after);
         at != state.endings.end() && endings.size() < filter.limit; ++at)
        if (matches(filter, at->second.line, at->second.instance)) endings.push_back(at->second);
    return endings;
}

std::vector<InboxRow> list_inbox(const State& state, const InstanceName& to, std::size_t limit) {
    std::vector<InboxRow> rows;
    for (const auto& row : state.inbox)
        if (row.to == to && rows.size() < limit) rows.push_back(row);
    return rows;
}

std::vector<Message> list_messages(const State& state, const std::string& channel,
                                   std::int64_t after, std::size_t limit) {
    std::vector<Message> messages;
    for (const auto& [position, message] : state.messages)
        if (message.channel == channel && message.position > after && messages.size() < limit)
            messages.push_back(message);
    return messages;
}

}  // namespace pawl::store::memory
