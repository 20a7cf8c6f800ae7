#include "engine/check_options.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/waits.hpp"

namespace pawl::engine {
namespace {

constexpr Duration shortest_lease = std::chrono::milliseconds{1};

void require(bool holds, const char* field, const std::string& what) {
    if (!holds) throw Error{Code::invalid, fmt::format("Options::{}: {}", field, what)};
}

}  // namespace

void check_options(const Options& options) {
    require(options.workers > 0 || options.executor || options.claims == 0, "workers",
            "without a worker or an executor nothing that is claimed is ever performed; give it at "
            "least 1, or set claims to 0");
    require(options.queue > 0, "queue", "no input fits into a queue of 0; give it at least 1");
    require(options.lease >= shortest_lease && options.lease <= base::for_ever, "lease",
            "it must be at least a millisecond, and at most a hundred years");
    require(options.losses > 0, "losses",
            "with 0 everything would be buried before it is performed; give it at least 1");
    require(options.transaction_limit > Duration::zero() &&
                options.transaction_limit <= std::chrono::hours{1},
            "transaction_limit", "it must be more than nothing, and at most an hour");
    require(options.input_id_retention >= Duration::zero(), "input_id_retention",
            "it must not be negative");
    require(options.ending_retention >= Duration::zero(), "ending_retention",
            "it must not be negative");
}

}  // namespace pawl::engine
