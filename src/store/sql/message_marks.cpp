#include "store/sql/message_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

namespace pawl::store::sql {
namespace {

constexpr auto nothing = std::numeric_limits<std::int64_t>::max();
// A search passes what was removed since the last moment but one.
constexpr Duration between_moments = std::chrono::milliseconds{100};
// Nothing should be before a mark. What a server that was put back to an older state gives a
// position that it has given before is found after this time.
constexpr Duration pause = std::chrono::seconds{10};
// A search from the start that takes long is made for a small part of the time only.
constexpr int pause_per_search = 20;

struct Snapshot {
    std::uint64_t end = 0;               ///< transactions from here on may be running
    std::vector<std::uint64_t> running;  ///< of those before it
};

// "xmin:xmax:running,running,..."
Snapshot parse(std::string_view text) {
    Snapshot snapshot;
    std::vector<std::uint64_t> numbers;
    for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
        std::uint64_t number = 0;
        const auto [rest, error] = std::from_chars(at, text.data() + text.size(), number);
        if (error != std::errc{}) break;
        numbers.push_back(number);
        at = rest;
    }
    if (numbers.size() < 2) return snapshot;
    snapshot.end = numbers[1];
    snapshot.running.assign(numbers.begin() + 2, numbers.end());
    return snapshot;
}

}  // namespace

Duration MessageMarks::uptime() {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
}

bool MessageMarks::wants_moment() const {
    const std::lock_guard lock{mutex_};
    return !moment_ || uptime() - moment_at_ >= between_moments;
}

// A transaction has its number before it gives its first position. So one that had none at the last
// moment gives higher positions than the last one given then, and one that was running then keeps
// its floor.
void MessageMarks::set_moment(const Seen& seen) {
    const std::lock_guard lock{mutex_};
    // The server was put back to an older state, or is another one.
    const bool went_back =
        moment_ && (seen.position < moment_->position || seen.ceiling < moment_->ceiling);
    if (went_back) {
        marks_.clear();
        moment_.reset();
        ++history_;
    }
    const Snapshot snapshot = parse(seen.snapshot);
    Moment next{.history = history_, .position = seen.position, .ceiling = seen.ceiling};
    const auto floor_of = [&](std::uint64_t transaction) -> std::int64_t {
        if (!moment_) return 0;
        if (transaction >= moment_->ceiling) return moment_->position;
        const auto at = std::ranges::find(moment_->running, transaction, &Running::transaction);
        return at == moment_->running.end() ? moment_->floor : at->floor;
    };
    for (const auto transaction : snapshot.running)
        next.running.push_back({transaction, floor_of(transaction)});
    next.floor = snapshot.end == seen.ceiling ? seen.position : floor_of(snapshot.end);
    moment_ = std::make_shared<const Moment>(std::move(next));
    moment_at_ = uptime();
}

MessageMarks::Start MessageMarks::of(Ref channel, std::int32_t part) const {
    const std::lock_guard lock{mutex_};
    Start start;
    start.moment = moment_;
    const auto found = marks_.find({channel, part});
    if (found == marks_.end() || uptime() >= found->second.whole_wanted) return start;
    const Mark& mark = found->second;
    start.whole = false;
    start.position = std::min(mark.position, mark.moment->floor + 1);
    std::string transactions;
    std::string floors;
    const auto add = [](std::string& list, auto number) {
        if (!list.empty()) list += ',';
        list += std::to_string(number);
    };
    for (const auto& [transaction, floor] : mark.moment->running) {
        if (floor >= start.position) continue;
        add(transactions, transaction);
        add(floors, floor);
    }
    start.transactions = fmt::format("{{{}}}", transactions);
    start.floors = fmt::format("{{{}}}", floors);
    return start;
}

void MessageMarks::found(Ref channel, std::int32_t part, const Start& start, std::int64_t first,
                         Duration took) {
    const std::lock_guard lock{mutex_};
    if (!start.moment || start.moment->history != history_) return;
    Mark& mark = marks_[{channel, part}];
    mark.position = first == 0 ? nothing : first;
    mark.moment = start.moment;
    if (start.whole) mark.whole_wanted = uptime() + std::max(pause, took * pause_per_search);
}

}  // namespace pawl::store::sql
