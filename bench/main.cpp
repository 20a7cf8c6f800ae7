// ./dev bench [scenario...] [--quick] [--store sqlite|postgres|mariadb]
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "harness.hpp"

namespace pawl::bench {

const std::vector<std::pair<std::string, Scenario>>& scenarios() {
    static const std::vector<std::pair<std::string, Scenario>> all{
        {"execute", execute},
        {"hot", hot_instance},
        {"cycle", whole_cycle},
        {"timers", due_timers},
        {"backlog", backlog},
        {"growth", growth},
        {"memory", memory},
        {"wake", wake},
        {"scale", scale},
        {"function", functions},
        {"function-crowd", function_crowd},
        {"function-remote", function_remote},
        {"sleepers", sleepers},
        {"fanout", fanout},
        {"replay", replay},
        {"outbox", outbox},
        {"outbox-scale", outbox_scale},
        {"outbox-latency", outbox_latency},
        {"post", post},
    };
    return all;
}

namespace {

bool is_built(const std::string& store) {
#ifdef PAWL_POSTGRES
    if (store == "postgres") return true;
#endif
#ifdef PAWL_MARIADB
    if (store == "mariadb") return true;
#endif
    return store == "sqlite";
}

int usage() {
    fmt::print(
        stderr,
        "usage: pawl_bench [scenario...] [--quick] [--store sqlite|postgres|mariadb]\nscenarios:");
    for (const auto& [name, run] : scenarios()) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
}

int run(int argc, char** argv) {
    Settings settings;
    std::vector<std::string> names;
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
            if (!is_built(settings.store)) return usage();
            continue;
        }
        names.emplace_back(argv[i]);
    }
    const auto& known = scenarios();
    for (const auto& name : names) {
        const auto found = std::ranges::find(known, name, &std::pair<std::string, Scenario>::first);
        if (found == known.end()) return usage();
        wanted.push_back(found->second);
    }
    if (names.empty())
        for (const auto& [name, scenario] : known) wanted.push_back(scenario);
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
