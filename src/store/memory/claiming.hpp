/// Sessions and claims of a memory store.
#pragma once

#include "store/memory/state.hpp"
#include "store/store.hpp"

namespace pawl::store::memory {

SessionId open_session(State& state, Time now, const SessionOptions& options);
bool renew_session(State& state, Time now, SessionId session, Duration lease);
void close_session(State& state, Time now, SessionId session);
std::size_t count_sessions(const State& state, Time now);

Claimed claim_items(State& state, Time now, const ClaimRequest& request);
void release_item(State& state, Time now, ItemId id, Fence fence);

}  // namespace pawl::store::memory
