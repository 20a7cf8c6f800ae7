// Timers: a hundred thousand that are due at once, and some that come due one by one.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "by_hand.hpp"
#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

// Where the timers that fired tell of their lateness; set by the scenario that listens.
std::function<void(Duration)> heard;
std::atomic<long> fired{0};

long timer_count(const Settings& settings) { return settings.quick ? 1'000 : 100'000; }

void arm_all(const Place& place, long count) {
    Engine engine{place.url(), {.claims = 0}};  // it only sends
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

/// A place in which `count` timers have been due for a while.
std::unique_ptr<Place> place_with_due_timers(const Settings& settings, long count) {
    auto place = make_place(settings);
    arm_all(*place, count);
    place->settle();
    return place;
}

void expect_rung(Place& place, long count) {
    expect(place, {.instances = count, .finished = count, .events = 2 * count});
}

Sample drain_with_engine(const Place& place, long count) {
    Engine engine{place.url()};
    engine.add<Alarm>("alarm");
    fired = 0;
    Meter meter{std::chrono::hours{1}};
    engine.start();
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    // Looks often enough to be right to a percent, and seldom enough not to be in the way.
    while (fired < count || !engine.pending({.limit = 1}).empty())
        never.wait_for(lock, std::chrono::milliseconds{10});
    return meter.sample(count);
}

Sample drain(const Settings& settings) {
    const auto count = timer_count(settings);
    const auto place = place_with_due_timers(settings, count);
    const auto sample = drain_with_engine(*place, count);
    expect_rung(*place, count);
    return sample;
}

/// Claims 256 and applies them, by hand: reads the journal to decide, appends, finishes,
/// acknowledges. A drain has no latency.
Sample raw_drain(const Settings& settings, long count, const Batches& batches) {
    const auto place = place_with_due_timers(settings, count);
    const auto sample = by_hand(*place, {std::chrono::hours{1}, batches.connections},
                                [&](Rival& rival) { return rival.fire(batches.each()); });
    expect_rung(*place, count);
    return {.count = sample.count, .per_second = sample.per_second};
}

int best_connections_of_drain(const Settings& settings) {
    return best_connections(settings, [&](int connections) {
        return raw_drain(settings, timer_count(settings) / 4, {.connections = connections});
    });
}

/// One timer every 10 ms: how late is each?
void lateness(const Settings& settings) {
    const int count = settings.quick ? 30 : 500;
    const auto place = make_place(settings);
    Engine engine{place->url()};
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
    ++fired;
    if (heard) heard(moment.now() - in.at);
    return Rung{};
}

void due_timers(const Settings& settings) {
    const int best = best_connections_of_drain(settings);
    compare(settings,
            {"timers", 256, "raw-timers", [&] { return drain(settings); },
             [&] { return raw_drain(settings, timer_count(settings), {.connections = best}); }});
    lateness(settings);
}

}  // namespace pawl::bench
