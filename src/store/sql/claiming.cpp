#include "store/sql/claiming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/points.hpp"
#include "store/sql/records.hpp"
#include "store/sql/session_statements.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

namespace points = base::points;

using Queue = std::set<std::pair<Time, ItemId>>;

// One item of each line in turn, in the order of the interests, until `limit` is reached: a long
// line never starves a short one.
Queue choose_in_turn(std::vector<Queue> lines, std::size_t limit) {
    Queue chosen;
    bool some = true;
    while (some && chosen.size() < limit) {
        some = false;
        for (auto& line : lines) {
            if (line.empty() || chosen.size() == limit) continue;
            chosen.insert(line.extract(line.begin()));
            some = true;
        }
    }
    return chosen;
}

// The one that is due longest.
Queue choose_one(std::vector<Queue> lines, std::size_t limit) {
    Queue all;
    for (auto& line : lines) all.merge(line);
    if (limit == 0) return {};
    if (all.size() > 1) all.erase(std::next(all.begin()), all.end());
    return all;
}

}  // namespace

// A server that has lost commits gives a number again, and two processes must not take each other's
// session for their own.
SessionId Claiming::unrepeated(std::int64_t number) {
    return (number & 0x7fffffff) << 32 | static_cast<SessionId>(random_->next() & 0xffffffff);
}

SessionId Claiming::open_session(const SessionOptions& options) {
    mend_if_clock_went_back(true);
    return in_write(database_, Purpose::claim, [&](Connection& connection) {
        const SessionId id = unrepeated(database_.numbers()->next(connection, Number::session));
        connection.run(sql_.sessions.add, {id, database_.now() + options.lease,
                                           given_text(options.owner), options.lease.count()});
        connection.reach(points::open_written);
        return id;
    });
}

bool Claiming::renew(SessionId session, Duration lease) {
    bool went_back = false;
    const auto renew_if = [&](bool looks) {
        return in_write(database_, Purpose::renewal, [&](Connection& connection) {
            const Time now = database_.now();
            went_back = false;
            // The renewal makes this session forget that the clock went back, so it looks before.
            // It must not wait for a connection that others use.
            if (looks)
                connection.query(sql_.sessions.ahead, {now + clock_noise},
                                 [&](const Row&) { went_back = true; });
            if (went_back) return false;
            const bool renewed =
                connection.run(sql_.sessions.renew, {session, now + lease, lease.count()}) > 0;
            connection.reach(points::renew_written);
            return renewed;
        });
    };
    const bool renewed = renew_if(true);
    if (!went_back) return renewed;
    mend_if_clock_went_back(false);
    return renew_if(false);
}

std::size_t Claiming::sessions() {
    return in_read(database_, [&](Connection& connection) {
        std::size_t count = 0;
        connection.query(sql_.sessions.count, {database_.now()},
                         [&](const Row& row) { count = static_cast<std::size_t>(row.number(0)); });
        return count;
    });
}

void Claiming::close_session(SessionId session) {
    in_write(database_, Purpose::claim, [&](Connection& connection) {
        connection.query(sql_.sessions.lock, {session}, [](const Row&) {});
        connection.run(sql_.items.release_session, {session, database_.now()});
        connection.reach(points::close_released);
        return connection.run(sql_.sessions.remove, {session});
    });
    database_.announce();
}

void Claiming::release(std::span<const std::pair<ItemId, Fence>> items) {
    in_write(database_, Purpose::claim, [&](Connection& connection) {
        const Time now = database_.now();
        Rows rows;
        for (const auto& [id, fence] : items) rows.add({id, fence, now});
        const auto released = connection.run(sql_.items.release, rows);
        connection.reach(points::release_written);
        return released;
    });
    database_.announce();
}

std::vector<std::pair<ItemId, Fence>> Claiming::claims_of(SessionId session) {
    return in_read(database_, [&](Connection& connection) {
        std::vector<std::pair<ItemId, Fence>> claims;
        connection.query(claims_of_sessions, {}, [&](const Row& row) {
            if (row.number(2) == session) claims.emplace_back(row.number(0), row.number(1));
        });
        return claims;
    });
}

Claimed Claiming::claim(const ClaimRequest& request) {
    const auto strays = strays_.of(request.claim.session);
    // Where a claim was filled there is more: no need to look first.
    if (strays.empty() && (!is_more_ || request.limit == 0)) {
        Claimed nothing{.now = database_.now()};
        const Sight sight = in_read(
            database_, [&](Connection& reader) { return look(reader, request, nothing.now); });
        if (!sight.something_to_do) {
            nothing.next_due = sight.next_due;
            nothing.lost_ones_wait = sight.lost_ones_wait;
            return nothing;
        }
    }
    int runs = 0;
    try {
        auto claimed = in_write(database_, Purpose::claim, [&](Connection& writer) {
            // An earlier try that nobody heard of may still be committing, and can't be seen. It
            // shares the session.
            if (runs > 0 || !strays.empty())
                writer.query(sql_.sessions.lock, {request.claim.session}, [](const Row&) {});
            for (const auto& [session, fence] : strays)
                writer.run(sql_.items.release_claim, {session, fence, database_.now()});
            return take_what_is_due(writer, request, ++runs > 1);
        });
        strays_.forget(strays);
        is_more_ = request.limit > 0 && claimed.items.size() >= request.limit;
        return claimed;
    } catch (const Error& error) {
        is_more_ = false;
        // Whether the claim was made before the failure is not known, and its maker goes on without
        // it.
        if (runs > 1 || error.code() != Code::unknown) strays_.add(request.claim);
        throw;
    }
}

Claimed Claiming::take_what_is_due(Connection& writer, const ClaimRequest& request, bool again) {
    writer.reach(points::claim_begun);
    Claimed claimed{.now = database_.now()};
    check_session(writer, sql_.sessions.hold, request.claim.session, claimed.now);
    reap_expired(writer, claimed.now);
    writer.reach(points::claim_reaped);
    const auto lines = wanted_lines(writer, request);
    std::vector<ItemId> taken;
    if (again) {
        const Claim& claim = request.claim;
        writer.query(sql_.items.of_claim, {claim.session, claim.fence},
                     [&](const Row& row) { taken.push_back(row.number(0)); });
    }
    claimed.items = taken.empty()
                        ? take(writer, request.claim, choose(writer, request, lines, claimed.now))
                        : read_items(writer, taken);
    Sight left;
    see_waiting(writer, request, lines, claimed.now, left);
    claimed.next_due = left.next_due;
    claimed.lost_ones_wait = left.lost_ones_wait;
    writer.reach(points::claim_taken);
    return claimed;
}

Claiming::Sight Claiming::look(Connection& connection, const ClaimRequest& request, Time now) {
    Sight sight;
    check_session(connection, sql_.sessions.find, request.claim.session, now);
    connection.query(sql_.sessions.expired, {now, now + clock_noise},
                     [&](const Row&) { sight.something_to_do = true; });
    if (sight.something_to_do) return sight;
    see_waiting(connection, request, wanted_lines(connection, request), now, sight);
    sight.something_to_do = request.limit > 0 && sight.next_due && *sight.next_due <= now;
    return sight;
}

void Claiming::check_session(Connection& connection, Statement find, SessionId session, Time now) {
    bool open = false;
    connection.query(find, {session}, [&](const Row& row) { open = row.time(0) > now; });
    if (!open)
        throw Error{Code::unknown,
                    fmt::format("claim for session {}: its lease has passed; renew it, or open "
                                "another if that fails",
                                session)};
}

Claiming::Lines Claiming::wanted_lines(Connection& connection, const ClaimRequest& request) {
    Lines lines;
    for (const auto& [line, limit] : request.interests) {
        const LineView view{line.kind, line.type, line.name};
        if (const auto ref = interned_.find(connection, view))
            lines.push_back({*ref, std::min(limit, request.limit)});
    }
    return lines;
}

void Claiming::set_marks(Lines& lines, const ClaimRequest& request) const {
    if (!sql_.items.from_mark || request.lost_ones) return;
    for (auto& line : lines) line.from = marks_.of(line.line).value_or(Time::min());
}

void Claiming::see_waiting(Connection& connection, const ClaimRequest& request, Lines lines,
                           Time now, Sight& sight) {
    set_marks(lines, request);
    Rows keys;
    const bool marked = std::ranges::any_of(lines, &WantedLine::has_mark);
    for (const auto& wanted : lines) {
        for (const int alone : {0, 1}) {
            const Time from = alone == 1 ? Time::min() : wanted.from;
            marked ? keys.add({wanted.line, alone, from}) : keys.add({wanted.line, alone});
        }
    }
    const auto first_due = marked ? sql_.items.from_mark->first_due : sql_.items.first_due;
    connection.query(first_due, keys, [&](std::size_t key, const Row& row) {
        const Time due = row.time(0);
        const bool lost = key % 2 == 1;
        if (!lost && due <= now) lines[key / 2].from = Time::min();  // it has shown something
        if (lost && due <= now) sight.lost_ones_wait = true;
        if (lost == request.lost_ones)
            sight.next_due = std::min(sight.next_due.value_or(Time::max()), due);
    });
    std::erase_if(lines, [](const WantedLine& line) { return !line.has_mark(); });
    if (lines.empty()) return;
    // Nothing behind the mark: there may be something before it.
    for (const auto& line : lines) marks_.forget(line.line);
    see_waiting(connection, request, std::move(lines), now, sight);
}

// Where no session has seen the later time, the last item may have.
void Claiming::mend_if_clock_went_back(bool begins) {
    std::optional<Time> last;
    const bool went_back = in_read(database_, [&](Connection& connection) {
        const Time then = database_.now() + clock_noise;
        bool found = false;
        connection.query(sql_.sessions.ahead, {then}, [&](const Row&) { found = true; });
        if (begins)
            connection.query(sql_.items.last, {}, [&](const Row& row) { last = row.time(0); });
        if (last && *last <= then) last.reset();
        return found || last;
    });
    if (!went_back) return;
    in_write(database_, Purpose::claim, [&](Connection& connection) {
        const Time now = database_.now();
        reap_expired(connection, now);
        if (last) connection.run(sql_.items.mend, {now, *last, *last});
        return true;
    });
    marks_.forget();
    database_.announce();
}

// The database's clock was set back since these leases were set. They last from now on, and what
// was due by then stays so: it must not wait until the clock is there again.
void Claiming::mend(Connection& connection, Time now, const std::vector<Ahead>& ahead) {
    Time until = now;
    Time from = now;
    for (const auto& one : ahead) {
        until = std::max(until, one.until);
        from = std::max(from, one.until - one.lease);
        connection.run(sql_.sessions.renew, {one.session, now + one.lease, one.lease.count()});
    }
    connection.run(sql_.items.mend, {now, until, from});
    marks_.forget();
}

// What an expired session held ended without a word.
void Claiming::reap_expired(Connection& connection, Time now) {
    std::vector<SessionId> expired;
    std::vector<Ahead> ahead;
    connection.query(sql_.sessions.lock_expired, {now, now + clock_noise}, [&](const Row& row) {
        if (row.time(1) <= now)
            expired.push_back(row.number(0));
        else
            ahead.push_back({row.number(0), row.time(1), Duration{row.number(2)}});
    });
    if (!ahead.empty()) mend(connection, now, ahead);
    for (const SessionId session : expired) {
        bool lost_alone = false;
        connection.query(sql_.items.held, {session}, [&](const Row& row) {
            lost_alone = row.number(0) == 1 && row.number(1) == 1;
        });
        connection.run(sql_.items.lose, {session, now, lost_alone ? 1 : 0});
        connection.run(sql_.sessions.remove, {session});
    }
}

std::vector<ItemId> Claiming::choose(Connection& connection, const ClaimRequest& request,
                                     Lines lines, Time now) {
    set_marks(lines, request);
    auto queues = find_ready(connection, request, lines, now);
    Lines again;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!lines[i].has_mark() || queues[i].size() >= lines[i].limit) continue;
        again.push_back({lines[i].line, lines[i].limit});
        places.push_back(i);
    }
    // There was too little behind the mark: there may be something before it.
    auto found = find_ready(connection, request, again, now);
    for (std::size_t k = 0; k < places.size(); ++k) queues[places[k]] = std::move(found[k]);

    const auto chosen = request.lost_ones ? choose_one(std::move(queues), request.limit)
                                          : choose_in_turn(std::move(queues), request.limit);
    std::vector<ItemId> items;
    for (const auto& [due, id] : chosen) items.push_back(id);
    return items;
}

std::vector<Claiming::Queue> Claiming::find_ready(Connection& connection,
                                                  const ClaimRequest& request, const Lines& lines,
                                                  Time now) {
    const bool marked = std::ranges::any_of(lines, &WantedLine::has_mark);
    Rows keys;
    for (const auto& wanted : lines) {
        const int alone = request.lost_ones ? 1 : 0;
        const auto limit = static_cast<std::int64_t>(wanted.limit);
        marked ? keys.add({wanted.line, alone, now, limit, wanted.from})
               : keys.add({wanted.line, alone, now, limit});
    }
    std::vector<Queue> queues(lines.size());
    const Duration begun = ClaimMarks::uptime();
    const auto ready = marked ? sql_.items.from_mark->ready : sql_.items.ready;
    connection.query(ready, keys, [&](std::size_t key, const Row& row) {
        queues[key].emplace(row.time(1), row.number(0));
    });
    if (sql_.items.from_mark && !request.lost_ones)
        note_marks(lines, queues, ClaimMarks::uptime() - begun);
    return queues;
}

void Claiming::note_marks(const Lines& lines, const std::vector<Queue>& queues, Duration took) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto& wanted = lines[i];
        if (queues[i].empty() || queues[i].size() < wanted.limit)
            marks_.forget(wanted.line);
        else if (wanted.has_mark())
            marks_.found_enough(wanted.line, queues[i].begin()->first);
        else
            marks_.found_enough_from_start(wanted.line, queues[i].begin()->first, took);
    }
}

std::vector<Item> Claiming::take(Connection& connection, const Claim& claim,
                                 const std::vector<ItemId>& items) {
    Rows claims;
    for (const ItemId id : items) claims.add({id, claim.session, claim.fence});
    connection.post(sql_.items.claim, claims);
    return read_items(connection, items);
}

std::vector<Item> Claiming::read_items(Connection& connection, const std::vector<ItemId>& items) {
    Rows keys;
    for (const ItemId id : items) keys.add({id});
    std::vector<Unnamed<Item>> rows;
    connection.query(sql_.items.rows, keys,
                     [&](std::size_t, const Row& row) { rows.push_back(read_item_row(row)); });
    return finish_all(std::move(rows), interned_, connection);
}

}  // namespace pawl::store::sql
