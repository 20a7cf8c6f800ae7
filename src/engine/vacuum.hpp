/// Removes what retention no longer keeps, a little at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>

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
        std::function<void(const std::string&)> warn;
    };
    Vacuum(store::Store& store, Options options) : store_(store), options_(std::move(options)) {}

    /// One bounded pass; returns when the next is wanted: at once while there is more to remove.
    base::Pause step();

private:
    store::Store& store_;
    const Options options_;
};

}  // namespace pawl::engine
