// The calls of message handlers, each on a thread of its own, and what they came to.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <pawl/error.hpp>
#include <utility>

#include "base/backoff.hpp"
#include "engine/deliverer.hpp"
#include "engine/thrown.hpp"

namespace pawl::engine {

void Deliverer::launch(const HeldPtr& held, std::vector<detail::Arrived> slice) {
    Task task{[this, keep = options_.keep_alive(), held, slice = std::move(slice)]() mutable {
        conclude_run(held, call(*held, slice));
    }};
    if (!options_.executor) return parts_.workers.post(std::move(task));
    try {
        options_.executor(std::move(task));
    } catch (const std::exception& e) {
        conclude_run(held, {.failed = true,
                            .error = fmt::format("the executor did not take it: {}", e.what())});
    }
}

void Deliverer::conclude_run(const HeldPtr& held, Ended ended) {
    bool wants = false;
    {
        const std::lock_guard lock{mutex_};
        held->running = false;
        // One that was given up has come back.
        if (held->lost) own_at_ = long_ago;
        held->gives_up = ended.in_doubt;  // one that was late has returned after all
        if (ended.in_doubt)
            doubtful_[held->partition] =
                parts_.clock.elapsed() +
                base::backoff(held->channel->options.policy, held->attempts, parts_.random);
        if (!ended.in_doubt) held->ended = std::move(ended);
        if (--running_ == 0) emptied_.set();
        wants = std::min(own_at_, next_move(*held->channel)) < wakes_at_ || held->gives_up;
    }
    parts_.turn.leave(ExclusiveTurn::Part::messages);
    if (wants && wanted_) wanted_();
}

Deliverer::Ended Deliverer::call(Held& held, std::vector<detail::Arrived>& slice) {
    auto& subscriber = *held.channel->subscriber;
    Ended ended;
    detail::Arrivals arrivals{.all = slice};
    // It stays refused if the lease is renewed before the handler returns. Inputs ask on threads of
    // their own.
    std::atomic<bool> refused{false};
    arrivals.is_held = [&] {
        if (is_ours(held)) return true;
        refused = true;
        return false;
    };
    // It has waited for a thread, and the process may have been stopped meanwhile.
    if (!is_ours(held)) return {.unbegun = true};
    try {
        switch (subscriber.form()) {
            case detail::Subscriber::Form::transaction:
                return call_in_transaction(held, slice);
            case detail::Subscriber::Form::batch:
                subscriber.handle(arrivals);
                arrivals.done = arrivals.taken;
                break;
            case detail::Subscriber::Form::message:
                for (; arrivals.done < slice.size(); ++arrivals.done) {
                    if (arrivals.done > 0 && slice[arrivals.done].received.stop.stop_requested())
                        break;
                    if (!arrivals.is_held()) break;
                    subscriber.handle(slice[arrivals.done]);
                }
                break;
        }
    } catch (...) {
        const auto failure = thrown();
        ended.failed = true;
        ended.permanent = failure.permanent;
        ended.error = failure.error;
    }
    ended.done = arrivals.done;
    ended.buried = std::move(arrivals.buried);
    std::erase_if(ended.buried, [&](const auto& one) { return one.at >= ended.done; });
    if (!ended.failed && ended.done == 0 && refused) {
        ended.unbegun = true;
    } else if (!ended.failed && ended.done == 0 && !slice.empty()) {
        ended.failed = true;
        ended.error = "the handler of the batch took nothing of it";
    }
    return ended;
}

// What the handler writes and that the messages are done is one commit.
Deliverer::Ended Deliverer::call_in_transaction(Held& held,
                                                const std::vector<detail::Arrived>& slice) try {
    Ended ended;
    const auto transaction = parts_.store.begin(options_.transaction_limit);
    OutgoingBuffer outgoing{
        {.payload_limit = options_.payload_limit, .fresh_id = options_.fresh_id}};
    Transaction tx{*transaction, outgoing};
    for (const auto& arrived : slice) {
        if (!is_ours(held)) return {.unbegun = true};  // what the others did is undone
        held.channel->subscriber->handle(tx, arrived);
    }
    store::Advance advance{.partition = held.partition,
                           .fence = held.fence,
                           .sequence = held.sequence + static_cast<std::int64_t>(slice.size()),
                           .left = positions(held.batch, slice.size())};
    for (std::size_t i = 0; i < slice.size(); ++i) advance.done.push_back(held.batch[i].position);
    store::Commit commit;
    outgoing.add_to(commit);
    if (!is_ours(held)) return {.unbegun = true};
    const auto answer = transaction->commit(commit, &advance);
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    if (answer.fate != store::Fate::committed) {
        // Somebody else delivers it now; what is said of it here is ignored.
        ended.failed = true;
        ended.error = "the partition is somebody else's now";
        return ended;
    }
    published(commit.messages);
    ended.done = slice.size();
    ended.is_committed = true;
    return ended;
} catch (const Error& e) {
    if (e.code() == Code::in_doubt) return {.in_doubt = true, .error = e.what()};
    if (slice.size() > 1) return {.isolate = true, .error = e.what()};
    throw;
} catch (...) {
    // All of them are undone, and one of them is at fault.
    if (slice.size() > 1) return {.isolate = true};
    throw;
}

}  // namespace pawl::engine
