#include "store/sql/transacting.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>
#include <thread>

namespace pawl::store::sql {
namespace {

constexpr int most_collisions = 12;
// Opening a connection waits for the server by itself, so a second loss in a row is a new one.
constexpr int most_losses = 4;

}  // namespace

bool Tries::again(const Error& error) {
    if (dynamic_cast<const Collision*>(&error)) return again();
    return is_lost(error) && ++losses_ <= most_losses;
}

bool Tries::again() {
    if (++collisions_ > most_collisions) return false;
    // Whoever it collided with needs a moment to end; two that collide must not stay in step.
    const auto spread = reinterpret_cast<std::uintptr_t>(this) / 64 % 7;
    const auto longest = std::uintptr_t{1} << (collisions_ < 6 ? collisions_ : 6);
    std::this_thread::sleep_for(std::chrono::microseconds{200 * longest + 100 * spread});
    return true;
}

bool is_lost(const Error& error) { return dynamic_cast<const LostConnection*>(&error) != nullptr; }

void fail_in_doubt(const Error& last) {
    throw Error{Code::in_doubt, fmt::format("the result of a commit is unknown: its answer was "
                                            "lost, and the database can't be asked: {}",
                                            last.what())};
}

}  // namespace pawl::store::sql
