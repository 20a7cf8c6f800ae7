// Does a claim cost the same behind a hundred thousand dead and a hundred thousand waiting items?
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "execute.hpp"

namespace pawl::bench {
namespace {

Sample claim_and_ack(const Settings& settings, bool burdened) {
    const long count = settings.quick ? 2'000 : 50'000;
    const long burden = settings.quick ? 2'000 : 100'000;
    const auto place = make_place(settings);
    {
        const auto rival = place->rival();
        if (burdened) rival->add_burden(burden);
        fill(*rival, count);
    }
    place->settle();
    Engine engine{place->url()};
    std::atomic<long> carried{0};
    std::mutex mutex;
    std::condition_variable all;
    engine.add<Parcel>("parcel", Handlers{[&](const Parcel::Carry&) {
                           if (++carried == count) {
                               const std::lock_guard lock{mutex};
                               all.notify_all();
                           }
                       }});
    Meter meter{std::chrono::hours{1}};
    engine.start();
    {
        std::unique_lock lock{mutex};
        all.wait(lock, [&] { return carried == count; });
    }
    engine.stop();
    return meter.sample(count);
}

}  // namespace

void backlog(const Settings& settings) {
    compare(settings,
            {"backlog", 256, "without-backlog", [&] { return claim_and_ack(settings, true); },
             [&] { return claim_and_ack(settings, false); }});
}

}  // namespace pawl::bench
