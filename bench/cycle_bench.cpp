// Input, effect, handler, result input, finished: the whole way round.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

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

Sample raw_cycle(const Settings& settings) {
    const Scratch scratch;
    {
        const Engine engine{scratch.url()};
    }
    RawSqlite db{scratch.file()};
    RawParcels parcels{db};
    parcels.prepare();
    Meter meter{settings.length()};
    long n = 0;
    while (meter.running()) {
        parcels.begin();
        for (int i = 0; i < 256; ++i) parcels.insert_claimed(numbered("parcel-", n + i));
        parcels.commit();
        parcels.begin();
        for (int i = 0; i < 256; ++i) parcels.finish(n + i + 1);
        parcels.commit();
        n += 256;
    }
    return meter.sample(n);
}

}  // namespace

void whole_cycle(const Settings& settings) {
    compare(settings, {"cycle", 256, "raw-cycle",
                       [&] {
                           const Scratch scratch;
                           return cycle_on(scratch.url(), {.length = settings.length()});
                       },
                       [&] { return raw_cycle(settings); }});
}

}  // namespace pawl::bench
