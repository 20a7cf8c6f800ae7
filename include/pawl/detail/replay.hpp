/// Replays exported journals against a function's code.
#pragma once

#include <pawl/detail/execution.hpp>
#include <pawl/export.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0::detail {

struct Replayed {
    int runs = 0;
    std::vector<std::string> mismatches{};
};

/// `lines` as Run::export_journal writes them, of any number of runs. Throws Error (codec).
PAWL_API Replayed replay(FunctionModel& model, std::string_view lines);

}  // namespace pawl::inline v0::detail
