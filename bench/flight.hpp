/// Keeps a number of asynchronous inputs in the air: each that lands sends the next.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "harness.hpp"

namespace pawl::bench {

/// `launch(land)` sends one input and has `land` called when it is done.
class Flight {
public:
    using Clock = Meter::Clock;
    using Launch = std::function<void(std::function<void()> land)>;

    Flight(Launch launch, int size) : launch_(std::move(launch)), size_(size) {}

    /// For a length of time; or for a number of inputs, if it is not negative.
    Sample fly(std::chrono::milliseconds length, long count = -1) {
        Meter meter{count < 0 ? length : std::chrono::hours{1}};
        meter_ = &meter;
        left_ = count < 0 ? 1L << 60 : count - size_;
        in_air_ = size_;
        for (int i = 0; i < size_; ++i) send();
        std::unique_lock lock{mutex_};
        landed_.wait(lock, [&] { return in_air_ == 0; });
        meter.add(latencies_);
        latencies_.clear();
        return meter.sample();
    }

private:
    void send() {
        const auto begin = Clock::now();
        launch_([this, begin] {
            const bool more = meter_->running() && left_-- > 0;
            {
                const std::lock_guard lock{mutex_};
                latencies_.push_back(Clock::now() - begin);
                if (!more && --in_air_ == 0) landed_.notify_all();
            }
            if (more) send();
        });
    }

    Launch launch_;
    int size_;
    Meter* meter_ = nullptr;
    std::mutex mutex_;
    std::condition_variable landed_;
    std::vector<Clock::duration> latencies_;
    int in_air_ = 0;
    std::atomic<long> left_{0};
};

/// Adapts `land` to the engine's callback; an error ends the benchmark.
template <class W>
auto landing(std::function<void()> land) {
    return [land = std::move(land)](std::optional<Outcome<W>> outcome, std::exception_ptr error) {
        if (error || !outcome->accepted()) std::terminate();
        land();
    };
}

}  // namespace pawl::bench
