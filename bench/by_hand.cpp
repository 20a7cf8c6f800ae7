#include "by_hand.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace pawl::bench {

Sample by_hand(Place& place, const ByHand& how, const std::function<long(Rival&)>& work) {
    using Clock = Meter::Clock;
    const auto rivals = place.rivals(how.connections);
    Meter meter{how.length};
    std::mutex mutex;
    long count = 0;
    std::exception_ptr failure;
    const auto run = [&](Rival& rival) {
        std::vector<Clock::duration> latencies;
        long own = 0;
        try {
            while (meter.running()) {
                const auto begin = Clock::now();
                const long done = work(rival);
                if (done == 0) break;
                own += done;
                latencies.push_back(Clock::now() - begin);
            }
        } catch (...) {
            const std::lock_guard lock{mutex};
            failure = std::current_exception();
        }
        const std::lock_guard lock{mutex};
        count += own;
        meter.add(latencies);
    };
    std::vector<std::thread> threads;
    for (const auto& rival : rivals) threads.emplace_back([&] { run(*rival); });
    for (auto& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
    return meter.sample(count);
}

int best_connections(const Settings& settings, const std::function<Sample(int)>& rival) {
    if (!settings.on_server()) return 1;
    int best = 1;
    double most = 0;
    const std::vector<int> tried = settings.quick ? std::vector{2} : std::vector{1, 2, 4, 8};
    for (const int connections : tried) {
        const double rate = rival(connections).per_second;
        if (rate > most) best = connections;
        most = std::max(most, rate);
    }
    return best;
}

}  // namespace pawl::bench
