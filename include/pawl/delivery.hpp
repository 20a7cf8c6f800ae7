/// What a handler is told about the attempt it is making.
#pragma once

#include <optional>
#include <pawl/time.hpp>
#include <stop_token>
#include <string>

namespace pawl::inline v0 {

/// One attempt at an effect. At least once: hand `key` to whatever must not happen twice.
struct Delivery {
    std::string key{};   ///< the same at every attempt, on every machine
    int attempt = 1;     ///< counted from 1 when claimed, also when the process then dies
    std::string type{};  ///< of the workflow
    std::string id{};    ///< of the instance
    Time created_at{};
    std::optional<Time> deadline{};  ///< when `stop` is requested; the policy's
    std::stop_token stop{};          ///< requested at the deadline, or when a stop runs out of time
    std::string correlation{};
    std::string conversation{};
    std::string tenant{};
    std::string trace{};

    bool is_retry() const { return attempt > 1; }
};

}  // namespace pawl::inline v0
