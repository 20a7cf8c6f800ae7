/// Removes what retention no longer keeps, a little at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "store/store.hpp"

namespace pawl::engine {

class Vacuum {
public:
    struct Options {
        Duration input_ids{};
        Duration endings{};
        std::optional<Duration> dead_letters;
        std::optional<Duration> finished;
    };
    Vacuum(store::Store& store, const Clock& clock, base::Log& log, Options options)
        : store_(store),
          clock_(clock),
          log_(log),
          options_(std::move(options)),
          input_ids_(options_.input_ids) {}

    /// One bounded pass; returns when the next is wanted: at once while there is more to remove.
    base::Pause step();

private:
    Duration input_id_retention();

    store::Store& store_;
    const Clock& clock_;
    base::Log& log_;
    const Options options_;
    Duration input_ids_;    ///< how long they are kept in this clean-up
    Duration asked_at_{};   ///< when that was found out
    bool goes_on_ = false;  ///< the last pass left something
};

}  // namespace pawl::engine
