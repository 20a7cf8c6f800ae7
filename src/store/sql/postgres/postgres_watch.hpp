/// Hears commits of other processes: a connection that listens, and a look now and then.
#pragma once

#include <memory>

#include "store/sql/postgres/notifier.hpp"
#include "store/store.hpp"

namespace pawl::store::sql::postgres {

/// A line that went dead is noticed by asking the server on it; until there is a new one, and
/// behind a pooler, through which nobody can listen, every wait ends soon as if something had
/// changed. `notifier` outlives the watch.
std::unique_ptr<Watch> make_watch(ConnectionOptions options, const Notifier& notifier);

}  // namespace pawl::store::sql::postgres
