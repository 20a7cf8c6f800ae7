#include "store/memory/item_table.hpp"

#include "base/check.hpp"

namespace pawl::store::memory {
namespace {

// Erases `value` from the set at `key`, and the set with its last value.
template <class Sets, class Key, class Value>
void erase_from(Sets& sets, const Key& key, const Value& value) {
    const auto at = sets.find(key);
    at->second.erase(value);
    if (at->second.empty()) sets.erase(at);
}

template <class Sets, class Key>
std::vector<ItemId> ids_at(const Sets& sets, const Key& key) {
    const auto at = sets.find(key);
    if (at == sets.end()) return {};
    return {at->second.begin(), at->second.end()};
}

}  // namespace

const ItemRow* ItemTable::find(ItemId id) const {
    const auto at = rows_.find(id);
    return at == rows_.end() ? nullptr : &at->second;
}

void ItemTable::put(ItemRow row) {
    const Item& item = row.item;
    base::check(item.due_at.has_value() == (item.session == 0), "an item is either due or claimed");
    if (item.due_at)
        waiting_[{item.line, row.alone}].emplace(*item.due_at, item.id);
    else
        held_[item.session].insert(item.id);
    if (item.line.kind == ItemKind::timer) timers_[item.instance].insert(item.id);
    if (item.line.kind == ItemKind::run)
        base::check(runs_.emplace(item.instance, item.id).second, "an instance has one run");
    const bool added = rows_.emplace(item.id, std::move(row)).second;
    base::check(added, "item ids are never reused");
}

ItemRow ItemTable::take(ItemId id) {
    const auto at = rows_.find(id);
    base::check(at != rows_.end(), "the item is there");
    ItemRow row = std::move(at->second);
    rows_.erase(at);
    const Item& item = row.item;
    if (item.due_at)
        erase_from(waiting_, std::pair{item.line, row.alone}, std::pair{*item.due_at, id});
    else
        erase_from(held_, item.session, id);
    if (item.line.kind == ItemKind::timer) erase_from(timers_, item.instance, id);
    if (item.line.kind == ItemKind::run) runs_.erase(item.instance);
    return row;
}

const ItemTable::Queue& ItemTable::waiting(const Line& line, bool alone) const {
    static const Queue none;
    const auto at = waiting_.find({line, alone});
    return at == waiting_.end() ? none : at->second;
}

std::vector<ItemId> ItemTable::timers(const InstanceName& instance) const {
    return ids_at(timers_, instance);
}

std::vector<ItemId> ItemTable::timers(const InstanceName& instance, const std::string& key) const {
    std::vector<ItemId> ids = timers(instance);
    std::erase_if(ids, [&](ItemId id) { return rows_.at(id).item.key != key; });
    return ids;
}

std::optional<ItemId> ItemTable::run_of(const InstanceName& instance) const {
    const auto at = runs_.find(instance);
    return at == runs_.end() ? std::nullopt : std::optional{at->second};
}

std::vector<ItemId> ItemTable::held_by(SessionId session) const { return ids_at(held_, session); }

}  // namespace pawl::store::memory
