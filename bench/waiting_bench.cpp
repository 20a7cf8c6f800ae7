// Many callers that wait for runs: with the default options, and for runs of another process.
#include <exception>
#include <memory>

#include "child.hpp"
#include "execute.hpp"
#include "place.hpp"
#include "three_steps.hpp"

namespace pawl::bench {
namespace {

constexpr int few = 50;
constexpr int crowd = 1000;

Sample with_callers(const Settings& settings, int callers) {
    const auto place = make_place(settings);
    Engine engine{place->url()};
    const auto function = engine.add("f", three_steps);
    engine.start();
    return call_and_wait(settings.length(), callers, [&](long n) {
        if (function.start_and_wait(numbered("run-", n)) != 3) std::terminate();
    });
}

/// Each caller starts a run and awaits it; who executes it is the others' business.
Sample await_runs(const Settings& settings, Engine& engine) {
    const auto function = engine.add("f", three_steps);
    engine.start();
    return call_and_wait(settings.length(), crowd, [&](long n) {
        if (function.start(numbered("run-", n)).result() != 3) std::terminate();
    });
}

Sample awaited_here(const Settings& settings) {
    const auto place = make_place(settings);
    Engine engine{place->url()};
    return await_runs(settings, engine);
}

Sample awaited_elsewhere(const Settings& settings) {
    const auto place = make_place(settings);
    const Child executor{[&](const Line& line) {
        Engine engine{place->url()};
        engine.add("f", three_steps);
        engine.start();
        line.say(0);
        line.hear();
    }};
    executor.line().hear();
    Sample sample;
    {
        Engine engine{place->url(), {.max_bodies = 0}};
        sample = await_runs(settings, engine);
    }
    executor.line().say(0);
    return sample;
}

}  // namespace

void function_crowd(const Settings& settings) {
    compare(settings,
            {"function-crowd", crowd, "50-callers", [&] { return with_callers(settings, crowd); },
             [&] { return with_callers(settings, few); }});
}

void function_remote(const Settings& settings) {
    compare(settings,
            {"function-remote", crowd, "same-process", [&] { return awaited_elsewhere(settings); },
             [&] { return awaited_here(settings); }});
}

}  // namespace pawl::bench
