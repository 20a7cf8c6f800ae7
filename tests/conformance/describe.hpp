/// Texts of what a store answers, in words that do not depend on the store's own numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace pawl::store::conformance {

/// A store, and what the numbers it chose are called. Items are named by where they come from,
/// sessions by the order in which they were opened.
struct Subject {
    Store& store;
    std::map<std::string, ItemId> ids{};
    std::map<ItemId, std::string> names{};
    std::vector<SessionId> sessions{};
    std::string follow_cursor{};

    /// "order/1@3#0": the first item of the commit that led to version 3.
    void learn(const InstanceName& instance, const Answer& answer);
    /// The id of the item with this name; one that never was if there is none.
    ItemId id_of(const std::string& name) const;
    std::string name_of(ItemId id) const;
    std::string name_of_session(SessionId session) const;
};

std::string item_name(const InstanceName& instance, Version sequence, std::size_t index);

std::string describe(const Subject& subject, const Answer& answer);
std::string describe(const Subject& subject, const Claimed& claimed);
std::string describe(const InstancePage& page);
std::string describe(const Loaded& loaded);
std::string describe(const std::vector<Tail>& tails);
std::string describe(const std::vector<StoredEvent>& events);

/// Everything that can be seen in the store.
std::string describe_contents(const Subject& subject);

}  // namespace pawl::store::conformance
