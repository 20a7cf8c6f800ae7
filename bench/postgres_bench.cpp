// The execute scenario on PostgreSQL, beside batches and round trips by hand.
#include <atomic>
#include <mutex>
#include <thread>

#include "execute.hpp"
#include "raw_postgres.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

constexpr int in_flight = 256;
constexpr int connections_of_round_trips = 16;

Sample execute_with_pawl(const Settings& settings) {
    const PostgresScratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    return execute_on(parcels, {.length = settings.length()});
}

/// `work(connection, first number)` by so many threads, `batch` parcels at a time.
template <class Work>
Sample by_hand(const Settings& settings, int connections, int batch, Work work) {
    const PostgresScratch scratch;
    RawPostgres{scratch}.prepare_names();
    std::vector<std::unique_ptr<RawPostgres>> open;
    for (int i = 0; i < connections; ++i) open.push_back(std::make_unique<RawPostgres>(scratch));
    Meter meter{settings.length()};
    std::mutex mutex;
    std::atomic<long> next{1};
    std::vector<std::thread> threads;
    for (auto& connection : open)
        threads.emplace_back([&] {
            std::vector<Clock::duration> latencies;
            while (meter.running()) {
                const auto begin = Clock::now();
                work(*connection, next.fetch_add(batch));
                latencies.push_back(Clock::now() - begin);
            }
            const std::lock_guard lock{mutex};
            meter.add(latencies);
        });
    for (auto& thread : threads) thread.join();
    return meter.sample(next - 1);
}

Sample raw_batch(const Settings& settings, int connections) {
    const int batch = in_flight / connections;
    return by_hand(settings, connections, batch,
                   [batch](RawPostgres& to, long first) { to.insert_batch(first, batch); });
}

// The number of connections that suits it best, found anew on every machine.
int best_number_of_connections(const Settings& settings) {
    int best = 1;
    double most = 0;
    for (const int connections : {1, 2, 4, 8}) {
        const double rate = raw_batch(settings, connections).per_second;
        if (rate > most) best = connections;
        most = std::max(most, rate);
    }
    return best;
}

}  // namespace

void execute_on_postgres(const Settings& settings) {
    const auto subject = [&] { return execute_with_pawl(settings); };
    const int best = best_number_of_connections(settings);
    compare(settings, {"execute", in_flight, "raw-batch", subject,
                       [&] { return raw_batch(settings, best); }});
    compare(settings, {"execute", in_flight, "round-trips", subject, [&] {
                           return by_hand(settings, connections_of_round_trips, 1,
                                          [](RawPostgres& to, long number) {
                                              to.insert_by_round_trips(number);
                                          });
                       }});
}

}  // namespace pawl::bench
