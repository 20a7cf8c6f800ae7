#include "store/sql/retaining.hpp"

#include <algorithm>

#include "store/sql/cursor.hpp"
#include "store/sql/records.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

// Letters that are read at a time when many are tried again.
constexpr std::size_t batch = 256;

}  // namespace

std::vector<DeadLetter> Retaining::find(Connection& connection, const DeadLetterFilter& filter) {
    Value type;
    if (!filter.type.empty()) {
        const auto ref = interned_.find(connection, std::string_view{filter.type});
        if (!ref) return {};
        type = *ref;
    }
    const Value kind = filter.kind ? Value{static_cast<int>(*filter.kind)} : Value{};
    std::vector<DeadLetter> letters;
    std::vector<Unnamed<Item>> items;
    const auto take = [&](const Row& row) {
        items.push_back(read_item_row(row));
        letters.push_back({.reason = std::string{row.view(23)}, .died_at = row.time(24)});
    };
    Rows keys;
    const auto add = [&](std::int64_t last) {
        keys.add({filter.after, kind, type, given_text(filter.name), given_text(filter.reason),
                  filter.died_from, filter.died_before, given_bytes(filter.id), last});
    };
    auto ids = filter.items;
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const ItemId id : ids) add(id);
    if (ids.empty()) add(limit_of(filter.limit));
    connection.query(ids.empty() ? sql_.dead_letters.page : sql_.dead_letters.rows, keys,
                     [&](std::size_t, const Row& row) {
                         if (letters.size() < filter.limit) take(row);
                     });
    for (std::size_t i = 0; i < letters.size(); ++i)
        letters[i].item = finish(std::move(items[i]), interned_, connection);
    return letters;
}

std::vector<DeadLetter> Retaining::dead_letters(const DeadLetterFilter& filter) {
    return in_read(database_, [&](Connection& connection) {
        auto letters = find(connection, filter);
        Rows keys;
        for (const auto& letter : letters) keys.add({letter.item.id});
        connection.query(sql_.failures.of, keys, [&](std::size_t key, const Row& row) {
            letters[key].failures.push_back({.attempt = static_cast<std::int32_t>(row.number(0)),
                                             .at = row.time(1),
                                             .error = std::string{row.view(2)}});
        });
        return letters;
    });
}

std::int64_t Retaining::count_dead_letters(const DeadLetterFilter& filter) {
    return in_read(database_, [&](Connection& connection) -> std::int64_t {
        if (!filter.items.empty()) {
            auto all = filter;
            all.limit = filter.items.size();
            return static_cast<std::int64_t>(find(connection, all).size());
        }
        Value type;
        if (!filter.type.empty()) {
            const auto ref = interned_.find(connection, std::string_view{filter.type});
            if (!ref) return 0;
            type = *ref;
        }
        const Value kind = filter.kind ? Value{static_cast<int>(*filter.kind)} : Value{};
        std::int64_t count = 0;
        connection.query(
            sql_.dead_letters.count,
            {filter.after, kind, type, given_text(filter.name), given_text(filter.reason),
             filter.died_from, filter.died_before, given_bytes(filter.id)},
            [&](const Row& row) { count = row.number(0); });
        return count;
    });
}

// Those whose key is taken again stay dead and don't count, so there may be more to look at.
std::int64_t Retaining::retry_dead_letters(const DeadLetterFilter& filter) {
    const auto revived = receipts_.in_write_once([&](Connection& connection) {
        std::int64_t count = 0;
        auto rest = filter;
        while (count < limit_of(filter.limit)) {
            rest.limit = std::min(batch, filter.limit - static_cast<std::size_t>(count));
            const auto letters = find(connection, rest);
            if (letters.empty()) break;
            rest.after = letters.back().item.id;
            count += revive(connection, letters, rest.limit);
        }
        return count;
    });
    database_.announce();
    return revived;
}

void Retaining::lock(Connection& connection, const Rows& letters) {
    if (sql_.dead_letters.lock)
        connection.query(*sql_.dead_letters.lock, letters, [](std::size_t, const Row&) {});
}

std::int64_t Retaining::revive(Connection& connection, const std::vector<DeadLetter>& letters,
                               std::size_t limit) {
    base::check(letters.size() <= limit, "no more letters than may be tried again");
    const Time now = database_.now();
    Rows rows;
    Rows keys;
    for (const auto& letter : letters) {
        rows.add({letter.item.id, now});
        keys.add({letter.item.id});
    }
    lock(connection, keys);
    connection.run(sql_.dead_letters.revive, rows);
    return connection.run(sql_.dead_letters.remove_revived, keys);
}

std::int64_t Retaining::discard_dead_letters(const DeadLetterFilter& filter) {
    return receipts_.in_write_once([&](Connection& connection) {
        Rows keys;
        for (const auto& letter : find(connection, filter)) keys.add({letter.item.id});
        lock(connection, keys);
        connection.run(sql_.failures.remove, keys);
        return connection.run(sql_.dead_letters.remove, keys);
    });
}

Vacuumed Retaining::vacuum(const VacuumRequest& request) {
    return in_write(database_, Purpose::group, [&](Connection& connection) {
        const Time now = database_.now();
        const auto limit = limit_of(request.limit);
        Vacuumed vacuumed;
        const auto count = [&](std::int64_t removed) {
            vacuumed.removed += removed;
            vacuumed.more = vacuumed.more || removed == limit;
        };
        if (request.input_ids_older_than)
            count(connection.run(sql_.inputs.vacuum, {now - *request.input_ids_older_than, limit}));
        if (request.endings_older_than)
            count(connection.run(sql_.endings.vacuum, {now - *request.endings_older_than, limit}));
        if (request.endings_older_than)
            count(connection.run(sql_.dead_messages.clean_up,
                                 {now - *request.endings_older_than, limit}));
        count(connection.run(sql_.once.vacuum, {now, limit}));
        if (sql_.receipts)
            vacuumed.more |=
                connection.run(sql_.receipts->vacuum, {now - receipts_kept, limit}) == limit;
        if (request.dead_letters_older_than)
            count(remove_dead_letters(connection, now - *request.dead_letters_older_than, limit));
        if (request.finished_older_than)
            count(remove_finished(connection, now - *request.finished_older_than, limit));
        const auto events = connection.run(sql_.removed.events, {limit});
        connection.run(sql_.removed.forget);
        vacuumed.more = vacuumed.more || events == limit;
        return vacuumed;
    });
}

std::int64_t Retaining::remove_dead_letters(Connection& connection, Time before,
                                            std::int64_t limit) {
    Rows letters;
    connection.query(sql_.dead_letters.expired, {before, limit},
                     [&](const Row& row) { letters.add({row.number(0)}); });
    lock(connection, letters);
    connection.run(sql_.failures.remove, letters);
    return connection.run(sql_.dead_letters.remove, letters);
}

// An instance goes at once, and nobody sees its events any more. They may be many: they are removed
// in passes of their own.
std::int64_t Retaining::remove_finished(Connection& connection, Time before, std::int64_t limit) {
    Rows instances;
    connection.query(sql_.instances.expired, {before, limit},
                     [&](const Row& row) { instances.add({row.number(0)}); });
    connection.run(sql_.removed.add, instances);
    connection.run(sql_.inputs.remove, instances);
    connection.run(sql_.snapshots.remove, instances);
    connection.run(sql_.endings.remove, instances);
    return connection.run(sql_.instances.remove, instances);
}

}  // namespace pawl::store::sql
