#include "engine/vacuum.hpp"

#include <fmt/format.h>

namespace pawl::engine {
namespace {

constexpr Duration between_passes = std::chrono::minutes{1};
// Short enough that commits slip in between the passes of a long clean-up.
constexpr Duration between_batches = std::chrono::milliseconds{50};
constexpr std::size_t batch = 1000;

}  // namespace

base::Pause Vacuum::step() {
    try {
        const auto vacuumed = store_.vacuum({.input_ids_older_than = options_.input_ids,
                                             .endings_older_than = options_.endings,
                                             .dead_letters_older_than = options_.dead_letters,
                                             .finished_older_than = options_.finished,
                                             .limit = batch});
        if (vacuumed.more) return between_batches;
    } catch (const std::exception& e) {
        options_.warn(fmt::format("vacuum failed and is tried again: {}", e.what()));
    }
    return between_passes;
}

}  // namespace pawl::engine
