#include "store/sql/transacting.hpp"

#include <thread>

namespace pawl::store::sql {
namespace {

constexpr int most_collisions = 12;
// Opening a connection waits for the server by itself, so a second loss in a row is a new one.
constexpr int most_losses = 4;

}  // namespace

void Tries::after_collision() {
    if (++collisions_ > most_collisions) throw;
    // Whoever it collided with needs a moment to end; two that collide must not stay in step.
    const auto spread = reinterpret_cast<std::uintptr_t>(this) / 64 % 7;
    const auto longest = 1 << (collisions_ < 6 ? collisions_ : 6);
    std::this_thread::sleep_for(std::chrono::microseconds{200 * longest + 100 * spread});
}

void Tries::after_loss() {
    if (++losses_ > most_losses) throw;
}

}  // namespace pawl::store::sql
