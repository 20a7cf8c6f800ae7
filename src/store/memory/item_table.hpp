/// The live items of a memory store, found by id, by line, by instance and by session.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "store/values.hpp"

namespace pawl::store::memory {

struct ItemRow {
    Item item{};
    bool alone = false;  ///< lost with a process more than once: it must be offered alone
    std::vector<Failure> failures{};
};

/// Not thread-safe. Rows change only through `change`, which keeps the indexes right.
class ItemTable {
public:
    using Queue = std::set<std::pair<Time, ItemId>>;  ///< oldest due first, ties by id

    /// Nullptr where there is none. Valid until the row is changed or taken.
    const ItemRow* find(ItemId id) const;
    const std::map<ItemId, ItemRow>& rows() const { return rows_; }

    void put(ItemRow row);
    /// Removes the row, which must be there, and returns it.
    ItemRow take(ItemId id);
    template <class F>
    void change(ItemId id, F edit) {
        ItemRow row = take(id);
        edit(row);
        put(std::move(row));
    }

    /// The unclaimed items of a line: those that must be offered alone, or the others.
    const Queue& waiting(const Line& line, bool alone) const;
    std::vector<ItemId> timers(const InstanceName& instance) const;
    std::vector<ItemId> timers(const InstanceName& instance, const std::string& key) const;
    /// The item that is claimed to execute this instance, if there is one.
    std::optional<ItemId> run_of(const InstanceName& instance) const;
    std::vector<ItemId> held_by(SessionId session) const;

private:
    std::map<ItemId, ItemRow> rows_;
    std::map<std::pair<Line, bool>, Queue> waiting_;
    std::map<InstanceName, std::set<ItemId>> timers_;
    std::map<InstanceName, ItemId> runs_;
    std::map<SessionId, std::set<ItemId>> held_;
};

}  // namespace pawl::store::memory
