#include "engine/vacuum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/outgoing.hpp"

namespace pawl::engine {
namespace {

constexpr Duration between_passes = std::chrono::minutes{1};
// Short enough that commits slip in between the passes of a long clean-up.
constexpr Duration between_batches = std::chrono::milliseconds{50};
constexpr std::size_t batch = 1000;
// Time passes between the look at the inboxes and the clean-up.
constexpr Duration clock_margin = std::chrono::minutes{1};

}  // namespace

// An input that waits in an inbox may have been applied already, by a process that died before it
// took it out. Its input id is younger than it, and is kept as long as it waits: whoever applies it
// again must find it.
Duration Vacuum::input_id_retention() {
    Duration retention = options_.input_ids;
    auto& outbox = store_.outbox();
    for (const auto& channel : outbox.channels()) {
        if (!is_inbox(channel)) continue;
        for (const auto& partition : outbox.depths(channel))
            if (partition.oldest)
                retention = std::max(retention, store_.now() - *partition.oldest + clock_margin);
    }
    return retention;
}

base::Pause Vacuum::step() {
    try {
        // The oldest input that waits grows older while a clean-up goes on.
        if (!goes_on_ || clock_.elapsed() - asked_at_ > clock_margin / 2) {
            asked_at_ = clock_.elapsed();
            input_ids_ = input_id_retention();
        }
        goes_on_ = false;
        const auto vacuumed = store_.vacuum({.input_ids_older_than = input_ids_,
                                             .endings_older_than = options_.endings,
                                             .dead_letters_older_than = options_.dead_letters,
                                             .finished_older_than = options_.finished,
                                             .limit = batch});
        goes_on_ = vacuumed.more;
        if (goes_on_) return between_batches;
    } catch (const std::exception& e) {
        log_.say({.level = LogLevel::warning,
                  .event = LogEvent::store_failed,
                  .error = e.what(),
                  .text = fmt::format("vacuum failed and is tried again: {}", e.what())});
    }
    return between_passes;
}

}  // namespace pawl::engine
