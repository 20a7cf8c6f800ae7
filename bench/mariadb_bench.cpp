// The execute scenario on MariaDB.
#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>

#include "execute.hpp"
#include "raw_mariadb.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;
constexpr int in_flight = 256;

Sample execute_engine(const Settings& settings) {
    const MariadbScratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    return execute_on(parcels, {.length = settings.length()});
}

/// Connections that each write one transaction after the other.
Sample in_parallel(std::chrono::milliseconds length, int connections, int batch,
                   const std::function<void(RawMariadb&)>& transaction) {
    const MariadbScratch scratch;
    {
        RawMariadb db{scratch.name()};
        prepare_parcels(db);
    }
    Meter meter{length};
    std::mutex mutex;
    long count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < connections; ++i)
        threads.emplace_back([&] {
            RawMariadb db{scratch.name()};
            std::vector<Clock::duration> latencies;
            while (meter.running()) {
                const auto begin = Clock::now();
                transaction(db);
                latencies.push_back(Clock::now() - begin);
            }
            const std::lock_guard lock{mutex};
            count += static_cast<long>(latencies.size()) * batch;
            meter.add(latencies);
        });
    for (auto& thread : threads) thread.join();
    return meter.sample(count);
}

Sample raw_batch(std::chrono::milliseconds length, int connections) {
    RawNumbers numbers;
    const int batch = in_flight / connections;
    return in_parallel(length, connections, batch,
                       [&](RawMariadb& db) { insert_batch(db, numbers, batch); });
}

Sample round_trips(const Settings& settings) {
    RawNumbers numbers;
    return in_parallel(settings.length(), 16, 1,
                       [&](RawMariadb& db) { insert_by_round_trips(db, numbers); });
}

/// The number of connections that serves the rival best.
int best_connections(const Settings& settings) {
    int best = 1;
    double most = 0;
    for (const int connections : {1, 2, 4, 8}) {
        const auto rate = raw_batch(settings.length() / 2, connections).per_second;
        if (rate > most) best = connections;
        most = std::max(most, rate);
    }
    return best;
}

}  // namespace

void execute_on_mariadb(const Settings& settings) {
    const int connections = best_connections(settings);
    const auto engine = [&] { return execute_engine(settings); };
    compare(settings, {"execute", in_flight, "raw-batch", engine,
                       [&] { return raw_batch(settings.length(), connections); }});
    compare(settings,
            {"execute", in_flight, "round-trips", engine, [&] { return round_trips(settings); }});
}

}  // namespace pawl::bench
