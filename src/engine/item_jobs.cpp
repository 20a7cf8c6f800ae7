#include "engine/item_jobs.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "engine/drafting.hpp"

namespace pawl::engine {
namespace {

// How long a worker waits for room in the commit queue before it comes back later.
constexpr Duration queue_patience = std::chrono::seconds{5};

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "something that is not a std::exception";
    }
}

// Whether the store, not the workflow, is to blame.
bool is_passing(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        return e.retryable();
    } catch (...) {
        return false;
    }
}

bool is_fence_lost(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const FenceLost&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

ItemWord::ItemWord(Dispatcher& dispatcher, std::shared_ptr<Held> held, store::Settlement word)
    : dispatcher_(dispatcher), held_(std::move(held)), word_(std::move(word)) {
    commit.settlements.push_back(word_);
}

void ItemWord::settled(Owned self, store::Answer answer, std::vector<Owned>& later) {
    if (answer.fate == store::Fate::committed) {
        if (word_.verdict == store::Verdict::retry)
            dispatcher_.released(held_->item.line, answer.at + word_.retry_after);
        return dispatcher_.done(held_);
    }
    error_ = answer.error;  // none: the fence was lost
    later.push_back(std::move(self));
}

void ItemWord::resume(Owned) {
    if (!error_) {
        dispatcher_.log_taken_over(held_);
        return dispatcher_.done(held_);
    }
    dispatcher_.postpone(
        held_,
        [&dispatcher = dispatcher_, held = held_, word = word_] { dispatcher.settle(held, word); },
        text_of(error_));
}

void ItemRequest::finish(std::unique_ptr<Request>, OutcomeRecord, std::exception_ptr error) {
    if (!error) return dispatcher_.done(held_);
    if (is_fence_lost(error)) {
        dispatcher_.log_taken_over(held_);
        return dispatcher_.done(held_);
    }
    const auto why = text_of(error);
    if (is_passing(error)) {
        dispatcher_.postpone(
            held_,
            [&dispatcher = dispatcher_, held = held_, input = std::move(input),
             word = *settlement]() mutable {
                dispatcher.send(held, std::move(input), std::move(word));
            },
            why);
        return;
    }
    if (settlement->verdict == store::Verdict::bury) {
        dispatcher_.log_untold(held_, why);
        return dispatcher_.settle(held_, *settlement);
    }
    dispatcher_.failed(held_, why, false);
}

void Dispatcher::settle(const HeldPtr& held, store::Settlement word) {
    Job::Owned job = std::make_unique<ItemWord>(*this, held, word);
    auto& lane = parts_.lanes.any();
    if (lane.submit(job, queue_patience)) return lane.wake();
    postpone(held, [this, held, word] { settle(held, word); }, "the commit queue is full");
}

void Dispatcher::send(const HeldPtr& held, std::unique_ptr<detail::Asked> input,
                      store::Settlement word) {
    const auto& item = held->item;
    auto request = std::make_unique<ItemRequest>(*this, held);
    request->workflow = held->lane->workflow;
    request->id = item.instance.id;
    request->input = std::move(input);
    request->envelope = item.envelope;
    request->envelope.correlation = correlation_of(item.envelope);
    request->timeout = queue_patience;
    request->settlement = std::move(word);
    instances_->send(std::move(request));
}

}  // namespace pawl::engine
