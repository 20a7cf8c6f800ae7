// A new instance with one event and one effect: how much of what SQLite can do is left to the user?
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "harness.hpp"
#include "raw_sqlite.hpp"
#include "workflows.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

std::string order_id(long n) {
    auto digits = std::to_string(n);
    return "parcel-" + std::string(10 - digits.size(), '0') + digits;
}

/// `flight` inputs in the air, sent from the callbacks of those that came back.
Sample asynchronous(const Settings& settings, int flight) {
    const Scratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();

    struct Flight {
        Meter meter;
        std::mutex mutex;
        std::condition_variable landed;
        std::vector<Clock::duration> latencies;
        int in_air = 0;
        std::atomic<long> next{0};
    } air{Meter{settings.length()}, {}, {}, {}, 0, 0};

    std::function<void()> send = [&] {
        const auto begin = Clock::now();
        parcels.send_async(
            order_id(air.next++), Parcel::Post{"Ada", 2}, {},
            [&, begin](std::optional<Outcome<Parcel>> outcome, std::exception_ptr error) {
                if (error) std::rethrow_exception(error);
                if (!outcome->accepted()) std::terminate();
                const bool more = air.meter.running();
                {
                    const std::lock_guard lock{air.mutex};
                    air.latencies.push_back(Clock::now() - begin);
                    if (!more && --air.in_air == 0) air.landed.notify_all();
                }
                if (more) send();
            });
    };
    air.in_air = flight;
    for (int i = 0; i < flight; ++i) send();
    std::unique_lock lock{air.mutex};
    air.landed.wait(lock, [&] { return air.in_air == 0; });
    air.meter.add(air.latencies);
    return air.meter.sample();
}

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
                if (!parcels.send(order_id(next++), Parcel::Post{"Ada", 2}).accepted())
                    std::terminate();
                latencies.push_back(Clock::now() - begin);
            }
            const std::lock_guard lock{mutex};
            meter.add(latencies);
        });
    for (auto& thread : threads) thread.join();
    return meter.sample();
}

/// The same rows by hand, `batch` to a transaction.
Sample raw(const Settings& settings, int batch) {
    const Scratch scratch;
    {
        Engine engine{scratch.url()};
    }  // makes the schema
    RawSqlite db{scratch.file()};
    RawParcels parcels{db};
    parcels.prepare();
    Meter meter{settings.length()};
    long n = 0;
    while (meter.running()) {
        const auto begin = Clock::now();
        parcels.begin();
        for (int i = 0; i < batch; ++i) parcels.insert(order_id(n++));
        parcels.commit();
        meter.add(Clock::now() - begin);
    }
    return meter.sample(n);
}

}  // namespace

void execute(const Settings& settings) {
    const auto batch = [&](int size) { return [&settings, size] { return raw(settings, size); }; };
    const auto async = [&] { return asynchronous(settings, 256); };
    compare(settings, {"execute", 256, "raw-batch", async, batch(256)});
    compare(settings, {"execute", 256, "one-transaction", async, batch(1)});
    compare(settings,
            {"execute", 64, "raw-batch", [&] { return waiting(settings, 64); }, batch(64)});
    compare(settings,
            {"execute", 1, "single-commit", [&] { return waiting(settings, 1); }, batch(1), true});
}

}  // namespace pawl::bench
