// Input, effect, handler, result input, finished: the whole way round.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "by_hand.hpp"
#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {

/// Each handler call sends the next parcel: half of those in flight are on their way to a handler,
/// half are results on their way to the journal.
Sample cycle_on(const std::string& url, const Cycling& how) {
    Engine engine{url};
    std::atomic<long> next{0};
    std::unique_ptr<Meter> meter;
    std::function<void()> send;
    auto parcels =
        engine.add<Parcel>("parcel", Handlers{[&](const Parcel::Carry&) -> Parcel::Input {
                               if (meter->running()) send();
                               return Parcel::Deliver{};
                           }});
    send = [&] {
        parcels.send_async(numbered(how.prefix, next++), Parcel::Post{"Ada", 2}, {},
                           landing<Parcel>([] {}));
    };
    engine.start();
    how.begin();
    meter = std::make_unique<Meter>(how.length);
    for (int i = 0; i < how.in_flight / 2; ++i) send();
    // Everything that was sent is finished before the clock stops.
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    while (meter->running() || !engine.pending({.limit = 1}).empty())
        never.wait_for(lock, std::chrono::milliseconds{10});
    return meter->sample(next.load());
}

namespace {

void expect_finished(Place& place, long count) {
    expect(place, {.instances = count, .finished = count, .events = 2 * count});
}

Sample cycle(const Settings& settings) {
    const auto place = make_place(settings);
    const auto sample = cycle_on(place->url(), {.length = settings.length()});
    expect_finished(*place, sample.count);
    return sample;
}

Sample raw_cycle(const Settings& settings, const Batches& batches) {
    const auto place = make_place(settings);
    std::atomic<long> next{0};
    const auto cycle_some = [&](Rival& rival) {
        Ids ids(static_cast<std::size_t>(batches.each()));
        for (auto& id : ids) id = numbered("parcel-", next++);
        rival.cycle(ids);
        return static_cast<long>(ids.size());
    };
    const auto sample = by_hand(*place, {settings.length(), batches.connections}, cycle_some);
    expect_finished(*place, sample.count);
    return sample;
}

}  // namespace

void whole_cycle(const Settings& settings) {
    const auto raw = [&](int connections) {
        return raw_cycle(settings, {.connections = connections});
    };
    const int best = best_connections(settings, raw);
    compare(settings, {"cycle", 256, "raw-cycle", [&] { return cycle(settings); },
                       [&] { return raw(best); }});
}

}  // namespace pawl::bench
