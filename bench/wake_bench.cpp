// From the commit in one process to the start of the handler in another, which idles.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
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

// Of all cores together, whoever it was: an engine that polls keeps its server busy, too.
double busy_seconds() {
    std::ifstream stat{"/proc/stat"};
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft_irq = 0;
    stat >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft_irq;
    return (user + nice + system + irq + soft_irq) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double busy_while(std::chrono::milliseconds length) {
    const double before = busy_seconds();
    std::this_thread::sleep_for(length);
    return (busy_seconds() - before) / std::chrono::duration<double>(length).count();
}

/// What it costs the machine, the server included, that an engine waits for work and none comes.
void idle(const Settings& settings) {
    const auto length = settings.length() * 3;
    const auto place = make_place(settings);
    const double without = busy_while(length);
    Engine engine{place->url()};
    auto parcels = engine.add<Parcel>("parcel", Handlers{[](const Parcel::Carry&) -> Parcel::Input {
                                          return Parcel::Deliver{};
                                      }});
    engine.start();
    busy_while(length / 3);  // until it has settled
    const double with = busy_while(length);
    fmt::print(R"({{"bench":"idle","store":"{}","percent_of_a_core":{:.2f},"without":{:.2f}}})"
               "\n",
               settings.store, 100 * with, 100 * without);
    std::fflush(stdout);
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
    idle(settings);
}

}  // namespace pawl::bench
