/// Requests of callers: one that waits for its outcome, and one that is called back.
#pragma once

#include <pawl/engine.hpp>

#include "base/latch.hpp"
#include "engine/request.hpp"

namespace pawl::engine {

/// What a waiting caller and its request share; it outlives whichever ends first.
struct Waiter {
    base::Latch changed;
    std::mutex mutex;
    bool ended = false;
    OutcomeRecord outcome;
    std::exception_ptr error;
    std::shared_ptr<CachedInstance> handed_over;  ///< an instance to decide for
    bool gone = false;                            ///< the caller's deadline passed
};

class WaitingRequest final : public Request {
public:
    explicit WaitingRequest(std::shared_ptr<Waiter> waiter) : waiter_(std::move(waiter)) {
        is_awaited = true;
    }
    void finish(std::unique_ptr<Request> self, OutcomeRecord outcome,
                std::exception_ptr error) override;
    bool finishes_quickly(bool) const override { return true; }
    bool hand_over(const std::shared_ptr<CachedInstance>& instance) override;

private:
    std::shared_ptr<Waiter> waiter_;
};

class CallbackRequest final : public Request {
public:
    CallbackRequest(detail::Completion done, base::OnFailure on_failure)
        : done_(std::move(done)), on_failure_(std::move(on_failure)) {}
    void finish(std::unique_ptr<Request> self, OutcomeRecord outcome,
                std::exception_ptr error) override;
    bool finishes_quickly(bool) const override { return false; }

private:
    detail::Completion done_;
    base::OnFailure on_failure_;
};

}  // namespace pawl::engine
