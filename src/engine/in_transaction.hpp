/// What must not be done by a thread that is in a transaction with SQL of the user's own.
#pragma once

#include "store/store.hpp"

namespace pawl::engine {

/// Throws Error (misuse) if this thread is: whoever it would wait for may wait for its end.
void check_not_in_transaction(const store::Store& store, const char* what);

}  // namespace pawl::engine
