/// Reading from a memory store.
#pragma once

#include "store/memory/state.hpp"
#include "store/store.hpp"

namespace pawl::store::memory {

Loaded load_instance(const State& state, const LoadRequest& request);
std::vector<StoredEvent> read_journal(const State& state, const InstanceName& instance,
                                      Version after, std::size_t limit);
std::vector<StoredEvent> read_journal_back(const State& state, const InstanceName& name,
                                           const std::string& event, Version before,
                                           std::size_t limit);
Tail read_tail(const State& state, const InstanceName& name);
std::vector<FinishedRow> list_finished(const State& state, Time since, std::size_t limit);
InstancePage list_instances(const State& state, const InstanceFilter& filter);
Followed follow_journal(const State& state, const std::string& cursor, std::size_t limit);

std::vector<Item> list_items(const State& state, const ItemFilter& filter);
std::vector<LineDepth> line_depths(const State& state, Time now);
std::vector<RecordedEnding> list_endings(const State& state, const ItemFilter& filter);

std::vector<InboxRow> list_inbox(const State& state, const InstanceName& to, std::size_t limit);
std::vector<Message> list_messages(const State& state, const std::string& channel,
                                   std::int64_t after, std::size_t limit);

}  // namespace pawl::store::memory
