// The quick way: a group that presumes what the guards would find, has the database raise where it
// is otherwise, and so needs no answer before it commits.
#include "store/sql/group.hpp"

namespace pawl::store::sql {
namespace {

bool is_plain_ack(const Settlement& settlement) {
    return settlement.verdict == Verdict::ack && settlement.ending == Ending::applied;
}

// Whether what it does to an instance that exists can be written without reading its timers or
// keys.
bool leaves_timers_alone(const Append& append) {
    if (append.finished || !append.unique_key.empty() || !append.cancels.empty()) return false;
    for (const auto& put : append.puts)
        if (put.kind == ItemKind::timer && !put.key.empty()) return false;
    return true;
}

}  // namespace

bool Group::can_presume(std::span<const Commit> commits) {
    if (!sql_.presumed) return false;
    for (const auto& commit : commits) {
        for (const auto& settlement : commit.settlements)
            if (!is_plain_ack(settlement)) return false;
        if (!commit.append) continue;
        const Append& append = *commit.append;
        // That there is no such instance, input or key can only be shown by adding it.
        if (append.events.empty() && (append.expected == 0 || !append.input_id.empty()))
            return false;
        if (append.finished && !append.unique_key.empty()) return false;
        if (append.expected == 0) continue;
        const NameView name{append.instance.type, append.instance.id};
        // Behind one of this group that adds it, it has no number yet, and needs none.
        if (!leaves_timers_alone(append)) return false;
        if (refs_.find(name) == 0 && !is_added_before(commits, commit)) return false;
    }
    return true;
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

void Group::presume_guards() {
    Connection& connection = *connection_;
    rows_.keys.clear();
    rows_.more_keys.clear();
    Rows sessions;
    for (const auto& commit : run_.commits) {
        for (const auto& settlement : commit.settlements) {
            const auto next = static_cast<std::uint32_t>(items_.size());
            if (!item_at_.try_emplace(settlement.item, next).second) continue;
            // It may have failures: they are removed as if it had.
            items_.push_back(
                {.id = settlement.item, .claimed = true, .fence = settlement.fence, .failures = 1});
            rows_.more_keys.add({settlement.item, settlement.fence});
        }
        if (!commit.append) continue;
        const Append& append = *commit.append;
        const NameView name{append.instance.type, append.instance.id};
        const auto next = static_cast<std::uint32_t>(instances_.size());
        if (!append.unique_key.empty()) unique_keys_.try_emplace({name.type, append.unique_key});
        for (const auto& put : append.puts)
            if (put.born_claimed && sessions_.try_emplace(put.born_claimed->session, true).second)
                sessions.add({put.born_claimed->session});
        if (!instance_at_.try_emplace(name, next).second) continue;
        auto& instance = instances_.emplace_back();
        instance.name = name;
        instance.type = words_.find(connection, name.type);
        if (append.expected == 0) continue;
        instance.ref = refs_.find(name);
        instance.version = append.expected;
        rows_.keys.add({instance.ref, append.expected});
    }
    connection.post(sql_.presumed->instances, rows_.keys);
    connection.post(sql_.presumed->sessions, sessions);
    connection.post(sql_.presumed->items, rows_.more_keys);
    numbers_->begin(connection);
}

void Group::remember_refs() {
    if (!sql_.presumed) return;
    for (const auto& instance : instances_)
        if (instance.ref != 0)
            refs_.set(instance.name, instance.ref,
                      !instance.finished_at && instance.unique_key.empty());
}

}  // namespace pawl::store::sql
