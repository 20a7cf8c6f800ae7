// Timers: a hundred thousand that are due at once, and some that come due one by one.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

// Where the timers that fired tell of their lateness; set by the scenario that listens.
std::function<void(Duration)> heard;

long timer_count(const Settings& settings) { return settings.quick ? 5'000 : 100'000; }

/// A file in which `count` timers have been due for a while.
void arm_all(const Scratch& scratch, long count) {
    Engine engine{scratch.url(), {.claims = 0}};  // it only sends
    auto alarms = engine.add<Alarm>("alarm");
    engine.start();
    std::vector<std::future<Outcome<Alarm>>> outcomes;
    const Time due = engine.now();
    for (long n = 0; n < count; n += 1000) {
        for (long i = n; i < std::min(n + 1000, count); ++i)
            outcomes.push_back(alarms.send_async(numbered("alarm-", i), Alarm::Arm{due}));
        for (auto& outcome : outcomes)
            if (!outcome.get().accepted()) std::terminate();
        outcomes.clear();
    }
}

Sample drain(const Settings& settings) {
    const auto count = timer_count(settings);
    const Scratch scratch;
    arm_all(scratch, count);
    Engine engine{scratch.url()};
    engine.add<Alarm>("alarm");
    const Meter::Clock::time_point begin = Meter::Clock::now();
    engine.start();
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    // Looks often enough to be right to a percent, and seldom enough not to be in the way.
    while (!engine.pending({.limit = 1}).empty())
        never.wait_for(lock, std::chrono::milliseconds{10});
    const double seconds = std::chrono::duration<double>(Meter::Clock::now() - begin).count();
    return {.per_second = static_cast<double>(count) / seconds};
}

/// Claims 256 and applies them, by hand: reads the journal to decide, appends, finishes,
/// acknowledges.
Sample raw_drain(const Settings& settings) {
    const auto count = timer_count(settings);
    const Scratch scratch;
    arm_all(scratch, count);
    RawSqlite db{scratch.file()};
    RawAlarms alarms{db};
    Meter meter{std::chrono::hours{1}};
    long done = 0;
    while (const long some = alarms.fire(256)) done += some;
    if (done != count) std::terminate();
    return meter.sample(count);
}

/// One timer every 10 ms: how late is each?
void lateness(const Settings& settings) {
    const int count = settings.quick ? 30 : 500;
    const Scratch scratch;
    Engine engine{scratch.url()};
    auto alarms = engine.add<Alarm>("alarm");
    std::mutex mutex;
    std::condition_variable all;
    std::vector<double> late;
    heard = [&](Duration d) {
        const std::lock_guard lock{mutex};
        late.push_back(std::chrono::duration<double, std::milli>(d).count());
        all.notify_all();
    };
    engine.start();
    const Time first = engine.now() + std::chrono::milliseconds{200};
    for (int i = 0; i < count; ++i)
        alarms.send(numbered("alarm-", i), Alarm::Arm{first + i * std::chrono::milliseconds{10}});
    {
        std::unique_lock lock{mutex};
        all.wait(lock, [&] { return late.size() >= static_cast<std::size_t>(count); });
        std::sort(late.begin(), late.end());
    }
    engine.stop();
    heard = nullptr;
    fmt::print(
        R"({{"bench":"timers-lateness","store":"{}","timers":{},"p50_ms":{:.3f},"p99_ms":{:.3f}}})"
        "\n",
        settings.store, count, late[late.size() / 2], late[late.size() * 99 / 100]);
    std::fflush(stdout);
}

}  // namespace

Decision<Alarm> Alarm::decide(const Ring& in, const Moment& moment) const {
    if (heard) heard(moment.now() - in.at);
    return Rung{};
}

void due_timers(const Settings& settings) {
    compare(settings, {"timers", 256, "raw-timers", [&] { return drain(settings); },
                       [&] { return raw_drain(settings); }});
    lateness(settings);
}

}  // namespace pawl::bench
