// One instance that everybody writes to: it must not be limited by the time of a flush.
#include <atomic>

#include "execute.hpp"
#include "flight.hpp"

namespace pawl::bench {
namespace {

Sample hot(const Settings& settings) {
    const Scratch scratch;
    Engine engine{scratch.url()};
    auto parcels = engine.add<Parcel>("parcel");
    engine.start();
    Flight flight{[&](std::function<void()> land) {
                      parcels.send_async("hot", Parcel::Post{"Ada", 2}, {},
                                         landing<Parcel>(std::move(land)));
                  },
                  256};
    return flight.fly(settings.length());
}

/// The same events, effects and snapshots by hand, 256 inputs to a transaction.
Sample raw_hot(const Settings& settings) {
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
        for (int i = 0; i < 256; ++i) {
            parcels.append_to_hot(++n);
            if (n % 100 == 0) parcels.snapshot_hot(n);
        }
        parcels.update_hot(n);
        parcels.commit();
    }
    return meter.sample(n);
}

}  // namespace

void hot_instance(const Settings& settings) {
    const auto subject = [&] { return hot(settings); };
    compare(settings, {"hot", 256, "raw-hot", subject, [&] { return raw_hot(settings); }});
    compare(settings, {"hot", 256, "execute", subject, [&] { return execute_fresh(settings); }});
}

}  // namespace pawl::bench
