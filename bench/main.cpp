// ./dev bench [scenario...] [--quick]
#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "harness.hpp"

namespace pawl::bench {

const std::vector<std::pair<std::string, Scenario>>& scenarios() {
    static const std::vector<std::pair<std::string, Scenario>> all{
        {"execute", execute}, {"hot", hot_instance}, {"cycle", whole_cycle}, {"timers", due_timers},
        {"backlog", backlog}, {"growth", growth},    {"memory", memory},
    };
    return all;
}

namespace {

int usage() {
    fmt::print(stderr,
               "usage: pawl_bench [scenario...] [--quick] [--store sqlite|mariadb]\nscenarios:");
    for (const auto& [name, run] : scenarios()) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
}

int run(int argc, char** argv) {
    Settings settings;
    std::vector<Scenario> wanted;
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--list")) {
            for (const auto& [name, scenario] : scenarios()) fmt::print("{}\n", name);
            return 0;
        }
        if (!std::strcmp(argv[i], "--quick")) {
            settings.quick = true;
            continue;
        }
        if (!std::strcmp(argv[i], "--store") && i + 1 < argc) {
            settings.store = argv[++i];
            if (settings.store != "sqlite" && settings.store != "mariadb") return usage();
            continue;
        }
        Scenario found = nullptr;
        for (const auto& [name, scenario] : scenarios())
            if (name == argv[i]) found = scenario;
        if (!found) return usage();
        wanted.push_back(found);
    }
    if (wanted.empty())
        for (const auto& [name, scenario] : scenarios()) wanted.push_back(scenario);
    for (const auto scenario : wanted) scenario(settings);
    return 0;
}

}  // namespace
}  // namespace pawl::bench

int main(int argc, char** argv) {
    try {
        return pawl::bench::run(argc, argv);
    } catch (const std::exception& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return 1;
    }
}
