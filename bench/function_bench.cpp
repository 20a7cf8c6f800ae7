// Durable functions: three trivial steps, a hundred thousand asleep, ten thousand children, a long
// journal.
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "by_hand.hpp"
#include "execute.hpp"
#include "place.hpp"
#include "three_steps.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

Options room_for(int in_flight) {
    Options options;
    options.max_bodies = static_cast<std::size_t>(std::max(in_flight, 16));
    return options;
}

void expect_finished(Place& place, long count, long entries) {
    expect(place, {.instances = count, .finished = count, .events = entries * count});
}

/// So many callers that each wait for their run before they start the next.
Sample run_functions(const Settings& settings, int callers) {
    const auto place = make_place(settings);
    Sample sample;
    {
        Engine engine{place->url(), room_for(callers)};
        auto function = engine.add("f", three_steps);
        engine.start();
        function.start_and_wait("warm");
        sample = call_and_wait(settings.length(), callers, [&](long n) {
            if (function.start_and_wait(numbered("run-", n)) != 3) std::terminate();
        });
    }
    expect_finished(*place, sample.count + 1, 5);
    return sample;
}

Sample raw_steps(const Settings& settings, const Batches& batches) {
    const auto place = make_place(settings);
    std::atomic<long> next{0};
    const auto some = [&](Rival& rival) {
        Ids ids(static_cast<std::size_t>(std::max(batches.each(), 1)));
        for (auto& id : ids) id = numbered("run-", next++);
        rival.run_steps(ids);
        return static_cast<long>(ids.size());
    };
    const auto sample = by_hand(*place, {settings.length(), batches.connections}, some);
    expect_finished(*place, sample.count, 5);
    return sample;
}

/// Starts many from some threads.
template <class F>
void start_many(const F& function, long count) {
    std::atomic<long> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 64; ++t)
        threads.emplace_back([&] {
            for (long n = next++; n < count; n = next++) function.start(numbered("run-", n));
        });
    for (auto& thread : threads) thread.join();
}

/// Until `holds`, looked at seldom enough not to be in the way.
void wait_until(const std::function<bool()>& holds) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    while (!holds()) never.wait_for(lock, std::chrono::milliseconds{10});
}

}  // namespace

void functions(const Settings& settings) {
    for (const int in_flight : {50, 1000}) {
        const int best = best_connections(settings, [&](int connections) {
            return raw_steps(settings, {.in_flight = in_flight, .connections = connections});
        });
        compare(settings, {"function", in_flight, "raw-steps",
                           [&, in_flight] { return run_functions(settings, in_flight); },
                           [&, in_flight, best] {
                               return raw_steps(settings,
                                                {.in_flight = in_flight, .connections = best});
                           }});
    }
    compare(settings, {"function", 1, "raw-steps", [&] { return run_functions(settings, 1); },
                       [&] { return raw_steps(settings, {.in_flight = 1}); }, true});
}

// Suspended functions: what they cost while they sleep, and how fast they go on when all are due.
void sleepers(const Settings& settings) {
    const long count = settings.quick ? 500 : 100'000;
    const auto place = make_place(settings);
    std::atomic<long> done{0};
    Engine engine{place->url()};
    const Time due = engine.now() + std::chrono::seconds{settings.quick ? 2 : 60};
    auto function = engine.add("f", [&](Context& ctx) {
        ctx.step("first", [] { return 1; });
        ctx.sleep_until(due);
        ctx.step("second", [] { return 2; });
        ++done;
    });
    engine.start();
    start_many(function, count / 100 + 1);
    const double before = resident_mib();
    const auto begin = Clock::now();
    start_many(function, count);
    wait_until([&] { return engine.backlog().front().claimed == 0; });
    const double asleep = resident_mib();
    const double started =
        static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
    wait_until([&] { return engine.now() >= due; });
    const long early = done;
    Meter meter{std::chrono::hours{1}};
    wait_until([&] { return done == count; });
    const auto sample = meter.sample(count - early);
    engine.stop();
    fmt::print(R"({{"bench":"sleepers","store":"{}","functions":{},"growth_mib":{:.1f},)"
               R"("started_per_second":{:.0f},"woken_per_second":{:.0f}}})"
               "\n",
               settings.store, count, asleep - before, started, sample.per_second);
    std::fflush(stdout);
}

// One parent and its many children, beside functions of one step that are nobody's.
void fanout(const Settings& settings) {
    const long count = settings.quick ? 200 : 10'000;
    const auto one_step = [](Context& ctx) { return ctx.step("only", [] { return 1; }); };
    const auto with_parent = [&] {
        const auto place = make_place(settings);
        Engine engine{place->url()};
        auto child = engine.add("child", one_step);
        std::atomic<int> executions{0};
        auto parent = engine.add("parent", [&](Context& ctx) {
            ++executions;
            std::vector<Later<int>> all;
            for (long i = 0; i < count; ++i)
                all.push_back(ctx.later_call(child, numbered("child-", i)));
            long sum = 0;
            for (const int one : ctx.all(std::move(all))) sum += one;
            return sum;
        });
        engine.start();
        Meter meter{std::chrono::hours{1}};
        if (parent.start_and_wait("p") != count) std::terminate();
        const auto sample = meter.sample(count);
        if (executions > 5) throw std::runtime_error("the parent was woken for each child");
        return sample;
    };
    const auto alone = [&] {
        const auto place = make_place(settings);
        Engine engine{place->url()};
        std::atomic<long> done{0};
        auto function = engine.add("f", [&](Context& ctx) {
            one_step(ctx);
            ++done;
        });
        engine.start();
        Meter meter{std::chrono::hours{1}};
        start_many(function, count);
        wait_until([&] { return done >= count && engine.pending({.limit = 1}).empty(); });
        return meter.sample(count);
    };
    compare(settings, {"fanout", 64, "one-step", with_parent, alone});
}

// How long a function with many recorded steps takes to be where it was.
void replay(const Settings& settings) {
    const int count = settings.quick ? 500 : 10'000;
    const auto place = make_place(settings);
    std::atomic<long> performed{0};
    const auto shape = [&](Context& ctx) {
        for (int i = 0; i < count; ++i)
            ctx.step("s", {.repeatable = true}, [&] { return ++performed, i; });
        return ctx.wait<int>("go");
    };
    {
        Engine engine{place->url()};
        auto function = engine.add("f", shape);
        engine.start();
        function.start("r");
        wait_until([&] { return function.run("r").status() == RunStatus::waiting; });
    }
    Engine engine{place->url()};
    auto function = engine.add("f", shape);
    engine.start();
    const auto begin = Clock::now();
    function.run("r").signal("go", 1);
    if (function.run("r").result() != 1 || performed != count) std::terminate();
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    fmt::print(R"({{"bench":"replay","store":"{}","steps":{},"resumed_ms":{:.1f}}})"
               "\n",
               settings.store, count, ms);
    std::fflush(stdout);
}

}  // namespace pawl::bench
