#include "engine/mailbox.hpp"

#include <utility>

namespace pawl::engine {

void Mailbox::push(std::unique_ptr<Request> request) {
    auto* raw = request.get();
    waited_for_ += raw->is_awaited;
    (last_ ? last_->next : first_) = std::move(request);
    last_ = raw;
}

void Mailbox::insert(std::unique_ptr<Request> request) {
    if (!first_ || last_->number < request->number) return push(std::move(request));
    waited_for_ += request->is_awaited;
    auto* place = &first_;
    while ((*place)->number < request->number) place = &(*place)->next;
    request->next = std::move(*place);
    *place = std::move(request);
}

std::unique_ptr<Request> Mailbox::pop() {
    auto request = std::move(first_);
    first_ = std::move(request->next);
    if (!first_) last_ = nullptr;
    waited_for_ -= request->is_awaited;
    return request;
}

bool Mailbox::hand_over(const std::shared_ptr<CachedInstance>& instance) const {
    if (waited_for_ == 0) return false;
    for (auto* request = first_.get(); request; request = request->next.get())
        if (request->hand_over(instance)) return true;
    return false;
}

}  // namespace pawl::engine
