#include "store/sql/database_clock.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "store/values.hpp"

namespace pawl::store::sql {
namespace {

constexpr Duration oldest_answer = std::chrono::seconds{1};

}  // namespace

bool DatabaseClock::is_old() const {
    if (test_) return false;
    const std::lock_guard lock{mutex_};
    return !is_measured_ || uptime() - measured_at_ > oldest_answer;
}

// The database told its time somewhere between the question and the answer. An answer that took
// long, for example because this process was stopped meanwhile, leaves much open: it only moves
// what is known already into its bounds. A first one counts as told just now, since a clock that
// runs ahead would end the leases of others early.
void DatabaseClock::set(Time told, Duration before, Duration after) {
    const std::lock_guard lock{mutex_};
    const Duration earliest = told.time_since_epoch() - after;
    const Duration latest = told.time_since_epoch() - before;
    if (after - before <= clock_noise) {
        offset_ = earliest + (latest - earliest) / 2;
    } else {
        offset_ = is_measured_ ? std::clamp(offset_, earliest, latest) : earliest;
    }
    is_measured_ = true;
    measured_at_ = before;  // A late answer is old, and the next call asks again.
    const Time now{uptime() + offset_};
    if (now < last_ - clock_noise) last_ = now;
}

Time DatabaseClock::now() {
    if (test_) return test_->now();
    const std::lock_guard lock{mutex_};
    base::check(is_measured_, "the database was asked for its time");
    last_ = std::max(last_, Time{uptime() + offset_});
    return last_;
}

}  // namespace pawl::store::sql
