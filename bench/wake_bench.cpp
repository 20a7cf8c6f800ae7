// From the commit in one process to the start of the handler in another, which idles.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "child.hpp"
#include "place.hpp"
#include "workflows.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

// The same clock in every process of the machine.
double now_ms() {
    return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

void handle(const std::string& url, const Line& line) {
    Engine engine{url};
    auto parcels =
        engine.add<Parcel>("parcel", Handlers{[&](const Parcel::Carry&) -> Parcel::Input {
                               line.say(now_ms());
                               return Parcel::Deliver{};
                           }});
    engine.start();
    line.say(0);
    line.hear();  // until nothing more comes
    engine.stop();
}

}  // namespace

void wake(const Settings& settings) {
    const int count = settings.quick ? 30 : 1000;
    const auto place = make_place(settings);
    const Child other{[&](const Line& line) { handle(place->url(), line); }};
    other.line().hear();
    std::vector<double> waits;
    {
        Engine engine{place->url()};
        auto parcels = engine.add<Parcel>("parcel");
        engine.start();
        for (int i = 0; i < count; ++i) {
            // Long enough for the other to be idle again, and never in step with a poll.
            std::this_thread::sleep_for(std::chrono::microseconds{20'000 + i * 7'919 % 15'000});
            if (!parcels.send(numbered("parcel-", i), Parcel::Post{"Ada", 2}).accepted())
                std::terminate();
            const double committed = now_ms();
            waits.push_back(std::max(0.0, other.line().hear() - committed));
        }
        engine.stop();
    }
    other.line().say(0);
    std::sort(waits.begin(), waits.end());
    fmt::print(R"({{"bench":"wake","store":"{}","items":{},"p50_ms":{:.3f},"p99_ms":{:.3f}}})"
               "\n",
               settings.store, count, waits[waits.size() / 2], waits[waits.size() * 99 / 100]);
    std::fflush(stdout);
}

}  // namespace pawl::bench
