// An engine that starts, works and stops; or that is driven by hand.
#include <pawl/error.hpp>
#include <utility>

#include "base/latch.hpp"
#include "engine/core.hpp"

namespace pawl::engine {
namespace {

// Threads for what is quick: decisions of timers, callbacks of asynchronous sends, lost races.
constexpr int callback_threads = 2;
constexpr Duration watch_patience = std::chrono::seconds{1};
// The first sign of a change wakes at once; those right after it, mostly our own, share one
// wake-up.
constexpr Duration watch_pause = std::chrono::milliseconds{2};

}  // namespace

void Core::start() {
    check_process();
    const std::lock_guard lock{life_};
    if (started_) throw Error{Code::misuse, "the engine is started already"};
    set_up();
    session_.ensure();
    if (!watch_) watch_ = store_->watch();
    started_ = true;
    try {
        start_parts();
    } catch (...) {
        stop_parts(Duration::zero());
        throw;
    }
}

void Core::start_parts() {
    if (!committing_.exchange(false)) {
        callbacks_.start(callback_threads);
        committers_.start();
    }
    if (!options_.executor) workers_.start(options_.workers);
    if (!options_.executor && functions_.execute())
        function_threads_.start_as_needed(static_cast<int>(threads_per_body * options_.max_bodies));
    slots_.lift_limit(false);
    runs_.set_threads(true);
    runs_.set_life(RunWaiters::Life::working);
    if (!std::exchange(keeps_lease_, false)) session_.start();
    dispatcher_.begin_work(false);
    claiming_.start();
    deliverer_.begin_work(true);
    if (!deliverer_.empty()) delivering_.start();
    vacuuming_.start();
    watch_others();
}

void Core::watch_others() {
    if (watching_) return;
    if (!watch_) watch_ = store_->watch();
    watching_ = std::make_unique<base::Loop>(
        "pawl-watch",
        [this]() -> base::Pause {
            if (ending_) return std::nullopt;
            const auto patience = base::sooner(looks_again_in_, watch_patience);
            const bool heard = watch_->wait(*patience);
            if (heard) {
                claiming_.wake();
                deliverer_.heard();
            }
            looks_again_in_ = runs_.look_for_ended(heard);
            return heard ? watch_pause : Duration::zero();
        },
        logged("the watch"));
    watching_->start();
    attending_ = true;
}

// A thousand callers that each wait for a commit of their own would need no thread; those who do
// not wait do.
void Core::commit_in_background() {
    if (started_ || committing_ || driven_) return;
    const std::lock_guard lock{life_};
    if (started_ || committing_) return;
    callbacks_.start(callback_threads);
    committers_.start();
    committing_ = true;
}

void Core::attend_runs() {
    if (attending_) return;
    const std::lock_guard lock{life_};
    watch_others();
}

void Core::keep_lease() {
    const std::lock_guard lock{life_};
    if (started_) return;
    session_.ensure();
    if (!std::exchange(keeps_lease_, true)) session_.start();
    dispatcher_.begin_lending();
}

bool Core::stop(Duration deadline) {
    check_process();
    if (callbacks_.is_running_here() || workers_.is_running_here() ||
        function_threads_.is_running_here())
        throw Error{Code::misuse,
                    "stop waits for the handlers and callbacks that run, so none of them can call "
                    "it: stop the engine on another thread"};
    const std::lock_guard lock{life_};
    return !has_begun() || stop_parts(deadline);
}

// Also of parts that were never started.
bool Core::stop_parts(Duration deadline) {
    const base::Countdown countdown{deadline};
    deliverer_.begin_stop();
    // Before the dispatcher: inputs that wait in the inbox need those who perform.
    const bool delivered = deliverer_.wait_until_empty(countdown.left());
    dispatcher_.begin_stop();
    // Also because a handler that waits for a run without end would keep this waiting.
    runs_.set_life(RunWaiters::Life::stopping);
    claiming_.wake();
    const bool empty = dispatcher_.wait_until_empty(countdown.left()) && delivered;
    ending_ = true;  // before the interrupt: the watch must not be asked again
    if (watch_) watch_->interrupt();
    if (watching_) watching_->stop();
    watching_.reset();
    watch_.reset();
    attending_ = false;
    ending_ = false;
    vacuuming_.stop();
    claiming_.stop();
    delivering_.stop();
    if (started_ && !deliverer_.empty()) deliverer_.end_work();
    session_.stop();
    keeps_lease_ = false;
    committers_.stop();
    committing_ = false;
    // Threads that are still in a handler are left to it: what they say is stale by then.
    slots_.lift_limit(true);
    using Running = base::Pool::Running;
    function_threads_.stop(empty ? Running::wait_for : Running::abandon);
    workers_.stop(empty ? Running::wait_for : Running::abandon);
    runs_.set_threads(false);
    callbacks_.stop(Running::wait_for);
    session_.close();
    started_ = false;
    // What has not begun holds the engine alive, and only has to be let go.
    while (callbacks_.run_one() || workers_.run_one() || function_threads_.run_one()) {
    }
    runs_.set_life(RunWaiters::Life::stopped);
    log_.flush();
    return empty;
}

void Core::drain_callbacks() {
    while (callbacks_.run_one()) {
    }
}

void Core::run_until_idle() {
    check_process();
    const std::lock_guard lock{life_};
    if (started_) throw Error{Code::misuse, "run_until_idle is for an engine that was not started"};
    driven_ = true;
    if (committing_.exchange(false)) {
        committers_.stop();
        callbacks_.stop(base::Pool::Running::wait_for);
    }
    set_up();
    dispatcher_.begin_work(true);
    deliverer_.begin_work(false);
    for (bool idle = false; !idle;) {
        session_.ensure();
        dispatcher_.step();
        deliverer_.heard();
        deliverer_.step();
        idle = !dispatcher_.progressed() && !deliverer_.progressed();
        while (callbacks_.run_one() || workers_.run_one() || function_threads_.run_one()) {
            idle = false;
            committers_.wake();
        }
    }
    deliverer_.begin_stop();
    dispatcher_.begin_stop();
    if (!deliverer_.empty()) deliverer_.end_work();
    vacuum_.step();
    log_.flush();
}

}  // namespace pawl::engine
