#include "store/sql/group.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "store/sql/message_rows.hpp"

namespace pawl::store::sql {

void Group::clear() {
    instances_.clear();
    instance_at_.clear();
    items_.clear();
    item_at_.clear();
    new_items_.clear();
    runs_.clear();
    run_at_.clear();
    new_mail_.clear();
    run_items_.clear();
    inputs_.clear();
    unique_keys_.clear();
    freed_keys_.clear();
    sessions_.clear();
    recognised_.clear();
    new_channels_.clear();
    messages_.clear();
    rows_.clear();
}

void Group::apply(Connection& connection, const Run& run, BrokenChains& broken) {
    base::check(run.commits.size() == run.answers.size(), "there is an answer for every Commit");
    clear();
    connection_ = &connection;
    run_ = run;
    // Those who take numbers may have to do so one after the other.
    takes_numbers_ = !std::ranges::all_of(run.commits, only_publishes);
    if (run.presumed) {
        presume_guards();
    } else {
        read_guards();
        run_.now = database_.now();  // it may have waited for locks
    }
    for (std::size_t i = 0; i < run.commits.size(); ++i) {
        const Commit& commit = run.commits[i];
        const bool chain_broken =
            commit.append && !broken.empty() && broken.contains(commit.append->instance);
        Answer& answer = run.answers[i];
        answer = judge(commit, chain_broken);
        answer.at = run_.now;
        if (recognised_.contains(&commit)) continue;
        if (answer.fate == Fate::committed)
            accept(commit, answer);
        else if (commit.append)
            broken.insert(commit.append->instance);
    }
    if (run.access == Access::write) write();
}

void Group::accept(const Commit& commit, Answer& answer) {
    for (const auto& settlement : commit.settlements) settle(settlement);
    if (commit.append) accept_append(commit, answer);
    accept_inbox(commit);
    accept_messages(commit);
}

void Group::accept_append(const Commit& commit, Answer& answer) {
    const Append& append = *commit.append;
    if (append.events.empty()) {
        base::check(append.cancels.empty() && append.puts.empty() && append.taken.empty(),
                    "a Commit without events cancels, puts and takes nothing");
        if (!changes_status(append)) return;
        GroupInstance& instance = instances_[instance_of(append)];
        instance.status = append.status;
        instance.is_changed = true;
        return;
    }
    GroupInstance& instance = instances_[instance_of(append)];
    append_events(commit, instance);
    for (const auto& key : append.cancels) remove_timers(instance, Which::keyed, key);
    if (append.finished && append.has_timers) remove_timers(instance, Which::all);
    for (const auto position : append.taken)
        rows_.taken_mail.add({position, *instance.type, bytes(instance.name.id)});
    if (append.ends_run) end_run(instance);
    put_items(commit, instance, answer);
    answer.version = instance.version;
}

void Group::settle(const Settlement& settlement) {
    // Twice in one Commit is once: the first word counts.
    if (!holds_fence(settlement)) return;
    if (settlement.verdict == Verdict::hold) {
        if (settlement.got_further) rows_.items_further.add({settlement.item});
        return;
    }
    GroupItem& item = items_[item_at_.at(settlement.item)];
    item.claimed = false;
    item.last_word = &settlement;
    if (settlement.verdict == Verdict::suspend) return suspend(item);
    if (settlement.verdict == Verdict::retry) keep_earlier_mail(item);
    item.removed = settlement.verdict != Verdict::retry;
    if (settlement.verdict != Verdict::ack) {
        rows_.failures.add({item.id, item.attempts, run_.now, text(settlement.reason)});
        ++item.failures;
    } else if (settlement.ending != Ending::applied) {
        rows_.endings.add({item.id, item.line, item.instance, static_cast<int>(settlement.ending),
                           run_.now, given_bytes(item.key), given_text(settlement.ending_reason)});
    }
}

// Mail that came in this group before it was passed over, knowingly.
void Group::suspend(GroupItem& item) {
    item.mail = 0;
    if (item.run == nowhere) return;
    runs_[item.run].mail = 0;
    runs_[item.run].urgent = false;
}

// Mail that came in this group before it failed is counted, and wakes it no earlier: it was held
// then. Only what comes behind that does.
void Group::keep_earlier_mail(const GroupItem& item) {
    if (item.run == nowhere) return;
    GroupRun& run = runs_[item.run];
    if (run.mail > 0) rows_.mailed_earlier.add({item.id, run.mail, 0, run_.now});
    run.mail = 0;
    run.urgent = false;
}

void Group::create(const Commit& commit, GroupInstance& instance) {
    instance.is_new = true;
    instance.type = words_.name(*connection_, instance.name.type);
    instance.ref = numbers_->next(*connection_, Number::instance);
    instance.tenant = commit.envelope.tenant;
}

void Group::append_events(const Commit& commit, GroupInstance& instance) {
    const Append& append = *commit.append;
    const Envelope& envelope = commit.envelope;
    if (instance.ref == 0) create(commit, instance);
    for (const auto& event : append.events) {
        rows_.events.add({numbers_->next(*connection_, Number::position), instance.ref,
                          ++instance.version, run_.now, words_.name(*connection_, event.name),
                          static_cast<int>(event.kind), static_cast<int>(event.payload.encoding),
                          bytes(event.id), given_bytes(envelope.causation),
                          given_text(envelope.correlation), given_text(envelope.conversation),
                          given_text(envelope.tenant), given_text(envelope.trace),
                          bytes(event.payload.bytes)});
    }
    instance.is_changed = true;
    instance.head = head_of(append.events.back().id);
    if (append.finished) instance.finished_at = run_.now;
    base::check(append.status >= 0 && append.status <= highest_status,
                "a status is a small number");
    if (append.status != 0) instance.status = append.status;
    hold_unique_key(instance, append.unique_key);
    if (!append.input_id.empty()) {
        inputs_[{instance_of(append), append.input_id}] = instance.version;
        rows_.inputs.add({instance.ref, bytes(append.input_id), instance.version, run_.now});
    }
    if (append.snapshot) {
        const Snapshot& snapshot = *append.snapshot;
        base::check(snapshot.sequence <= instance.version, "a snapshot is of committed events");
        rows_.snapshots.add({instance.ref, snapshot.sequence, snapshot.version,
                             static_cast<int>(snapshot.payload.encoding),
                             bytes(snapshot.payload.bytes)});
    }
}

// An instance holds at most one key, and none when it is finished.
void Group::hold_unique_key(GroupInstance& instance, std::string_view key) {
    if (key.empty() && !instance.finished_at) return;
    const std::string_view type = instance.name.type;
    if (!instance.unique_key.empty()) {
        freed_keys_.push_back(std::move(instance.unique_key));
        const auto [at, unread] = unique_keys_.try_emplace({type, freed_keys_.back()});
        if (unread) at->second.holder_before = instance.ref;
        at->second.holder = 0;
    }
    instance.unique_key = instance.finished_at ? std::string_view{} : key;
    if (instance.unique_key.empty()) return;
    auto& taken = unique_keys_.at({type, key});
    taken.holder = instance.ref;
    taken.holder_id = instance.name.id;
}

void Group::remove_timers(GroupInstance& instance, Which which, std::string_view key) {
    for (const auto at : instance.timers)
        if (which == Which::all || items_[at].key == key) items_[at].removed = true;
    for (const auto at : instance.new_timers)
        if (which == Which::all || new_items_[at].put->key == key) new_items_[at].removed = true;
    // Those that were not read are removed unseen.
    if (run_.presumed && which == Which::all && !instance.is_new)
        rows_.timerless.add({instance.ref});
}

GroupRun& Group::run_of(const NameView& name) {
    const auto [at, added] = run_at_.try_emplace(name, static_cast<std::uint32_t>(runs_.size()));
    if (added) runs_.push_back({.of = name});
    return runs_[at->second];
}

bool Group::is_there(const GroupRun& run) const {
    return run.presumed || (run.item != nowhere && !items_[run.item].removed) ||
           (run.new_item != nowhere && !new_items_[run.new_item].removed);
}

void Group::end_run(const GroupInstance& instance) {
    GroupRun& run = run_of(instance.name);
    if (run.item != nowhere) items_[run.item].removed = true;
    if (run.new_item != nowhere) new_items_[run.new_item].removed = true;
    run.presumed = false;
    if (run_.presumed && !instance.is_new) rows_.runless.add({instance.ref});
    rows_.cleared_inboxes.add({*instance.type, bytes(instance.name.id)});
    for (const auto at : run.letters) new_mail_[at].removed = true;
}

void Group::put_items(const Commit& commit, GroupInstance& instance, Answer& answer) {
    const Append& append = *commit.append;
    answer.items.reserve(append.puts.size());
    for (const auto& put : append.puts) {
        const bool timer = put.kind == ItemKind::timer;
        if (timer && !put.key.empty()) remove_timers(instance, Which::keyed, put.key);
        const NewItem item{.put = &put,
                           .commit = &commit,
                           .instance = static_cast<std::uint32_t>(&instance - instances_.data()),
                           .index = static_cast<std::int32_t>(answer.items.size()),
                           .sequence = instance.version};
        answer.items.push_back(timer && append.finished ? 0 : put_item(item, instance));
    }
}

ItemId Group::put_item(NewItem item, GroupInstance& instance) {
    const Put& put = *item.put;
    item.id = numbers_->next(*connection_, Number::item);
    item.line = words_.line(*connection_, {put.kind, instance.name.type, put.name});
    item.claimed = put.born_claimed && sessions_.at(put.born_claimed->session);
    if (put.kind == ItemKind::timer)
        instance.new_timers.push_back(static_cast<std::uint32_t>(new_items_.size()));
    if (put.kind == ItemKind::run) {
        GroupRun& run = run_of(instance.name);
        // What is presumed may be wrong, and is then judged again.
        base::check(run_.presumed || !is_there(run), "an instance has one run");
        run.item = nowhere;
        run.new_item = static_cast<std::uint32_t>(new_items_.size());
        run.mail = 0;
        run.urgent = false;
    }
    new_items_.push_back(item);
    return item.id;
}

void Group::accept_inbox(const Commit& commit) {
    for (const auto& row : commit.inbox) {
        GroupRun& run = run_of({row.to.type, row.to.id});
        run.letters.push_back(static_cast<std::uint32_t>(new_mail_.size()));
        new_mail_.push_back({.row = &row,
                             .position = numbers_->next(*connection_, Number::inbox),
                             .type = words_.name(*connection_, row.to.type)});
        if (row.to_run) count_mail(row, run);
    }
}

// However much mail a run gets from a group, its item is written once. A Commit that ends the run
// it sends mail to has nobody to wake.
void Group::count_mail(const InboxRow& row, GroupRun& run) {
    if (!is_there(run)) return;
    ++run.mail;
    run.urgent = run.urgent || row.urgent;
    if (run.item != nowhere) ++items_[run.item].mail;
}

void Group::accept_messages(const Commit& commit) {
    for (const auto& message : commit.messages) {
        const Ref channel = words_.name(*connection_, message.channel);
        if (!channels_.contains(channel, words_.generation()) &&
            std::ranges::count(new_channels_, channel) == 0)
            new_channels_.push_back(channel);
        messages_.emplace_back(channel, &message);
    }
}

}  // namespace pawl::store::sql
