// A new instance with one event and one effect: how much of what SQLite can do is left to the user?
#include <atomic>
#include <mutex>
#include <thread>

#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

/// Threads that each wait for their outcome before they send again.
Sample waiting(const Settings& settings, int callers) {
    const Scratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    Meter meter{settings.length()};
    std::mutex mutex;
    std::atomic<long> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
        threads.emplace_back([&] {
            std::vector<Clock::duration> latencies;
            while (meter.running()) {
                const auto begin = Clock::now();
                const auto id = numbered("parcel-", next++);
                if (!parcels.send(id, Parcel::Post{"Ada", 2}).accepted()) std::terminate();
                latencies.push_back(Clock::now() - begin);
            }
            const std::lock_guard lock{mutex};
            meter.add(latencies);
        });
    for (auto& thread : threads) thread.join();
    return meter.sample();
}

}  // namespace

Sample execute_on(const Workflow<Parcel>& parcels, const Execution& how) {
    std::atomic<long> next{how.first};
    Flight flight{[&](std::function<void()> land) {
                      parcels.send_async(how.id(next++), Parcel::Post{"Ada", 2}, {},
                                         landing<Parcel>(std::move(land)));
                  },
                  256};
    return flight.fly(how.length, how.count);
}

Sample execute_fresh(const Settings& settings) {
    const Scratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    return execute_on(parcels, {.length = settings.length()});
}

Sample execute_raw(RawSqlite& db, int batch, const Execution& how) {
    RawParcels parcels{db};
    parcels.prepare();
    Meter meter{how.length};
    long n = how.first;
    while (meter.running()) {
        const auto begin = Clock::now();
        parcels.begin();
        for (int i = 0; i < batch; ++i) parcels.insert(how.id(n++));
        parcels.commit();
        meter.add(Clock::now() - begin);
    }
    return meter.sample(n - how.first);
}

Sample execute_raw_fresh(const Settings& settings, int batch) {
    const Scratch scratch;
    {
        const Engine engine{scratch.url()};
    }  // makes the schema
    RawSqlite db{scratch.file()};
    return execute_raw(db, batch, {.length = settings.length()});
}

void execute(const Settings& settings) {
    const auto raw = [&](int batch) {
        return [&settings, batch] { return execute_raw_fresh(settings, batch); };
    };
    const auto async = [&] { return execute_fresh(settings); };
    compare(settings, {"execute", 256, "raw-batch", async, raw(256)});
    compare(settings, {"execute", 256, "one-transaction", async, raw(1)});
    compare(settings, {"execute", 64, "raw-batch", [&] { return waiting(settings, 64); }, raw(64)});
    compare(settings,
            {"execute", 1, "single-commit", [&] { return waiting(settings, 1); }, raw(1), true});
}

}  // namespace pawl::bench
