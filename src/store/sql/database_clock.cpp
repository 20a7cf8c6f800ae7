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

// The database told its time somewhere between the question and the answer.
void DatabaseClock::set(Time told, Duration before, Duration after) {
    const std::lock_guard lock{mutex_};
    is_measured_ = true;
    measured_at_ = after;
    offset_ = told.time_since_epoch() - (before + (after - before) / 2);
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
