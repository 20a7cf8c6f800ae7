/// Measures a scenario beside its baseline: alternating pairs in one run, so that a noisy machine
/// hits both.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pawl::bench {

struct Settings {
    bool quick = false;  ///< one short pair
    std::string store = "sqlite";
    std::chrono::milliseconds length() const {
        return quick ? std::chrono::milliseconds{100} : std::chrono::milliseconds{3000};
    }
    int pairs() const { return quick ? 1 : 5; }
    bool on_server() const { return store != "sqlite"; }
};

/// One measurement of one side.
struct Sample {
    long count = 0;
    double per_second = 0;
    double p50_ms = 0;
    double p99_ms = 0;
};

struct Pair {
    std::string bench;
    int concurrency = 1;
    std::string baseline;
    std::function<Sample()> subject;
    std::function<Sample()> rival;
    bool latency = false;  ///< compare p50 instead of the rate
};

/// Runs the pairs alternately and prints one JSON line: the medians, their ratio, and its spread.
void compare(const Settings& settings, const Pair& pair);

/// Counts events and their latencies until the time is over.
class Meter {
public:
    using Clock = std::chrono::steady_clock;

    explicit Meter(std::chrono::milliseconds length) : end_(Clock::now() + length) {}
    bool running() const { return Clock::now() < end_; }
    Clock::time_point start() const { return start_; }
    /// Not thread-safe: collect per thread, then add.
    void add(Clock::duration latency) { latencies_.push_back(latency); }
    void add(const std::vector<Clock::duration>& latencies) {
        latencies_.insert(latencies_.end(), latencies.begin(), latencies.end());
    }
    /// Of `count` operations (default: of the latencies added) since the start.
    Sample sample(long count = -1);

private:
    Clock::time_point start_ = Clock::now();
    Clock::time_point end_;
    std::vector<Clock::duration> latencies_;
};

/// So many threads that each wait for `call(number)` before they call again, until the time is
/// over.
Sample call_and_wait(std::chrono::milliseconds length, int callers,
                     const std::function<void(long)>& call);

/// What this process holds in memory.
double resident_mib();

using Scenario = void (*)(const Settings&);
/// Every scenario by its name, in the order they run.
const std::vector<std::pair<std::string, Scenario>>& scenarios();

void execute(const Settings&);
void hot_instance(const Settings&);
void whole_cycle(const Settings&);
void due_timers(const Settings&);
void backlog(const Settings&);
void growth(const Settings&);
void memory(const Settings&);
void wake(const Settings&);
void scale(const Settings&);
void functions(const Settings&);
void function_crowd(const Settings&);
void function_remote(const Settings&);
void sleepers(const Settings&);
void fanout(const Settings&);
void replay(const Settings&);
void outbox(const Settings&);
void outbox_scale(const Settings&);
void outbox_latency(const Settings&);
void post(const Settings&);

}  // namespace pawl::bench
