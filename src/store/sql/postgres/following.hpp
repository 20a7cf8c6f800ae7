/// Following the journal: what was committed between two moments, in an order that skips nothing.
#pragma once

#include <functional>
#include <string>

#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {

/// A cursor names two moments as the server's snapshots of what was committed: all events of the
/// first were given, and of those that came until the second all up to a position. One transaction
/// that stays open delays its own events and nobody else's. Each instance's events keep their
/// order: a later one's transaction saw the earlier one committed, so no snapshot has it without
/// the other, and inside one batch positions order them.
///
/// A dump restored into another cluster has transaction numbers that mean nothing there. The schema
/// notices, takes all restored events as committed and begins a new epoch; a cursor of an older
/// epoch then gives the restored events that it had not given, and repeats at most the batch that
/// it was in the middle of.
std::string follow_events(PostgresConnection& connection, const std::string& cursor,
                          std::size_t limit, const std::function<void(const Row&)>& take);

}  // namespace pawl::store::sql::postgres
