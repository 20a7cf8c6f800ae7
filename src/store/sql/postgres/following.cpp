#include "store/sql/postgres/following.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <pawl/error.hpp>
#include <vector>

#include "store/sql/cursor.hpp"
#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr const char* beginning = "1:1:";  // the snapshot in which nothing was committed

struct Cursor {
    std::int64_t epoch = 0;
    std::string before = beginning;  // everything that was committed here was given
    std::string until = beginning;   // what was committed here and not before is being given
    std::int64_t floor = 0;          // transactions that began after `before` are above it
    std::int64_t next_floor = 0;     // the same for `until`
    std::int64_t seen = 0;           // of the batch, all up to here were given
    std::string restored =
        beginning;  // what was given of the restored events, in their old numbers
};

// epoch/before/until/floor/next floor/seen/restored
std::string text_of(const Cursor& cursor) {
    return fmt::format("{}/{}/{}/{}/{}/{}/{}", cursor.epoch, cursor.before, cursor.until,
                       cursor.floor, cursor.next_floor, cursor.seen, cursor.restored);
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
    std::array<std::string_view, 7> parts;
    std::string_view rest{text};
    bool good = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto slash = rest.find('/');
        good = good && (slash == rest.npos) == (i + 1 == parts.size());
        parts[i] = rest.substr(0, slash);
        rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
    }
    Cursor cursor{.epoch = number_of(parts[0], good),
                  .before = std::string{parts[1]},
                  .until = std::string{parts[2]},
                  .floor = number_of(parts[3], good),
                  .next_floor = number_of(parts[4], good),
                  .seen = number_of(parts[5], good),
                  .restored = std::string{parts[6]}};
    if (!good || !is_snapshot(cursor.before) || !is_snapshot(cursor.until) ||
        !is_snapshot(cursor.restored))
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

// The position is read before the snapshot: whoever has not begun by then gets a higher one.
void open_batch(PostgresConnection& connection, Cursor& cursor) {
    cursor.before = cursor.until;
    cursor.floor = cursor.next_floor;
    cursor.seen = 0;
    const auto table = connection.qualified("event");
    connection.query(last_position, {text(table)},
                     [&](const Row& row) { cursor.next_floor = row.number(0); });
    connection.query(snapshot, {},
                     [&](const Row& row) { cursor.until = std::string{row.view(0)}; });
}

}  // namespace

std::string follow_events(PostgresConnection& connection, const std::string& text_of_cursor,
                          std::size_t limit, const std::function<void(const Row&)>& take) {
    const Epoch current = read_epoch(connection);
    Cursor cursor{.epoch = current.number};
    if (!text_of_cursor.empty()) cursor = parse(text_of_cursor);
    // Of the batch that was being given nothing is known in new numbers, so it begins again.
    if (cursor.epoch != current.number)
        cursor = {.epoch = current.number, .restored = cursor.before};
    Cursor told = cursor;
    std::size_t given = 0;
    try {
        for (bool newest = false;;) {
            const auto before = given;
            connection.query(statements.events.follow,
                             {text(cursor.before), text(cursor.until), cursor.floor, cursor.seen,
                              limit_of(limit - given), current.rebased_at, text(cursor.restored)},
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
