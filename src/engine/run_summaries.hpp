/// Runs as users see them: what the journal says of each, and what its item says beside that.
#pragma once

#include <pawl/function.hpp>
#include <vector>

#include "store/store.hpp"

namespace pawl::engine {

/// A claim writes no status, and neither does a failure of the engine: both show in the item.
RunStatus shown_status(RunStatus stored, bool is_claimed, bool has_failed);

store::InstanceFilter filter_of(const RunQuery& query);
/// Without the error of a run that has ended, and that of a step.
RunSummary summary_of(const store::InstanceRow& row);
/// Those errors, read from the journals.
void add_errors(store::Store& store, std::vector<RunSummary>& runs);

}  // namespace pawl::engine
