/// Making and changing a store's tables apart from using them.
#pragma once

#include <pawl/export.hpp>
#include <pawl/options.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

/// Brings the store's tables up to date, as opening an engine does: for deployments where the
/// program itself may not change tables. Any number of processes may do so at once. Throws Error.
PAWL_API void migrate(std::string_view url, const Options& options = {});

/// The SQL that `migrate` runs in an empty database. Connects to nothing.
PAWL_API std::string migration_sql(std::string_view url, const Options& options = {});

}  // namespace pawl::inline v0
