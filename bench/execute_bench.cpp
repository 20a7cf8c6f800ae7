// A new instance with one event and one effect: how much of what the database can do is left to the
// user?
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "by_hand.hpp"
#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

// What execute leaves behind, by whomever.
void expect_parcels(Place& place, long count) {
    expect(place, {.instances = count, .events = count, .items = count});
}

/// Threads that each wait for their outcome before they send again.
Sample wait_on(const Workflow<Parcel>& parcels, const Settings& settings, int callers) {
    return call_and_wait(settings.length(), callers, [&](long n) {
        if (!parcels.send(numbered("parcel-", n), Parcel::Post{"Ada", 2}).accepted())
            std::terminate();
    });
}

/// On a fresh place; what there is afterwards is counted when the engine has gone.
template <class Send>
Sample with_engine(const Settings& settings, Send send) {
    const auto place = make_place(settings);
    const auto sample = [&] {
        Engine engine{place->url()};
        auto parcels = engine.add<Parcel>("parcel");
        engine.start();
        return send(parcels);
    }();
    expect_parcels(*place, sample.count);
    return sample;
}

Sample waiting(const Settings& settings, int callers) {
    return with_engine(settings,
                       [&](const auto& parcels) { return wait_on(parcels, settings, callers); });
}

/// A program that knows no batches: on SQLite one that writes, on a server 16 that make one round
/// trip after the other.
Sample one_by_one(const Settings& settings) {
    const auto place = make_place(settings);
    std::atomic<long> next{0};
    const auto insert_one = [&](Rival& rival) {
        rival.insert_alone(numbered("parcel-", next++));
        return 1L;
    };
    const int connections = settings.on_server() ? 16 : 1;
    const auto sample = by_hand(*place, {settings.length(), connections}, insert_one);
    expect_parcels(*place, sample.count);
    return sample;
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
    return with_engine(settings, [&](const auto& parcels) {
        return execute_on(parcels, {.length = settings.length()});
    });
}

Sample execute_raw(Place& place, const Batches& batches, const Execution& how) {
    std::atomic<long> next{how.first};
    const auto insert_some = [&](Rival& rival) {
        Ids ids(static_cast<std::size_t>(batches.each()));
        for (auto& id : ids) id = how.id(next++);
        rival.insert(ids);
        return static_cast<long>(ids.size());
    };
    return by_hand(place, {how.length, batches.connections}, insert_some);
}

Sample execute_raw_fresh(const Settings& settings, const Batches& batches) {
    const auto place = make_place(settings);
    const auto sample = execute_raw(*place, batches, {.length = settings.length()});
    expect_parcels(*place, sample.count);
    return sample;
}

void fill(Rival& rival, long count) {
    constexpr long at_once = 10'000;
    for (long n = 0; n < count; n += at_once) {
        Ids ids;
        for (long i = n; i < std::min(n + at_once, count); ++i)
            ids.push_back(numbered("parcel-", i));
        rival.insert(ids);
    }
}

int best_connections_of_execute(const Settings& settings) {
    return best_connections(settings, [&](int connections) {
        return execute_raw_fresh(settings, {.connections = connections});
    });
}

void execute(const Settings& settings) {
    const int best = best_connections_of_execute(settings);
    const auto raw = [&](const Batches& batches) {
        return [&settings, batches] { return execute_raw_fresh(settings, batches); };
    };
    const auto async = [&] { return execute_fresh(settings); };
    compare(settings, {"execute", 256, "raw-batch", async, raw({256, best})});
    compare(settings, {"execute", 256, settings.on_server() ? "round-trips" : "one-transaction",
                       async, [&] { return one_by_one(settings); }});
    compare(settings,
            {"execute", 64, "raw-batch", [&] { return waiting(settings, 64); }, raw({64, best})});
    compare(settings, {"execute", 1, "single-commit", [&] { return waiting(settings, 1); },
                       raw({1, 1}), true});
}

}  // namespace pawl::bench
