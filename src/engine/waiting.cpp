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

void WaitingRequest::retry_by_owner(std::unique_ptr<Request>& self) {
    const auto waiter = waiter_;
    {
        const std::lock_guard lock{waiter->mutex};
        if (waiter->gone) return;  // nobody is there any more: a callback thread decides it
        waiter->again = std::move(self);
    }
    waiter->changed.set();
}

bool WaitingRequest::hand_over(const std::shared_ptr<CachedInstance>& instance) {
    {
        const std::lock_guard lock{waiter_->mutex};
        if (waiter_->gone) return false;
        waiter_->handed_over = instance;
    }
    waiter_->changed.set();
    return true;
}

void CallbackRequest::finish(std::unique_ptr<Request>, OutcomeRecord outcome,
                             std::exception_ptr error) {
    done_(std::move(outcome), std::move(error));
}

}  // namespace pawl::engine
