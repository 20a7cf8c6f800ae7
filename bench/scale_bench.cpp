// The whole way round in 1, 2 and 4 processes on one database, the same number in flight in all.
#include <fmt/format.h>

#include <memory>

#include "child.hpp"
#include "execute.hpp"
#include "place.hpp"

namespace pawl::bench {
namespace {

constexpr int in_flight = 256;

Sample with_processes(const Settings& settings, int processes) {
    const auto place = make_place(settings);
    std::vector<std::unique_ptr<Child>> children;
    for (int p = 0; p < processes; ++p)
        children.push_back(std::make_unique<Child>([&, p](const Line& line) {
            const auto begin = [&] {
                line.say(0);
                line.hear();
            };
            line.say(cycle_on(place->url(), {.length = settings.length(),
                                             .in_flight = in_flight / processes,
                                             .prefix = fmt::format("of-{}-", p),
                                             .begin = begin})
                         .per_second);
        }));
    // All begin at once, when all are ready.
    for (const auto& child : children) child->line().hear();
    for (const auto& child : children) child->line().say(0);
    Sample sum;
    for (const auto& child : children) sum.per_second += child->line().hear();
    return sum;
}

}  // namespace

void scale(const Settings& settings) {
    for (const int processes : {2, 4})
        compare(settings, {fmt::format("scale-{}", processes), in_flight, "one-process",
                           [&, processes] { return with_processes(settings, processes); },
                           [&] { return with_processes(settings, 1); }});
}

}  // namespace pawl::bench
