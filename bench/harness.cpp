#include "harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

namespace pawl::bench {
namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double ms(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

template <class F>
double median_of(const std::vector<Sample>& samples, F field) {
    std::vector<double> values;
    for (const auto& s : samples) values.push_back(field(s));
    return median(values);
}

// A drain has no latency of its own.
std::string latency(double ms) { return ms > 0 ? fmt::format("{:.3f}", ms) : "null"; }

}  // namespace

Sample Meter::sample(long count) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    Sample out;
    out.count = count < 0 ? static_cast<long>(latencies_.size()) : count;
    out.per_second = static_cast<double>(out.count) / seconds;
    if (latencies_.empty()) return out;
    std::sort(latencies_.begin(), latencies_.end());
    out.p50_ms = ms(latencies_[latencies_.size() / 2]);
    out.p99_ms = ms(latencies_[latencies_.size() * 99 / 100]);
    return out;
}

void compare(const Settings& settings, const Pair& pair) {
    std::vector<Sample> subject;
    std::vector<Sample> rival;
    std::vector<double> ratios;
    for (int i = 0; i < settings.pairs(); ++i) {
        // The order changes from pair to pair: neither side always runs on the warmer machine.
        if (i % 2 == 0) subject.push_back(pair.subject());
        rival.push_back(pair.rival());
        if (i % 2 == 1) subject.push_back(pair.subject());
        ratios.push_back(pair.latency ? subject.back().p50_ms / rival.back().p50_ms
                                      : subject.back().per_second / rival.back().per_second);
    }
    const auto rate = [](const Sample& s) { return s.per_second; };
    const auto p50 = [](const Sample& s) { return s.p50_ms; };
    const auto p99 = [](const Sample& s) { return s.p99_ms; };
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::string line = fmt::format(
        R"({{"bench":"{}","store":"{}","concurrency":{},"per_second":{:.0f},)"
        R"("p50_ms":{},"p99_ms":{},"baseline":"{}")",
        pair.bench, settings.store, pair.concurrency, median_of(subject, rate),
        latency(median_of(subject, p50)), latency(median_of(subject, p99)), pair.baseline);
    if (pair.latency)
        line += fmt::format(R"(,"baseline_p50_ms":{:.3f},"p50_ratio":{:.3f})",
                            median_of(rival, p50), median(ratios));
    else
        line += fmt::format(R"(,"baseline_per_second":{:.0f},"ratio":{:.3f})",
                            median_of(rival, rate), median(ratios));
    fmt::print("{},\"spread\":[{:.3f},{:.3f}],\"pairs\":{}}}\n", line, *low, *high, ratios.size());
    std::fflush(stdout);
}

Sample call_and_wait(std::chrono::milliseconds length, int callers,
                     const std::function<void(long)>& call) {
    using Clock = Meter::Clock;
    Meter meter{length};
    std::mutex mutex;
    std::atomic<long> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
        threads.emplace_back([&] {
            std::vector<Clock::duration> latencies;
            while (meter.running()) {
                const auto begin = Clock::now();
                call(next++);
                latencies.push_back(Clock::now() - begin);
            }
            const std::lock_guard lock{mutex};
            meter.add(latencies);
        });
    for (auto& thread : threads) thread.join();
    return meter.sample();
}

double resident_mib() {
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
    return 0;
}

}  // namespace pawl::bench
