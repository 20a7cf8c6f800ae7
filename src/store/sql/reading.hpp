/// Everything that only looks: instances, journal, items, and what waits.
#pragma once

#include <span>

#include "store/sql/database.hpp"
#include "store/sql/instance_refs.hpp"
#include "store/sql/interned.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

/// Thread-safe. Each call is one read transaction, so it sees one moment, unless it says otherwise.
class Reading {
public:
    Reading(Database& database, Interned& interned, InstanceRefs& refs)
        : database_(database), sql_(database.statements()), interned_(interned), refs_(refs) {}

    std::vector<Loaded> load(std::span<const LoadRequest> requests);
    /// In a transaction that is open, and nobody else changes the instance until it ends.
    Loaded hold(Connection& connection, const LoadRequest& request);
    std::vector<StoredEvent> journal(const InstanceName& instance, Version after,
                                     std::size_t limit);
    std::vector<StoredEvent> journal_back(const InstanceName& instance, const std::string& name,
                                          Version before, std::size_t limit);
    std::vector<Tail> tails(std::span<const InstanceName> instances);
    std::vector<FinishedRow> finished_since(Time since, std::size_t limit);
    InstancePage instances(const InstanceFilter& filter);
    Followed follow(const std::string& cursor, std::size_t limit);
    std::vector<Item> items(const ItemFilter& filter);
    std::vector<LineDepth> depths();
    std::vector<RecordedEnding> endings(const ItemFilter& filter);
    std::vector<InboxRow> inbox(const InstanceName& to, std::size_t limit);
    std::vector<Message> messages(const std::string& channel, std::int64_t after,
                                  std::size_t limit);

private:
    std::vector<Loaded> load_in(Connection& connection, std::span<const LoadRequest> requests);
    /// By the instances' (type, id); remembers their refs.
    template <class Take>
    void read_rows(Connection& connection, std::span<const InstanceName* const> names, Take&& take);
    std::vector<Ref> load_rows(Connection& connection, std::span<const LoadRequest> requests,
                               std::vector<Loaded>& loaded);
    void load_snapshots(Connection& connection, std::span<const LoadRequest> requests,
                        const std::vector<Ref>& refs, std::vector<Loaded>& loaded);
    void load_events(Connection& connection, std::span<const LoadRequest> requests,
                     const std::vector<Ref>& refs, std::vector<Loaded>& loaded);

    Database& database_;
    const Statements& sql_;
    Interned& interned_;
    InstanceRefs& refs_;
};

}  // namespace pawl::store::sql
