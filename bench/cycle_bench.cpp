// Input, effect, handler, result input, finished: the whole way round.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

/// Each handler call sends the next parcel: 128 on their way to a handler and as many results on
/// their way to the journal, 256 in flight in all.
Sample cycle(const Settings& settings) {
    const Scratch scratch;
    Engine engine{scratch.url()};
    std::atomic<long> next{0};
    Meter meter{settings.length()};
    std::function<void()> send;
    auto parcels =
        engine.add<Parcel>("parcel", Handlers{[&](const Parcel::Carry&) -> Parcel::Input {
                               if (meter.running()) send();
                               return Parcel::Deliver{};
                           }});
    send = [&] {
        parcels.send_async(numbered("parcel-", next++), Parcel::Post{"Ada", 2}, {},
                           landing<Parcel>([] {}));
    };
    engine.start();
    for (int i = 0; i < 128; ++i) send();
    // Everything that was sent is finished before the clock stops.
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    while (meter.running() || !engine.pending({.limit = 1}).empty())
        never.wait_for(lock, std::chrono::milliseconds{10});
    return meter.sample(next.load());
}

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
    compare(settings, {"cycle", 256, "raw-cycle", [&] { return cycle(settings); },
                       [&] { return raw_cycle(settings); }});
}

}  // namespace pawl::bench
