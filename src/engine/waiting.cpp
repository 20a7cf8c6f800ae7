#include "engine/waiting.hpp"

namespace pawl::engine {

void WaitingRequest::finish(std::unique_ptr<Request>, OutcomeRecord outcome,
                            std::exception_ptr error) {
    {
        const std::lock_guard lock{waiter_->mutex};
        waiter_->outcome = std::move(outcome);
        waiter_->error = std::move(error);
        waiter_->ended = true;
    }
    waiter_->changed.set();
}

bool WaitingRequest::hand_over(const std::shared_ptr<CachedInstance>& cached) {
    {
        const std::lock_guard lock{waiter_->mutex};
        if (waiter_->gone) return false;
        waiter_->handed_over = cached;
    }
    waiter_->changed.set();
    return true;
}

void CallbackRequest::finish(std::unique_ptr<Request>, OutcomeRecord outcome,
                             std::exception_ptr error) {
    try {
        done_(std::move(outcome), std::move(error));
    } catch (...) {
        // Those that share its group, and its instance, must not end with it.
        on_failure_(std::current_exception());
    }
}

}  // namespace pawl::engine
