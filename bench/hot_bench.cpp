// One instance that everybody writes to: it must not be limited by the time of a flush.
#include "by_hand.hpp"
#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

void expect_hot(Place& place, long count) {
    expect(place, {.instances = 1, .events = count, .items = count});
}

Sample hot(const Settings& settings) {
    const auto place = make_place(settings);
    const auto sample = [&] {
        Engine engine{place->url()};
        auto parcels = engine.add<Parcel>("parcel");
        engine.start();
        Flight flight{[&](std::function<void()> land) {
                          parcels.send_async("hot", Parcel::Post{"Ada", 2}, {},
                                             landing<Parcel>(std::move(land)));
                      },
                      256};
        return flight.fly(settings.length());
    }();
    expect_hot(*place, sample.count);
    return sample;
}

/// The same events, effects and snapshots by hand, 256 inputs to a transaction. On one connection:
/// another one would wait for the row of the instance until the first has committed.
Sample raw_hot(const Settings& settings) {
    const auto place = make_place(settings);
    long next = 1;
    const auto append_some = [&](Rival& rival) {
        rival.append_to_hot(next, 256);
        next += 256;
        return 256L;
    };
    const auto sample = by_hand(*place, {.length = settings.length()}, append_some);
    expect_hot(*place, sample.count);
    return sample;
}

}  // namespace

void hot_instance(const Settings& settings) {
    const auto subject = [&] { return hot(settings); };
    compare(settings, {"hot", 256, "raw-hot", subject, [&] { return raw_hot(settings); }});
    compare(settings, {"hot", 256, "execute", subject, [&] { return execute_fresh(settings); }});
}

}  // namespace pawl::bench
