// The quick way: a group that presumes what the guards would find, has the database raise where it
// is otherwise, and so needs no answer before it commits.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "store/sql/group.hpp"

namespace pawl::store::sql {
namespace {

using Names = std::unordered_set<NameView, NameHash>;

NameView view(const InstanceName& name) { return {name.type, name.id}; }

bool can_be_presumed(const Settlement& settlement) {
    return settlement.verdict == Verdict::hold || settlement.verdict == Verdict::suspend ||
           (settlement.verdict == Verdict::ack && settlement.ending == Ending::applied);
}

// Whether what it does to an instance that exists can be written without reading its timers or
// keys.
bool names_no_timers(const Append& append) {
    if (!append.unique_key.empty() || !append.cancels.empty()) return false;
    return std::ranges::none_of(append.puts, [](const Put& put) {
        return put.kind == ItemKind::timer && !put.key.empty();
    });
}

bool puts_run(const Append& append) {
    return std::ranges::any_of(append.puts,
                               [](const Put& put) { return put.kind == ItemKind::run; });
}

bool sends_to_runs(const Commit& commit) {
    return std::ranges::any_of(commit.inbox, &InboxRow::to_run);
}

// How much mail a run has that is settled in the group it gets mail from is found by reading only.
// A Commit that starts a run, or sends mail to one, settles the item of another one: its parent's,
// which any of these rows may be for.
bool settles_who_gets_mail(std::span<const Commit> commits) {
    Names targets;
    for (const auto& commit : commits)
        for (const auto& row : commit.inbox)
            if (row.to_run) targets.insert(view(row.to));
    if (targets.empty()) return false;
    return std::ranges::any_of(commits, [&](const Commit& commit) {
        if (commit.settlements.empty()) return false;
        if (!commit.append) return sends_to_runs(commit);
        return puts_run(*commit.append) || targets.contains(view(commit.append->instance));
    });
}

Value head(const GroupInstance& instance) {
    return instance.presumed_head ? Value{*instance.presumed_head} : Value{};
}

// The ways in which Presumed::OfInstances::lock finds items.
enum : std::int64_t { settled_item, timers_of, run_of_instance, run_by_name };

}  // namespace

bool Group::can_presume(std::span<const Commit> commits) {
    if (!sql_.presumed) return false;
    for (const auto& commit : commits) {
        if (!std::ranges::all_of(commit.settlements, can_be_presumed)) return false;
        if (sends_to_runs(commit) && !sql_.presumed->of_instances) return false;
        if (commit.append && !can_presume_append(commits, commit)) return false;
    }
    return !settles_who_gets_mail(commits);
}

bool Group::can_presume_append(std::span<const Commit> commits, const Commit& commit) {
    const Append& append = *commit.append;
    // That there is no such instance, input or key can only be shown by adding it.
    if (append.events.empty() && (append.expected == 0 || !append.input_id.empty())) return false;
    if (changes_status(append) && !append.expected_head) return false;
    if (append.finished && !append.unique_key.empty()) return false;
    if (append.expected == 0) return true;
    if (!names_no_timers(append)) return false;
    const bool removes = (append.finished && append.has_timers) || append.ends_run;
    if (removes && !sql_.presumed->of_instances) return false;
    // Behind one of this group that adds it, it has no number yet, and needs none.
    return refs_.find(view(append.instance)) != 0 || is_added_before(commits, commit);
}

bool Group::is_added_before(std::span<const Commit> commits, const Commit& commit) {
    for (const auto& other : commits) {
        if (&other == &commit) return false;
        if (other.append && other.append->expected == 0 && !other.append->finished &&
            other.append->instance == commit.append->instance)
            return true;
    }
    return false;
}

// What the guards would have read. It is checked when the group is written.
void Group::presume_guards() {
    Connection& connection = *connection_;
    if (guards_write())
        rows_.dictionary.add({text(words_.presume())});
    else
        words_.begin(connection);
    for (const auto& commit : run_.commits) {
        if (!commit.append) continue;
        const Append& append = *commit.append;
        const NameView name = view(append.instance);
        const auto next = static_cast<std::uint32_t>(instances_.size());
        if (!append.unique_key.empty()) unique_keys_.try_emplace({name.type, append.unique_key});
        for (const auto& put : append.puts)
            if (put.born_claimed && sessions_.try_emplace(put.born_claimed->session, true).second)
                rows_.sessions.add({put.born_claimed->session});
        const auto [at, is_new] = instance_at_.try_emplace(name, next);
        if (is_new) {
            auto& instance = instances_.emplace_back();
            instance.name = name;
            instance.type = words_.find(connection, name.type);
            if (append.expected == 0) continue;
            instance.ref = refs_.find(name);
            instance.version = append.expected;
            instance.presumed = append.expected;
        }
        auto& instance = instances_[at->second];
        if (instance.presumed != append.expected || instance.presumed_head) continue;
        instance.head = instance.presumed_head = append.expected_head;
    }
    presume_items();
    if (!sql_.presumed->writing) post_guards();
    if (takes_numbers_) numbers_->begin(connection);
}

// An item that is settled has the mail that its claimant knows of; where that says nothing, none.
void Group::presume_items() {
    for (std::size_t i = 0; i < run_.commits.size(); ++i) {
        for (const auto& settlement : run_.commits[i].settlements) {
            const auto next = static_cast<std::uint32_t>(items_.size());
            const auto [at, added] = item_at_.try_emplace(settlement.item, next);
            if (added)
                items_.push_back({.id = settlement.item,
                                  .claimed = true,
                                  .fence = settlement.fence,
                                  .mail = settlement.seen_mail.value_or(0),
                                  .presumed_mail = settlement.seen_mail.value_or(0),
                                  .failures = settlement.failed_before ? 1 : 0});
            items_[at->second].last_turn = static_cast<std::int64_t>(i);
        }
    }
    presume_of_instances();
}

// Where the guards can't be part of what is written they come before it, and before the counters.
void Group::post_guards() {
    rows_.keys.clear();
    rows_.more_keys.clear();
    for (const auto& instance : instances_)
        if (instance.presumed != 0)
            rows_.keys.add({instance.ref, instance.presumed, head(instance)});
    for (const auto& item : items_)
        rows_.more_keys.add({item.id, item.fence, item.presumed_mail, Value{}});
    connection_->post(sql_.presumed->instances, rows_.keys);
    connection_->post(sql_.presumed->sessions, rows_.sessions);
    connection_->post(sql_.presumed->items, rows_.more_keys);
}

// In the order in which everybody locks: instances, sessions, items, and each of them by number.
void Group::write_presumed() {
    std::vector<const GroupInstance*> there;
    for (const auto& instance : instances_)
        if (instance.presumed != 0) there.push_back(&instance);
    std::ranges::sort(there, {}, &GroupInstance::ref);
    const bool all_change = std::ranges::all_of(there, &GroupInstance::is_changed);
    rows_.keys.clear();
    for (const auto* instance : there) {
        if (!all_change) rows_.keys.add({instance->ref, instance->presumed, head(*instance)});
        if (instance->is_changed)
            rows_.changed_instances.add(
                {instance->ref, instance->presumed, instance->version, run_.now,
                 instance->finished_at, given_bytes(instance->unique_key), instance->status,
                 head(*instance), instance->head ? Value{*instance->head} : Value{}});
    }
    connection_->post(sql_.presumed->writing->dictionary, rows_.dictionary);
    connection_->post(sql_.presumed->instances, rows_.keys);
    connection_->post(sql_.presumed->writing->instances, rows_.changed_instances);
    connection_->post(sql_.presumed->sessions, rows_.sessions);
    write_presumed_items();
}

void Group::write_presumed_items() {
    if (!rows_.found_items.empty()) {
        for (const auto& item : items_)
            rows_.found_items.add(
                {settled_item, item.id, item.fence, item.presumed_mail, Value{}, item.last_turn});
        return connection_->post(sql_.presumed->of_instances->lock, rows_.found_items);
    }
    rows_.keys.clear();
    rows_.more_keys.clear();
    for (auto* item : items_by_id()) {
        const Value instance =
            item->presumed_instance == 0 ? Value{} : Value{item->presumed_instance};
        rows_.keys.add({item->id, item->fence, item->presumed_mail, instance});
        rows_.more_keys.add({item->id, item->fence, item->presumed_mail, instance, item->removed});
        item->gone = item->removed;
    }
    if (std::ranges::any_of(items_, &GroupItem::removed))
        connection_->post(sql_.presumed->writing->items, rows_.more_keys);
    else
        connection_->post(sql_.presumed->items, rows_.keys);
}

// What is removed with an instance, and the runs that get mail.
void Group::presume_of_instances() {
    Names put_here;
    for (std::size_t i = 0; i < run_.commits.size(); ++i) {
        const Commit& commit = run_.commits[i];
        const auto turn = static_cast<std::int64_t>(i);
        for (const auto& row : commit.inbox) {
            if (!row.to_run || put_here.contains(view(row.to))) continue;
            if (std::exchange(run_of(view(row.to)).presumed, true)) continue;
            const Ref type = words_.find(*connection_, row.to.type).value_or(0);
            rows_.found_items.add({run_by_name, type, Value{}, Value{}, bytes(row.to.id), turn});
        }
        if (!commit.append) continue;
        const Ref ref = instances_[instance_of(*commit.append)].ref;
        if (commit.append->finished && commit.append->has_timers && ref != 0)
            rows_.found_items.add({timers_of, ref, Value{}, Value{}, Value{}, turn});
        if (commit.append->ends_run && ref != 0)
            rows_.found_items.add({run_of_instance, ref, Value{}, Value{}, Value{}, turn});
        if (puts_run(*commit.append)) put_here.insert(view(commit.append->instance));
    }
    if (presume_own_items()) rows_.found_items.clear();
}

// The common case: instances are finished, perhaps by the timer that is settled with that, and what
// is settled belongs to the instance of its own Commit. If that is so, no Commit settles what
// another one removes, and there is no need to find out what is removed before it is.
bool Group::presume_own_items() {
    if (rows_.found_items.empty() || !sql_.presumed->writing) return false;
    std::unordered_set<Ref> finished;
    std::vector<std::pair<std::uint32_t, Ref>> own;
    for (const auto& commit : run_.commits) {
        if (std::ranges::any_of(commit.inbox, &InboxRow::to_run)) return false;
        if (!commit.append) {
            if (!commit.settlements.empty()) return false;
            continue;
        }
        if (commit.append->ends_run) return false;
        const Ref ref = instances_[instance_of(*commit.append)].ref;
        if (!commit.settlements.empty() && (ref == 0 || finished.contains(ref))) return false;
        for (const auto& settlement : commit.settlements)
            own.emplace_back(item_at_.at(settlement.item), ref);
        if (commit.append->finished) finished.insert(ref);
    }
    for (const auto& [item, ref] : own) items_[item].presumed_instance = ref;
    return true;
}

void Group::remember_refs() {
    for (const Ref channel : new_channels_) channels_.add(channel, words_.generation());
    if (!sql_.presumed) return;
    for (const auto& instance : instances_)
        if (instance.ref != 0)
            refs_.set(instance.name, instance.ref,
                      !instance.finished_at && instance.unique_key.empty());
}

}  // namespace pawl::store::sql
