#include "store/sql/reading.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "store/sql/cursor.hpp"
#include "store/sql/records.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

// The least text of bytes that is greater than every text with this prefix; empty if there is none.
std::string end_of_prefix(std::string prefix) {
    while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
    if (!prefix.empty()) ++prefix.back();
    return prefix;
}

// A bit for each of them, so that the statement is one for all.
std::int64_t mask_of(const std::vector<std::int32_t>& statuses) {
    std::int64_t mask = 0;
    for (const auto status : statuses)
        if (status >= 0 && status <= highest_status) mask |= std::int64_t{1} << status;
    return mask;
}

std::int64_t last_wanted(const LoadRequest& request) {
    return request.up_to == 0 ? no_limit : request.up_to;
}

}  // namespace

std::vector<Loaded> Reading::load(std::span<const LoadRequest> requests) {
    return in_read(database_,
                   [&](Connection& connection) { return load_in(connection, requests); });
}

Loaded Reading::hold(Connection& connection, const LoadRequest& request) {
    const auto& [type, id] = request.instance;
    Rows keys;
    keys.add({interned_.find(connection, std::string_view{type}).value_or(0), bytes(id)});
    connection.query(sql_.instances.lock, keys, [](std::size_t, const Row&) {});
    return std::move(load_in(connection, {&request, 1}).front());
}

std::vector<Loaded> Reading::load_in(Connection& connection,
                                     std::span<const LoadRequest> requests) {
    std::vector<Loaded> loaded(requests.size());
    const auto refs = load_rows(connection, requests, loaded);
    load_snapshots(connection, requests, refs, loaded);
    load_events(connection, requests, refs, loaded);
    return loaded;
}

std::vector<Ref> Reading::load_rows(Connection& connection, std::span<const LoadRequest> requests,
                                    std::vector<Loaded>& loaded) {
    std::vector<const InstanceName*> names;
    for (const auto& request : requests) names.push_back(&request.instance);
    std::vector<Ref> refs(requests.size());
    read_rows(connection, names, [&](std::size_t at, Ref ref, InstanceRow row) {
        refs[at] = ref;
        loaded[at].row = std::move(row);
    });
    return refs;
}

template <class Take>
void Reading::read_rows(Connection& connection, std::span<const InstanceName* const> names,
                        Take&& take) {
    Rows keys;
    for (const auto* name : names) {
        const auto type = interned_.find(connection, std::string_view{name->type}).value_or(0);
        keys.add({type, bytes(name->id)});
    }
    connection.query(sql_.instances.rows, keys, [&](std::size_t key, const Row& row) {
        InstanceRow found = read_instance(row).value;
        found.name.type = names[key]->type;
        if (sql_.presumed)
            refs_.set({found.name.type, found.name.id}, row.number(0),
                      !found.finished_at && found.unique_key.empty());
        take(key, row.number(0), std::move(found));
    });
}

void Reading::load_snapshots(Connection& connection, std::span<const LoadRequest> requests,
                             const std::vector<Ref>& refs, std::vector<Loaded>& loaded) {
    Rows keys;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (refs[i] == 0 || !requests[i].use_snapshot) continue;
        keys.add({refs[i], requests[i].snapshot_version, last_wanted(requests[i])});
        asked.push_back(i);
    }
    connection.query(sql_.snapshots.load, keys, [&](std::size_t key, const Row& row) {
        loaded[asked[key]].snapshot = read_snapshot(row);
    });
}

void Reading::load_events(Connection& connection, std::span<const LoadRequest> requests,
                          const std::vector<Ref>& refs, std::vector<Loaded>& loaded) {
    Rows keys;
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (refs[i] == 0) continue;
        const Version after = loaded[i].snapshot ? loaded[i].snapshot->sequence : 0;
        keys.add({refs[i], after, last_wanted(requests[i])});
        asked.push_back(i);
    }
    std::vector<std::pair<std::size_t, Unnamed<Event>>> events;
    connection.query(sql_.events.load, keys, [&](std::size_t key, const Row& row) {
        events.emplace_back(asked[key], read_loaded_event(row));
    });
    for (auto& [at, event] : events)
        loaded[at].events.push_back(finish(std::move(event), interned_, connection));
}

std::vector<StoredEvent> Reading::journal(const InstanceName& instance, Version after,
                                          std::size_t limit) {
    return in_read(database_, [&](Connection& connection) -> std::vector<StoredEvent> {
        std::vector<Unnamed<StoredEvent>> rows;
        const auto type = interned_.find(connection, std::string_view{instance.type});
        if (!type) return {};
        connection.query(sql_.events.journal, {*type, bytes(instance.id), after, limit_of(limit)},
                         [&](const Row& row) { rows.push_back(read_event(row)); });
        return finish_all(std::move(rows), interned_, connection);
    });
}

std::vector<StoredEvent> Reading::journal_back(const InstanceName& instance,
                                               const std::string& name, Version before,
                                               std::size_t limit) {
    return in_read(database_, [&](Connection& connection) -> std::vector<StoredEvent> {
        std::vector<Unnamed<StoredEvent>> rows;
        const auto type = interned_.find(connection, std::string_view{instance.type});
        const auto event = interned_.find(connection, std::string_view{name});
        if (!type || !event) return {};
        connection.query(
            sql_.events.journal_back,
            {*type, bytes(instance.id), *event, before == 0 ? no_limit : before, limit_of(limit)},
            [&](const Row& row) { rows.push_back(read_event(row)); });
        return finish_all(std::move(rows), interned_, connection);
    });
}

std::vector<Tail> Reading::tails(std::span<const InstanceName> instances) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<const InstanceName*> names;
        for (const auto& name : instances) names.push_back(&name);
        std::vector<Tail> tails(instances.size());
        Rows keys;
        std::vector<std::size_t> asked;
        read_rows(connection, names, [&](std::size_t at, Ref ref, InstanceRow row) {
            keys.add({ref, row.version});
            asked.push_back(at);
            tails[at].row = std::move(row);
        });
        std::vector<std::pair<std::size_t, Unnamed<StoredEvent>>> entries;
        connection.query(sql_.events.entries, keys, [&](std::size_t key, const Row& row) {
            entries.emplace_back(asked[key], read_event(row));
        });
        for (auto& [at, entry] : entries)
            tails[at].last = finish(std::move(entry), interned_, connection);
        return tails;
    });
}

std::vector<FinishedRow> Reading::finished_since(Time since, std::size_t limit) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<Unnamed<FinishedRow>> rows;
        connection.query(sql_.instances.finished_since, {since, limit_of(limit)},
                         [&](const Row& row) { rows.push_back(read_finished(row)); });
        return finish_all(std::move(rows), interned_, connection);
    });
}

InstancePage Reading::instances(const InstanceFilter& filter) {
    return in_read(database_, [&](Connection& connection) -> InstancePage {
        const std::int64_t after = parse_cursor(filter.cursor);
        Value type;
        if (!filter.type.empty()) {
            const auto ref = interned_.find(connection, std::string_view{filter.type});
            if (!ref) return {};
            type = *ref;
        }
        const Value finished = filter.finished ? Value{*filter.finished ? 1 : 0} : Value{};
        const auto mask = mask_of(filter.statuses);
        const Value statuses = filter.statuses.empty() ? Value{} : Value{mask};
        const auto& claimed = filter.statuses_if_claimed;
        const auto& failed = filter.statuses_if_failed;
        const Value if_claimed = claimed ? mask_of(*claimed) : mask;
        const Value if_failed = failed ? mask_of(*failed) : mask;
        const std::string prefix_end = end_of_prefix(filter.id_prefix);
        const bool by_prefix = !filter.type.empty() && !prefix_end.empty();

        // One more than asked for tells whether there is another page.
        std::vector<std::pair<Ref, Unnamed<InstanceRow>>> rows;
        const auto take = [&](const Row& row) {
            rows.emplace_back(row.number(0), read_instance(row));
            rows.back().second.value.run = read_run_item(row, 11);
        };
        const auto limit =
            limit_of(filter.limit) == no_limit ? no_limit : limit_of(filter.limit) + 1;
        if (by_prefix)
            connection.query(sql_.instances.page_of_prefix,
                             {after, type, bytes(filter.id_prefix), given_text(filter.tenant),
                              finished, filter.created_from, filter.created_before, limit, statuses,
                              if_claimed, if_failed, bytes(prefix_end)},
                             take);
        else
            connection.query(sql_.instances.page,
                             {after, type, given_bytes(filter.id_prefix), given_text(filter.tenant),
                              finished, filter.created_from, filter.created_before, limit, statuses,
                              if_claimed, if_failed},
                             take);
        InstancePage page;
        Ref last = after;
        for (auto& [ref, row] : rows) {
            if (page.rows.size() == filter.limit) {
                page.next = std::to_string(last);
                break;
            }
            page.rows.push_back(finish(std::move(row), interned_, connection));
            last = ref;
        }
        return page;
    });
}

Followed Reading::follow(const std::string& cursor, std::size_t limit) {
    Followed followed;
    std::vector<Unnamed<StoredEvent>> rows;
    followed.cursor =
        database_.follow(cursor, limit, [&](const Row& row) { rows.push_back(read_event(row)); });
    if (rows.empty()) return followed;
    const auto connection = database_.read();  // for names that are new to this process
    followed.events = finish_all(std::move(rows), interned_, *connection);
    return followed;
}

std::vector<Item> Reading::items(const ItemFilter& filter) {
    return in_read(database_, [&](Connection& connection) -> std::vector<Item> {
        Value type;
        if (!filter.type.empty()) {
            const auto ref = interned_.find(connection, std::string_view{filter.type});
            if (!ref) return {};
            type = *ref;
        }
        const Value kind = filter.kind ? Value{static_cast<int>(*filter.kind)} : Value{};
        std::vector<Unnamed<Item>> rows;
        const auto take = [&](const Row& row) { rows.push_back(read_item_row(row)); };
        if (filter.id.empty())
            connection.query(
                sql_.items.page,
                {filter.after, kind, type, given_text(filter.name), limit_of(filter.limit)}, take);
        else
            connection.query(sql_.items.page_of_instance,
                             {filter.after, kind, type, given_text(filter.name),
                              limit_of(filter.limit), bytes(filter.id)},
                             take);
        return finish_all(std::move(rows), interned_, connection);
    });
}

std::vector<LineDepth> Reading::depths() {
    return in_read(database_, [&](Connection& connection) {
        std::map<Ref, LineDepth> by_line;
        connection.query(sql_.items.waiting, {database_.now()}, [&](const Row& row) {
            LineDepth& depth = by_line[row.number(0)];
            depth.ready = row.number(1);
            depth.waiting = row.number(2);
            depth.oldest_due = row.maybe_time(3);
        });
        connection.query(sql_.items.claimed, {},
                         [&](const Row& row) { by_line[row.number(0)].claimed = row.number(1); });
        std::vector<LineDepth> depths;
        for (auto& [ref, depth] : by_line) {
            depth.line = interned_.line(connection, ref);
            depths.push_back(std::move(depth));
        }
        std::ranges::sort(depths, {}, &LineDepth::line);
        return depths;
    });
}

std::vector<RecordedEnding> Reading::endings(const ItemFilter& filter) {
    return in_read(database_, [&](Connection& connection) -> std::vector<RecordedEnding> {
        Value type;
        if (!filter.type.empty()) {
            const auto ref = interned_.find(connection, std::string_view{filter.type});
            if (!ref) return {};
            type = *ref;
        }
        const Value kind = filter.kind ? Value{static_cast<int>(*filter.kind)} : Value{};
        std::vector<RecordedEnding> endings;
        std::vector<Ref> lines;
        connection.query(sql_.endings.page,
                         {filter.after, kind, type, given_text(filter.name), limit_of(filter.limit),
                          given_bytes(filter.id)},
                         [&](const Row& row) {
                             endings.push_back(read_ending(row));
                             lines.push_back(row.number(1));
                         });
        for (std::size_t i = 0; i < endings.size(); ++i) {
            endings[i].line = interned_.line(connection, lines[i]);
            endings[i].instance.type = endings[i].line.type;
        }
        return endings;
    });
}

std::vector<InboxRow> Reading::inbox(const InstanceName& to, std::size_t limit) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<InboxRow> rows;
        const auto type = interned_.find(connection, std::string_view{to.type});
        if (!type) return rows;
        connection.query(sql_.inbox.page, {*type, bytes(to.id), limit_of(limit)},
                         [&](const Row& row) { rows.push_back(read_inbox_row(row)); });
        for (auto& row : rows) row.to = to;
        return rows;
    });
}

std::vector<Message> Reading::messages(const std::string& channel, std::int64_t after,
                                       std::size_t limit) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<Message> rows;
        const auto ref = interned_.find(connection, std::string_view{channel});
        if (!ref) return rows;
        connection.query(sql_.messages.page, {*ref, after, limit_of(limit)},
                         [&](const Row& row) { rows.push_back(read_message(row)); });
        for (auto& row : rows) row.channel = channel;
        return rows;
    });
}

}  // namespace pawl::store::sql
