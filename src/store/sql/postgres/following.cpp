#include "store/sql/postgres/following.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <pawl/error.hpp>
#include <tuple>

#include "store/sql/cursor.hpp"
#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr const char* beginning = "1:1:";  // the snapshot in which nothing was committed

// A moment, as the server saw it.
struct Moment {
    std::string committed = beginning;  // the snapshot
    std::int64_t floor = 0;             // positions given out before it, at most
    std::string ceiling = "0";          // transactions that began later have this number or more
};

struct Cursor {
    std::int64_t epoch = 0;
    Moment before{};                   // everything that was committed here was given
    Moment until{};                    // what was committed here and not before is being given
    std::int64_t seen = 0;             // of that, all up to this position were given
    std::string restored = beginning;  // what was given of restored events, in their old numbers
};

// epoch/before, its floor and ceiling/until, its floor and ceiling/seen/restored
std::string text_of(const Cursor& cursor) {
    const auto& [before, until] = std::tie(cursor.before, cursor.until);
    return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}/{}", cursor.epoch, before.committed, before.floor,
                       before.ceiling, until.committed, until.floor, until.ceiling, cursor.seen,
                       cursor.restored);
}

std::int64_t number_of(std::string_view text, bool& good) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    good = good && error == std::errc{} && end == text.data() + text.size() && number >= 0;
    return number;
}

bool is_snapshot(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789:,") == text.npos &&
           std::count(text.begin(), text.end(), ':') == 2;
}

Cursor parse(const std::string& text) {
    std::array<std::string_view, 9> parts;
    std::string_view rest{text};
    bool good = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto slash = rest.find('/');
        good = good && (slash == rest.npos) == (i + 1 == parts.size());
        parts[i] = rest.substr(0, slash);
        rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
    }
    const auto moment = [&](std::size_t first) {
        number_of(parts[first + 2], good);
        good = good && is_snapshot(parts[first]);
        return Moment{.committed = std::string{parts[first]},
                      .floor = number_of(parts[first + 1], good),
                      .ceiling = std::string{parts[first + 2]}};
    };
    Cursor cursor{.epoch = number_of(parts[0], good),
                  .before = moment(1),
                  .until = moment(4),
                  .seen = number_of(parts[7], good),
                  .restored = std::string{parts[8]}};
    if (!good || !is_snapshot(cursor.restored))
        throw Error{Code::invalid, fmt::format("\"{}\" is not a cursor of this store", text)};
    return cursor;
}

struct Epoch {
    std::int64_t number = 0;
    std::int64_t rebased_at = 0;
};

Epoch read_epoch(PostgresConnection& connection) {
    for (const bool last_try : {false, true}) {
        Epoch found;
        bool ours = false;
        connection.query(epoch, {}, [&](const Row& row) {
            found = {row.number(0), row.number(1)};
            ours = row.number(2) == 1;
        });
        if (ours || last_try) return found;
        const auto table = connection.qualified("event");
        connection.run(rebase, {text(table)});
    }
    return {};
}

// The position is read before the snapshot and the ceiling after it: who begins later than the
// ceiling gets a higher position than the floor, because a transaction has its number before it
// takes a position (`events.add`).
void open_batch(PostgresConnection& connection, Cursor& cursor) {
    cursor.before = cursor.until;
    cursor.seen = 0;
    const auto table = connection.qualified("event");
    connection.query(last_position, {text(table)},
                     [&](const Row& row) { cursor.until.floor = row.number(0); });
    connection.query(snapshot, {}, [&](const Row& row) {
        cursor.until.committed = row.view(0);
        cursor.until.ceiling = row.view(1);
    });
}

}  // namespace

std::string follow_events(PostgresConnection& connection, const std::string& text_of_cursor,
                          std::size_t limit, const std::function<void(const Row&)>& take) {
    const Epoch current = read_epoch(connection);
    Cursor cursor{.epoch = current.number};
    if (!text_of_cursor.empty()) cursor = parse(text_of_cursor);
    // Of the batch that was being given nothing is known in new numbers, so it begins again.
    if (cursor.epoch != current.number)
        cursor = {.epoch = current.number, .restored = cursor.before.committed};
    Cursor told = cursor;
    std::size_t given = 0;
    try {
        for (bool newest = false;;) {
            const auto before = given;
            connection.query(
                statements.events.follow,
                {text(cursor.before.committed), cursor.before.floor, text(cursor.before.ceiling),
                 text(cursor.until.committed), cursor.seen, limit_of(limit - given),
                 current.rebased_at, text(cursor.restored)},
                [&](const Row& row) {
                    cursor.seen = row.number(0);
                    ++given;
                    take(row);
                });
            told = cursor;
            if (given >= limit || (newest && given == before)) break;
            open_batch(connection, cursor);
            newest = true;
        }
    } catch (const LostConnection&) {
        if (given == 0) throw;  // else what was taken stays taken
    }
    return text_of(told);
}

}  // namespace pawl::store::sql::postgres
