// A million instances, and an instance with a hundred thousand events: what does size cost?
#include <fmt/format.h>

#include <memory>
#include <random>

#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

long many(const Settings& settings) { return settings.quick ? 5'000 : 1'000'000; }
long long_journal(const Settings& settings) { return settings.quick ? 1'000 : 100'000; }

std::string random_id(long) {
    static thread_local std::mt19937_64 random{std::random_device{}()};
    return fmt::format("{:016x}", random());
}

void with_many_instances(const Settings& settings) {
    const auto place = make_place(settings);
    fill(*place->rival(), many(settings));
    place->settle();
    long next = many(settings);
    const auto on_many = [&](std::function<std::string(long)> id) {
        Engine engine{place->url()};
        auto parcels = engine.add<Parcel>("parcel");
        engine.start();
        const auto sample =
            execute_on(parcels, {.length = settings.length(), .first = next, .id = std::move(id)});
        next += 10'000'000;
        return sample;
    };
    compare(settings, {"growth-sequential", 256, "execute",
                       [&] { return on_many([](long n) { return numbered("parcel-", n); }); },
                       [&] { return execute_fresh(settings); }});
    const int best = best_connections_of_execute(settings);
    const auto raw_on_many = [&] {
        return execute_raw(*place, {.connections = best},
                           {.length = settings.length(), .id = random_id});
    };
    compare(settings,
            {"growth-random", 256, "raw-batch", [&] { return on_many(random_id); }, raw_on_many});
}

Sample send_to(const Settings& settings, const Place& place, const std::string& id, bool first) {
    Engine engine{place.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    Meter meter{settings.length() / 3};
    // "Right after a restart" is the first input alone.
    do {
        const auto begin = Meter::Clock::now();
        if (!parcels.send(id, Parcel::Post{"Ada", 2}).accepted()) std::terminate();
        meter.add(Meter::Clock::now() - begin);
    } while (!first && meter.running());
    return meter.sample();
}

void with_a_long_journal(const Settings& settings) {
    const auto place = make_place(settings);
    {
        Engine engine{place->url()};
        auto parcels = engine.add<Parcel>("parcel");
        engine.start();
        Flight flight{[&](std::function<void()> land) {
                          parcels.send_async("long", Parcel::Post{"Ada", 2}, {},
                                             landing<Parcel>(std::move(land)));
                      },
                      256};
        flight.fly({}, long_journal(settings));
    }
    place->settle();
    int fresh = 0;
    const auto fresh_id = [&] { return numbered("fresh-", fresh++); };
    compare(settings, {"growth-journal", 1, "fresh-instance",
                       [&] { return send_to(settings, *place, "long", false); },
                       [&] { return send_to(settings, *place, fresh_id(), false); }, true});
    compare(settings, {"growth-journal-restart", 1, "fresh-instance",
                       [&] { return send_to(settings, *place, "long", true); },
                       [&] { return send_to(settings, *place, fresh_id(), true); }, true});
}

}  // namespace

void growth(const Settings& settings) {
    with_many_instances(settings);
    with_a_long_journal(settings);
}

void memory(const Settings& settings) {
    const long small = many(settings) / 10;
    const auto place = make_place(settings);
    Engine engine{place->url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    execute_on(parcels, {.count = small});
    const double before = resident_mib();
    execute_on(parcels, {.count = many(settings) - small, .first = small});
    const double after = resident_mib();
    fmt::print(
        R"({{"bench":"memory","store":"{}","instances":[{},{}],"resident_mib":[{:.1f},{:.1f}],)"
        R"("growth_mib":{:.1f}}})"
        "\n",
        settings.store, small, many(settings), before, after, after - before);
    std::fflush(stdout);
}

}  // namespace pawl::bench
