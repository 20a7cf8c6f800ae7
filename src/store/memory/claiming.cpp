#include "store/memory/claiming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

namespace pawl::store::memory {
namespace {

void unclaim(Item& item, Time now) {
    item.due_at = now;
    item.session = 0;
    item.fence = 0;
}

void give_back(State& state, Time now, ItemId id) {
    state.items.change(id, [&](ItemRow& row) {
        unclaim(row.item, now);
        --row.item.attempts;
    });
}

// What a session holds when its lease has passed ended without a word.
void lose_items(State& state, Time now, SessionId session) {
    const auto held = state.items.held_by(session);
    for (const ItemId id : held)
        state.items.change(id, [&](ItemRow& row) {
            unclaim(row.item, now);
            ++row.item.losses;
            if (row.alone && held.size() == 1) ++row.item.losses_alone;
            row.alone = row.item.losses > 1;
        });
}

void reap_expired(State& state, Time now) {
    for (auto at = state.sessions.begin(); at != state.sessions.end();) {
        if (at->second.until <= now) {
            lose_items(state, now, at->first);
            at = state.sessions.erase(at);
        } else {
            ++at;
        }
    }
}

// What was due by the later clock stays so: it must not wait until the clock is there again.
// Timers, which must not ring early, are due only if they were set by that clock, and due at once
// or by `from`.
void make_due(State& state, Time now, Time until, Time from) {
    std::vector<ItemId> due;
    for (const auto& [id, row] : state.items.rows()) {
        const Item& item = row.item;
        if (!item.due_at || *item.due_at <= now) continue;
        const bool is_due =
            item.line.kind == ItemKind::timer
                ? item.created_at > now && (*item.due_at <= item.created_at || *item.due_at <= from)
                : *item.due_at <= until;
        if (is_due) due.push_back(id);
    }
    for (const ItemId id : due)
        state.items.change(id, [&](ItemRow& row) { row.item.due_at = now; });
}

// Leases that were set by a later clock last from now on.
void mend_if_clock_went_back(State& state, Time now) {
    Time until = now;
    Time from = now;
    for (auto& [id, session] : state.sessions) {
        if (session.until - session.lease <= now + clock_noise) continue;
        until = std::max(until, session.until);
        from = std::max(from, session.until - session.lease);
        session.until = now + session.lease;
    }
    if (until > now) make_due(state, now, until, from);
}

using Queue = ItemTable::Queue;

// The due items of a line, oldest first, as many as it may give.
Queue due_items(const State& state, Time now, const ClaimRequest::Interest& interest, bool alone) {
    Queue due;
    for (const auto& entry : state.items.waiting(interest.line, alone)) {
        if (entry.first > now || due.size() == interest.limit) break;
        due.insert(entry);
    }
    return due;
}

// One item of each line in turn, in the order of the interests, until `limit` is reached: a long
// line never starves a short one.
Queue choose_in_turn(std::vector<Queue> lines, std::size_t limit) {
    Queue chosen;
    bool some = true;
    while (some) {
        some = false;
        for (auto& line : lines) {
            if (line.empty() || chosen.size() == limit) continue;
            chosen.insert(line.extract(line.begin()));
            some = true;
        }
    }
    return chosen;
}

Queue choose(const State& state, Time now, const ClaimRequest& request) {
    std::vector<Queue> lines;
    for (const auto& interest : request.interests)
        lines.push_back(due_items(state, now, interest, request.lost_ones));
    if (!request.lost_ones) return choose_in_turn(std::move(lines), request.limit);

    Queue all;
    for (auto& line : lines) all.merge(line);
    while (all.size() > std::min<std::size_t>(request.limit, 1)) all.erase(std::prev(all.end()));
    return all;
}

}  // namespace

SessionId open_session(State& state, Time now, const SessionOptions& options) {
    mend_if_clock_went_back(state, now);
    // Where no session has seen the later time, the last item may have.
    if (!state.items.rows().empty()) {
        const Time last = state.items.rows().rbegin()->second.item.created_at;
        if (last > now + clock_noise) make_due(state, now, last, last);
    }
    const SessionId id = ++state.last_session;
    state.sessions[id] = {
        .until = now + options.lease, .lease = options.lease, .owner = options.owner};
    return id;
}

bool renew_session(State& state, Time now, SessionId session, Duration lease) {
    mend_if_clock_went_back(state, now);
    const auto at = state.sessions.find(session);
    if (at == state.sessions.end()) return false;
    at->second.lease = lease;
    at->second.until = now + lease;  // also after it has passed, if nobody took the claims
    return true;
}

void close_session(State& state, Time now, SessionId session) {
    for (const ItemId id : state.items.held_by(session)) give_back(state, now, id);
    state.sessions.erase(session);
}

std::size_t count_sessions(const State& state, Time now) {
    return static_cast<std::size_t>(std::ranges::count_if(
        state.sessions, [&](const auto& session) { return session.second.until > now; }));
}

void release_item(State& state, Time now, ItemId id, Fence fence) {
    const ItemRow* row = state.items.find(id);
    if (row && row->item.session != 0 && row->item.fence == fence) give_back(state, now, id);
}

Claimed claim_items(State& state, Time now, const ClaimRequest& request) {
    const auto session = state.sessions.find(request.claim.session);
    if (session == state.sessions.end() || session->second.until <= now)
        throw Error{Code::unknown,
                    fmt::format("claim for session {}: its lease has passed; renew it, or open "
                                "another if that fails",
                                request.claim.session)};
    mend_if_clock_went_back(state, now);
    reap_expired(state, now);

    Claimed claimed{.now = now};
    for (const auto& [due_at, id] : choose(state, now, request)) {
        state.items.change(id, [&](ItemRow& row) {
            row.item.due_at.reset();
            row.item.session = request.claim.session;
            row.item.fence = request.claim.fence;
            ++row.item.attempts;
        });
        claimed.items.push_back(state.items.find(id)->item);
    }
    for (const auto& interest : request.interests) {
        const Queue& left = state.items.waiting(interest.line, request.lost_ones);
        if (!left.empty())
            claimed.next_due =
                std::min(claimed.next_due.value_or(Time::max()), left.begin()->first);
        const Queue& lost = state.items.waiting(interest.line, true);
        if (!lost.empty() && lost.begin()->first <= now) claimed.lost_ones_wait = true;
    }
    return claimed;
}

}  // namespace pawl::store::memory
