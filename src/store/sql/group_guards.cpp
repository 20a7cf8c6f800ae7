// What the guards of a group need, read once for each row however many Commits look at it.
#include <tuple>
#include <utility>

#include "store/sql/group.hpp"

namespace pawl::store::sql {
namespace {

bool is_keyed_timer(const Put& put) { return put.kind == ItemKind::timer && !put.key.empty(); }

}  // namespace

void Group::read_guards() {
    words_.begin(*connection_);
    read_instances();
    read_inputs();
    read_unique_keys();
    if (run_.access == Access::read) return;
    // Whoever reaps a session locks it and then its items: so does a group.
    read_sessions();
    find_runs();
    if (sql_.items.lock_together) {
        lock_items_together();
    } else {
        read_items();
        read_timers();
    }
    if (run_.resent) {
        read_written();
        if (sql_.replicate) connection_->run(*sql_.replicate);
    }
    if (takes_numbers_) numbers_->begin(*connection_);
}

void Group::read_instances() {
    for (const auto& commit : run_.commits) {
        if (!commit.append) continue;
        const NameView name{commit.append->instance.type, commit.append->instance.id};
        const auto next = static_cast<std::uint32_t>(instances_.size());
        if (!instance_at_.try_emplace(name, next).second) continue;
        auto& instance = instances_.emplace_back();
        instance.name = name;
        instance.type = words_.find(*connection_, name.type);
        // A type that nobody has written has number 0, and no rows.
        rows_.keys.add({instance.type.value_or(0), bytes(name.id)});
    }
    const auto lock = run_.access == Access::read ? sql_.instances.find : sql_.instances.lock;
    connection_->query(lock, rows_.keys, [&](std::size_t key, const Row& row) {
        auto& instance = instances_[key];
        instance.ref = row.number(0);
        instance.version = row.number(1);
        instance.finished_at = row.maybe_time(2);
        instance.unique_key = row.view(3);
        instance.head = row.number(4);
    });
}

void Group::read_inputs() {
    rows_.keys.clear();
    std::vector<TextOf> asked;
    for (const auto& commit : run_.commits) {
        if (!commit.append || commit.append->input_id.empty()) continue;
        const auto at = instance_of(*commit.append);
        if (instances_[at].ref == 0) continue;
        asked.push_back({at, commit.append->input_id});
        rows_.keys.add({instances_[at].ref, bytes(commit.append->input_id)});
    }
    connection_->query(sql_.inputs.find, rows_.keys, [&](std::size_t key, const Row& row) {
        inputs_.try_emplace(asked[key], row.number(0));
    });
}

void Group::read_unique_keys() {
    rows_.keys.clear();
    std::vector<NameView> asked;
    const auto ask = [&](const GroupInstance& instance, std::string_view id) {
        const NameView key{instance.name.type, id};
        if (!unique_keys_.try_emplace(key).second || !instance.type) return;
        asked.push_back(key);
        rows_.keys.add({*instance.type, bytes(id)});
    };
    for (const auto& commit : run_.commits) {
        if (!commit.append) continue;
        const auto& [append, instance] =
            std::tie(*commit.append, instances_[instance_of(*commit.append)]);
        if (!append.unique_key.empty()) ask(instance, append.unique_key);
        // One that it will free is locked now, and not behind the items: keys come before them.
        if ((append.finished || !append.unique_key.empty()) && !instance.unique_key.empty())
            ask(instance, freed_keys_.emplace_back(instance.unique_key));
    }
    const bool reads = run_.access == Access::read;
    const auto lock = reads ? sql_.unique_keys.find : sql_.unique_keys.lock;
    connection_->query(lock, rows_.keys, [&](std::size_t key, const Row& row) {
        unique_keys_[asked[key]] = {.holder = row.number(0),
                                    .holder_id = std::string{row.view(1)},
                                    .holder_before = row.number(0)};
    });
}

// Mail is for runs, which somebody may hold or end meanwhile: first which they are, then they are
// locked with the other items, in one order.
void Group::find_runs() {
    for (const auto& commit : run_.commits) {
        for (const auto& row : commit.inbox)
            if (row.to_run) run_of({row.to.type, row.to.id});
        if (commit.append && commit.append->ends_run)
            run_of({commit.append->instance.type, commit.append->instance.id});
    }
    if (runs_.empty()) return;
    rows_.keys.clear();
    for (const auto& run : runs_)
        rows_.keys.add({words_.find(*connection_, run.of.type).value_or(0), bytes(run.of.id)});
    connection_->query(sql_.items.runs, rows_.keys, [&](std::size_t key, const Row& row) {
        run_items_.emplace_back(static_cast<std::uint32_t>(key), row.number(0));
    });
}

// Those that were there, and still are.
void Group::link_runs() {
    for (const auto& [run, id] : run_items_) {
        const auto at = item_at_.find(id);
        if (at == item_at_.end()) continue;
        runs_[run].item = at->second;
        items_[at->second].run = run;
    }
}

void Group::read_items() {
    rows_.keys.clear();
    for (const auto& [run, id] : run_items_)
        if (item_at_.try_emplace(id, nowhere).second) rows_.keys.add({id});
    for (const auto& commit : run_.commits)
        for (const auto& settlement : commit.settlements)
            if (item_at_.try_emplace(settlement.item, nowhere).second)
                rows_.keys.add({settlement.item});
    connection_->query(sql_.items.lock, rows_.keys,
                       [&](std::size_t, const Row& row) { read_item(row); });
    std::erase_if(item_at_, [](const auto& entry) { return entry.second == nowhere; });
    link_runs();
}

void Group::read_item(const Row& row) {
    const ItemId id = row.number(0);
    const auto [at, added] = item_at_.try_emplace(id, nowhere);
    if (at->second != nowhere) return;
    at->second = static_cast<std::uint32_t>(items_.size());
    items_.push_back({.id = id,
                      .instance = row.number(1),
                      .line = row.number(2),
                      .claimed = !row.is_null(6),
                      .fence = row.number(7),
                      .mail = row.number(9),
                      .attempts = row.number(4),
                      .failures = row.number(5),
                      .key = std::string{row.view(8)}});
}

// The timers that a Commit may remove: those with the keys it names, or all if it finishes the
// instance. They belong to the instance, whether a settlement reads them too or not.
void Group::read_timers() {
    rows_.keys.clear();
    rows_.more_keys.clear();
    std::vector<std::uint32_t> owners, keyed_owners;
    for (const auto& commit : run_.commits) {
        if (!commit.append) continue;
        const auto at = instance_of(*commit.append);
        auto& instance = instances_[at];
        if (instance.ref == 0) continue;
        const auto want_all = [&] {
            if (instance.needs_timers) return;
            instance.needs_timers = true;
            owners.push_back(at);
            rows_.keys.add({instance.ref});
        };
        const auto want_key = [&](const std::string& key) {
            if (key.empty()) return want_all();  // names the timers without a key
            keyed_owners.push_back(at);
            rows_.more_keys.add({instance.ref, bytes(key)});
        };
        if (commit.append->finished) want_all();
        for (const auto& key : commit.append->cancels) want_key(key);
        for (const auto& put : commit.append->puts)
            if (is_keyed_timer(put)) want_key(put.key);
    }
    const auto take = [&](std::uint32_t owner, const Row& row) {
        read_item(row);
        instances_[owner].timers.push_back(item_at_.at(row.number(0)));
    };
    connection_->query(sql_.items.lock_timers, rows_.keys,
                       [&](std::size_t key, const Row& row) { take(owners[key], row); });
    connection_->query(sql_.items.lock_keyed, rows_.more_keys,
                       [&](std::size_t key, const Row& row) { take(keyed_owners[key], row); });
}

// A session that is gone can't hold a new item: nobody would ever give it back.
void Group::read_sessions() {
    rows_.keys.clear();
    std::vector<SessionId> asked;
    for (const auto& commit : run_.commits) {
        if (!commit.append) continue;
        for (const auto& put : commit.append->puts) {
            if (!put.born_claimed) continue;
            const SessionId session = put.born_claimed->session;
            if (!sessions_.try_emplace(session, false).second) continue;
            asked.push_back(session);
            rows_.keys.add({session});
        }
    }
    connection_->query(sql_.sessions.hold, rows_.keys,
                       [&](std::size_t key, const Row&) { sessions_[asked[key]] = true; });
}

// The rows of read_items and read_timers. A timer belongs to its instance however it was found.
void Group::lock_items_together() {
    rows_.keys.clear();
    std::unordered_map<Ref, std::uint32_t> owner_of;
    for (const auto& [run, id] : run_items_)
        if (item_at_.try_emplace(id, nowhere).second) rows_.keys.add({0, id, Value{}});
    for (const auto& commit : run_.commits) {
        for (const auto& settlement : commit.settlements)
            if (item_at_.try_emplace(settlement.item, nowhere).second)
                rows_.keys.add({0, settlement.item, Value{}});
        if (!commit.append) continue;
        const auto at = instance_of(*commit.append);
        auto& instance = instances_[at];
        if (instance.ref == 0) continue;
        owner_of.emplace(instance.ref, at);
        const auto want_all = [&] {
            if (!std::exchange(instance.needs_timers, true))
                rows_.keys.add({1, instance.ref, Value{}});
        };
        const auto want_key = [&](const std::string& key) {
            if (key.empty()) return want_all();  // names the timers without a key
            rows_.keys.add({2, instance.ref, bytes(key)});
        };
        if (commit.append->finished) want_all();
        for (const auto& key : commit.append->cancels) want_key(key);
        for (const auto& put : commit.append->puts)
            if (is_keyed_timer(put)) want_key(put.key);
    }
    connection_->query(*sql_.items.lock_together, rows_.keys, [&](std::size_t, const Row& row) {
        read_item(row);
        const auto owner = owner_of.find(row.number(1));
        if (row.number(3) == static_cast<int>(ItemKind::timer) && owner != owner_of.end())
            instances_[owner->second].timers.push_back(item_at_.at(row.number(0)));
    });
    std::erase_if(item_at_, [](const auto& entry) { return entry.second == nowhere; });
    link_runs();
}

// One that only settles is known by its effect: the items that it would have removed are gone.
bool Group::has_settled(const Commit& commit) const {
    if (commit.settlements.empty()) return false;
    for (const auto& settlement : commit.settlements)
        if (settlement.verdict == Verdict::retry || settlement.verdict == Verdict::hold ||
            item_at_.contains(settlement.item))
            return false;
    return true;
}

// Of a group that was sent before: Commits whose first event stands where it would have been
// written were written, whatever has happened to their instance since.
void Group::read_written() {
    rows_.keys.clear();
    rows_.more_keys.clear();
    std::vector<const Commit*> asked;
    for (const auto& commit : run_.commits) {
        if (!commit.append || commit.append->events.empty()) {
            if (has_settled(commit))
                recognised_[&commit] = {.fate = Fate::committed,
                                        .version = commit.append ? commit.append->expected : 0};
            continue;
        }
        const auto& instance = instances_[instance_of(*commit.append)];
        if (instance.version <= commit.append->expected) continue;
        asked.push_back(&commit);
        rows_.keys.add({instance.ref, commit.append->expected + 1});
        const auto count = static_cast<Version>(commit.append->events.size());
        rows_.more_keys.add({instance.ref, commit.append->expected + count});
    }
    connection_->query(sql_.events.ids, rows_.keys, [&](std::size_t key, const Row& row) {
        const Append& append = *asked[key]->append;
        const Uuid& id = append.events.front().id;
        if (row.view(0) != bytes(id).view()) return;
        Answer& answer = recognised_[asked[key]];
        answer.fate = Fate::committed;
        answer.version = append.expected + static_cast<Version>(append.events.size());
        answer.items.resize(append.puts.size());
    });
    connection_->query(sql_.items.of_append, rows_.more_keys, [&](std::size_t key, const Row& row) {
        const auto answer = recognised_.find(asked[key]);
        const auto index = static_cast<std::size_t>(row.number(0));
        if (answer != recognised_.end() && index < answer->second.items.size())
            answer->second.items[index] = row.number(1);
    });
}

std::uint32_t Group::instance_of(const Append& append) const {
    return instance_at_.at({append.instance.type, append.instance.id});
}

// The guards, in the order that is part of the specification.
Answer Group::judge(const Commit& commit, bool chain_broken) const {
    const auto& append = commit.append;
    const GroupInstance* instance = append ? &instances_[instance_of(*append)] : nullptr;
    const Version current = instance ? instance->version : 0;
    if (!recognised_.empty())
        if (const auto at = recognised_.find(&commit); at != recognised_.end()) {
            Answer answer = at->second;
            answer.mail = mail_of(commit);
            return answer;
        }
    if (chain_broken) return {.fate = Fate::stale, .version = current};

    for (const auto& settlement : commit.settlements)
        if (!holds_fence(settlement)) return {.fate = Fate::fence_lost};
    if (auto refusal = judge_mail(commit)) return *std::move(refusal);
    const auto mail = mail_of(commit);
    if (!append) return {.fate = Fate::committed, .mail = mail};

    if (const auto led_to = applied_input(*append))
        return {.fate = Fate::duplicate, .version = *led_to};
    if (!is_current(*instance, *append)) return {.fate = Fate::stale, .version = current};
    if (!append->unique_key.empty()) {
        const auto& key = unique_keys_.at({append->instance.type, append->unique_key});
        if (key.holder != 0 && key.holder != instance->ref)
            return {.fate = Fate::unique_key_taken, .holder = key.holder_id};
    }
    return {.fate = Fate::committed, .version = current, .mail = mail};
}

bool Group::is_current(const GroupInstance& instance, const Append& append) {
    if (append.expected != instance.version) return false;
    return append.expected == 0 || !append.expected_head || append.expected_head == instance.head;
}

std::optional<Answer> Group::judge_mail(const Commit& commit) const {
    for (const auto& settlement : commit.settlements) {
        const bool ends =
            settlement.verdict == Verdict::ack || settlement.verdict == Verdict::suspend;
        const auto mail = items_[item_at_.at(settlement.item)].mail;
        if (ends && settlement.seen_mail && *settlement.seen_mail != mail)
            return Answer{.fate = Fate::mail_waits, .mail = mail};
    }
    for (const auto& row : commit.inbox)
        if (row.to_run && !has_run(row.to)) return Answer{.fate = Fate::no_run};
    return std::nullopt;
}

// That of its last settlement's item, if it is there.
std::int64_t Group::mail_of(const Commit& commit) const {
    if (commit.settlements.empty()) return 0;
    const auto at = item_at_.find(commit.settlements.back().item);
    return at == item_at_.end() ? 0 : items_[at->second].mail;
}

bool Group::has_run(const InstanceName& instance) const {
    const auto at = run_at_.find({instance.type, instance.id});
    return at != run_at_.end() && is_there(runs_[at->second]);
}

bool Group::holds_fence(const Settlement& settlement) const {
    const auto at = item_at_.find(settlement.item);
    if (at == item_at_.end()) return false;
    const auto& item = items_[at->second];
    return !item.removed && item.claimed && item.fence == settlement.fence;
}

std::optional<Version> Group::applied_input(const Append& append) const {
    if (append.input_id.empty() || inputs_.empty()) return std::nullopt;
    const auto at = inputs_.find({instance_of(append), append.input_id});
    return at == inputs_.end() ? std::nullopt : std::optional{at->second};
}

}  // namespace pawl::store::sql
