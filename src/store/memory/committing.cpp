#include "store/memory/committing.hpp"

#include <algorithm>
#include <pawl/error.hpp>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "store/memory/delivering.hpp"

namespace pawl::store::memory {
namespace {

Version current_version(const State& state, const InstanceName& name) {
    const auto at = state.instances.find(name);
    return at == state.instances.end() ? 0 : at->second.row.version;
}

// Whether what it was decided on is what is there.
bool is_current(const State& state, const Append& append) {
    const auto at = state.instances.find(append.instance);
    if (at == state.instances.end()) return append.expected == 0;
    const InstanceRow& row = at->second.row;
    return append.expected == row.version && append.expected_head.value_or(row.head) == row.head;
}

bool holds_fence(const State& state, const Settlement& settlement) {
    const ItemRow* row = state.items.find(settlement.item);
    return row && row->item.session != 0 && row->item.fence == settlement.fence;
}

bool passes_over_mail(const State& state, const Settlement& settlement) {
    const bool ends = settlement.verdict == Verdict::ack || settlement.verdict == Verdict::suspend;
    return ends && settlement.seen_mail &&
           state.items.find(settlement.item)->item.mail != *settlement.seen_mail;
}

// Fate `committed` if every guard holds. The order of the guards is part of the specification.
Answer check_guards(const State& state, const Commit& commit, bool chain_broken) {
    const auto& append = commit.append;
    const Version current = append ? current_version(state, append->instance) : 0;
    if (chain_broken) return {.fate = Fate::stale, .version = current};

    for (const auto& settlement : commit.settlements)
        if (!holds_fence(state, settlement)) return {.fate = Fate::fence_lost};
    std::int64_t mail = 0;
    for (const auto& settlement : commit.settlements) {
        mail = state.items.find(settlement.item)->item.mail;
        if (passes_over_mail(state, settlement)) return {.fate = Fate::mail_waits, .mail = mail};
    }
    for (const auto& row : commit.inbox)
        if (row.to_run && !state.items.run_of(row.to)) return {.fate = Fate::no_run};
    if (!append) return {.fate = Fate::committed, .mail = mail};

    if (!append->input_id.empty() && current > 0) {
        const auto& inputs = state.instances.at(append->instance).inputs;
        const auto applied = inputs.find(append->input_id);
        if (applied != inputs.end())
            return {.fate = Fate::duplicate, .version = applied->second.led_to};
    }
    if (!is_current(state, *append)) return {.fate = Fate::stale, .version = current};
    if (!append->unique_key.empty()) {
        const auto held = state.unique_keys.find({append->instance.type, append->unique_key});
        if (held != state.unique_keys.end() && held->second != append->instance)
            return {.fate = Fate::unique_key_taken, .holder = held->second.id};
    }
    return {.fate = Fate::committed, .version = current, .mail = mail};
}

void suspend(State& state, const Settlement& settlement) {
    state.items.change(settlement.item, [&](ItemRow& row) {
        Item& item = row.item;
        item.due_at = settlement.wake.at.value_or(never);
        item.session = 0;
        item.fence = 0;
        item.attempts = 0;
        item.losses = 0;
        item.losses_alone = 0;
        item.mail = 0;
        item.wakes_at_mail = settlement.wake.mail;
        item.last_error.clear();
        row.alone = false;
    });
}

void settle(State& state, Time now, const Settlement& settlement) {
    if (settlement.verdict == Verdict::hold) {
        if (settlement.got_further)
            state.items.change(settlement.item, [](ItemRow& row) {
                row.item.losses = 0;
                row.item.losses_alone = 0;
                row.alone = false;
            });
        return;
    }
    if (settlement.verdict == Verdict::suspend) return suspend(state, settlement);
    const Failure failure{.attempt = state.items.find(settlement.item)->item.attempts,
                          .at = now,
                          .error = settlement.reason};
    if (settlement.verdict == Verdict::retry) {
        state.items.change(settlement.item, [&](ItemRow& row) {
            row.item.due_at = now + settlement.retry_after;
            row.item.session = 0;
            row.item.fence = 0;
            row.item.last_error = settlement.reason;
            row.failures.push_back(failure);
            row.alone = false;  // its claimant lived to give its word
        });
        return;
    }
    ItemRow row = state.items.take(settlement.item);
    Item& item = row.item;
    if (settlement.verdict == Verdict::bury) {
        item.session = 0;
        item.fence = 0;
        item.mail = 0;
        item.wakes_at_mail = 0;
        item.last_error = settlement.reason;
        row.failures.push_back(failure);
        state.dead_letters[item.id] = {.item = item,
                                       .reason = settlement.reason,
                                       .died_at = now,
                                       .failures = std::move(row.failures)};
    } else if (settlement.ending != Ending::applied) {
        state.endings[item.id] = {.item = item.id,
                                  .line = item.line,
                                  .instance = item.instance,
                                  .key = item.key,
                                  .ending = settlement.ending,
                                  .reason = settlement.ending_reason,
                                  .at = now};
    }
}

Envelope with_correlation(Envelope envelope, const Uuid& otherwise) {
    if (envelope.correlation.empty()) envelope.correlation = otherwise.text();
    return envelope;
}

// An instance holds at most one key, and none when it is finished.
void hold_unique_key(State& state, InstanceRow& row, const std::string& key) {
    if (key.empty() && !row.finished_at) return;
    state.unique_keys.erase({row.name.type, row.unique_key});
    row.unique_key = row.finished_at ? "" : key;
    if (!row.unique_key.empty()) state.unique_keys[{row.name.type, key}] = row.name;
}

void append_events(State& state, Time now, const Append& append, const Envelope& envelope) {
    const auto [at, created] = state.instances.try_emplace(append.instance);
    Instance& instance = at->second;
    InstanceRow& row = instance.row;
    if (created) {
        row = {.name = append.instance, .tenant = envelope.tenant, .created_at = now};
        state.by_creation.push_back(append.instance);
    }
    for (const auto& event : append.events) {
        const auto position = static_cast<std::int64_t>(state.journal.size()) + 1;
        state.journal.push_back({.instance = append.instance,
                                 .sequence = ++row.version,
                                 .position = position,
                                 .event = event,
                                 .envelope = with_correlation(envelope, event.id),
                                 .at = now});
        instance.positions.push_back(position);
    }
    row.head = head_of(append.events.back().id);
    row.updated_at = now;
    if (append.finished) row.finished_at = now;
    base::check(append.status >= 0 && append.status <= highest_status,
                "a status is a small number");
    if (append.status != 0) row.status = append.status;
    hold_unique_key(state, row, append.unique_key);
    if (!append.input_id.empty()) instance.inputs[append.input_id] = {row.version, now};
    if (append.snapshot) {
        base::check(append.snapshot->sequence <= row.version, "a snapshot is of committed events");
        instance.snapshot = append.snapshot;
    }
}

void remove_timers(State& state, const std::vector<ItemId>& ids) {
    for (const ItemId id : ids) state.items.take(id);
}

ItemId put_item(State& state, Item item, const Put& put, Time now) {
    item.id = ++state.last_item;
    item.line = {.kind = put.kind, .type = item.instance.type, .name = put.name};
    item.key = put.key;
    item.payload = put.payload;
    item.created_at = now;
    // A session that is gone can't hold it: nobody would ever give the item back.
    if (put.born_claimed && state.sessions.contains(put.born_claimed->session)) {
        item.session = put.born_claimed->session;
        item.fence = put.born_claimed->fence;
        item.attempts = 1;
    } else {
        item.due_at = put.at ? *put.at : now + put.after;
    }
    const ItemId id = item.id;
    state.items.put({.item = std::move(item)});
    return id;
}

std::vector<ItemId> put_items(State& state, Time now, const Append& append,
                              const Envelope& envelope) {
    const Uuid& cause = append.events.front().id;
    Item item{.instance = append.instance,
              .sequence = current_version(state, append.instance),
              .envelope = with_correlation(envelope, cause)};
    item.envelope.causation = cause;

    std::vector<ItemId> ids;
    for (const auto& put : append.puts) {
        item.index = static_cast<std::int32_t>(ids.size());
        const bool timer = put.kind == ItemKind::timer;
        if (timer && !put.key.empty())
            remove_timers(state, state.items.timers(append.instance, put.key));
        ids.push_back(timer && append.finished ? 0 : put_item(state, item, put, now));
    }
    return ids;
}

void take_from_inbox(State& state, const Append& append) {
    std::erase_if(state.inbox, [&](const InboxRow& row) {
        return row.to == append.instance &&
               (append.ends_run || std::ranges::count(append.taken, row.position) > 0);
    });
}

void write_append(State& state, Time now, const Commit& commit, Answer& answer) {
    const Append& append = *commit.append;
    if (append.events.empty()) {
        base::check(append.cancels.empty() && append.puts.empty() && append.taken.empty(),
                    "a Commit without events cancels, puts and takes nothing");
        if (!changes_status(append)) return;
        InstanceRow& row = state.instances.at(append.instance).row;
        row.status = append.status;
        row.updated_at = now;
        return;
    }
    append_events(state, now, append, commit.envelope);
    for (const auto& key : append.cancels)
        remove_timers(state, state.items.timers(append.instance, key));
    if (append.finished) remove_timers(state, state.items.timers(append.instance));
    if (append.ends_run)
        if (const auto run = state.items.run_of(append.instance)) state.items.take(*run);
    take_from_inbox(state, append);
    answer.items = put_items(state, now, append, commit.envelope);
    answer.version = current_version(state, append.instance);
}

// Mail is counted, and wakes whom it is for if that is suspended and has enough of it. A Commit
// that ends the run it sends mail to has nobody to wake.
void count_mail(State& state, Time now, const InboxRow& mail) {
    const auto run = state.items.run_of(mail.to);
    if (!run) return;
    state.items.change(*run, [&](ItemRow& row) {
        Item& item = row.item;
        ++item.mail;
        if (item.due_at && (mail.urgent || item.mail >= item.wakes_at_mail))
            item.due_at = std::min(*item.due_at, now);
    });
}

void write_commit(State& state, Time now, const Commit& commit, Answer& answer) {
    for (const auto& settlement : commit.settlements) settle(state, now, settlement);
    if (commit.append) write_append(state, now, commit, answer);
    for (InboxRow row : commit.inbox) {
        row.position = ++state.last_inbox;
        row.at = now;
        if (row.to_run) count_mail(state, now, row);
        state.inbox.push_back(std::move(row));
    }
    for (Message message : commit.messages) {
        if (!message.once.empty()) {
            auto& until = state.once[{message.channel, message.once}];
            if (until > now) continue;
            until = now + message.once_for;
        }
        message.partition = partition_of(state, message);
        message.position = ++state.last_message;
        message.at = now;
        state.messages.emplace(message.position, std::move(message));
    }
}

}  // namespace

void commit_group(State& state, Time now, std::span<const Commit> group,
                  std::span<Answer> answers) {
    base::check(group.size() == answers.size(), "there is an answer for every Commit");
    std::set<InstanceName> broken;  // chains in which a Commit failed
    for (std::size_t i = 0; i < group.size(); ++i) {
        const Commit& commit = group[i];
        const bool chain_broken = commit.append && broken.contains(commit.append->instance);
        Answer& answer = answers[i];
        answer = check_guards(state, commit, chain_broken);
        answer.at = now;
        try {
            for (const auto& message : commit.messages) partition_of(state, message);
        } catch (const Error&) {
            answer.fate = Fate::failed;
            answer.error = std::current_exception();
        }
        if (answer.fate == Fate::committed)
            write_commit(state, now, commit, answer);
        else if (commit.append)
            broken.insert(commit.append->instance);
    }
}

}  // namespace pawl::store::memory
