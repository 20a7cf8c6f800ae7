#include "engine/deliverer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>
#include <utility>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "base/waits.hpp"

namespace pawl::engine {
namespace {

constexpr Duration pause_after_failure = std::chrono::milliseconds{200};

}  // namespace

void Deliverer::add(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
                    SubscribeOptions options, bool optional) {
    auto& added = *channels_.emplace_back(std::make_unique<Channel>());
    added.name = std::move(channel);
    added.subscriber = std::move(subscriber);
    added.options = options;
    for (auto* length : {&added.options.policy.deadline, &added.options.grace, &added.options.poll,
                         &added.options.gather})
        *length = base::at_most_for_ever(*length);
    added.optional = optional;
}

bool Deliverer::has(std::string_view channel) const {
    return std::ranges::any_of(channels_, [&](const auto& one) { return one->name == channel; });
}

void Deliverer::declare() {
    for (const auto& channel : channels_)
        if (!channel->optional)
            parts_.store.outbox().declare(channel->name, channel->options.partitions);
}

void Deliverer::begin_work(bool gathers) {
    const std::lock_guard lock{mutex_};
    end_alone();
    stopping_ = false;
    gathers_ = gathers;
    own_at_ = long_ago;
}

base::Pause Deliverer::step() {
    progressed_ = false;
    if (channels_.empty()) return std::nullopt;
    const Now now = this->now();
    set_wake(Duration::max());
    try {
        give_up_some();
        refresh_ownership(now.at);
        look_for_messages(now);
        end_long_alone(now.at);
        const Entry entry{parts_.turn, ExclusiveTurn::Part::messages};
        begins_ = static_cast<bool>(entry);
        auto moves = next_moves(now);
        if (!moves.advances.empty()) {
            progressed_ = true;
            auto answers = parts_.store.outbox().advance(moves.advances);
            for (std::size_t i = 0; i < answers.size(); ++i)
                apply(moves.held[i], moves.advances[i], std::move(answers[i]));
        }
        log_now();
    } catch (const Error& e) {
        log_now();
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .error = e.what(),
                        .text = fmt::format("messages are delivered later: {}", e.what())});
        return pause_after_failure;
    }
    return next_pause(now);
}

void Deliverer::look_for_messages(Now now) {
    std::vector<HeldPtr> idle;
    std::vector<store::Partition> partitions;
    {
        const std::lock_guard lock{mutex_};
        if (stopping_) return;
        std::vector<const Channel*> looks;
        for (auto& channel : channels_) {
            if (now.at < next_look(*channel)) continue;
            channel->told = false;
            channel->looked_at = now.at;
            looks.push_back(channel.get());
        }
        for (auto& [partition, held] : held_) {
            if (!held->is_ready() || held->ended || !held->batch.empty() || held->may_have_more)
                continue;
            if (held->next_due && *held->next_due <= now.due) {
                held->may_have_more = true;
                continue;
            }
            if (std::ranges::count(looks, held->channel) == 0) continue;
            idle.push_back(held);
            partitions.push_back(partition);
        }
    }
    if (idle.empty()) return;
    const auto due = parts_.store.outbox().look(partitions);
    const std::lock_guard lock{mutex_};
    for (std::size_t i = 0; i < idle.size(); ++i) {
        idle[i]->may_have_more = due[i] && *due[i] <= now.due;
        idle[i]->next_due = due[i];
    }
}

Deliverer::Moves Deliverer::next_moves(Now now) {
    Moves moves;
    std::vector<std::stop_source> late;
    {
        const std::lock_guard lock{mutex_};
        arrange_alone(now.at);
        for (auto& [partition, held] : held_) {
            if (held->running && now.at >= held->deadline) {
                if (!std::exchange(held->asked_to_stop, true)) {
                    held->deadline = now.at + held->channel->options.grace;
                    late.push_back(held->stop);
                } else {
                    held->deadline = Duration::max();
                    held->gives_up = true;
                    own_at_ = long_ago;
                    auto record = record_of(LogLevel::error, LogEvent::handler_late, *held);
                    record.text = fmt::format(
                        "the handler of partition {} of channel \"{}\" does not return: others may "
                        "take the partition",
                        partition.index, partition.channel);
                    log_later(std::move(record));
                }
            }
            if (!held->is_ready()) continue;
            // What ends a little later is told with it.
            if (now.at < next_move(*held->channel)) continue;
            if (auto move = next_move(held, now)) {
                moves.held.push_back(held);
                moves.advances.push_back(std::move(*move));
            }
        }
        for (const auto& held : moves.held) held->channel->moved_at = now.at;
    }
    // Without the lock: whoever hears of it may publish.
    for (auto& stop : late) stop.request_stop();
    return moves;
}

std::optional<store::Advance> Deliverer::next_move(const HeldPtr& held, Now now) {
    store::Advance advance{.partition = held->partition,
                           .fence = held->fence,
                           .sequence = held->sequence,
                           .attempts = held->attempts,
                           .error = held->error};
    if (held->ended) {
        conclude(*held, advance, now);
    } else {
        if (!may_begin(held) || held->stopped || (held->retries_at && *held->retries_at > now.at))
            return {};
        if (held->batch.empty() && !held->may_have_more) return {};
        begin_next(held, advance, now);
    }
    if (advance.left.empty() && !rests(*held)) {
        advance.fetch = held->fetch;
        advance.fetch_bytes = held->channel->options.batch_bytes;
        // Where something is always there, nobody looks for what is for later: it is asked for now
        // and then.
        advance.ripen =
            (held->next_due && *held->next_due > Time{} && *held->next_due <= now.due) ||
            now.at >= held->ripened_at + held->channel->options.poll;
        if (advance.ripen) held->ripened_at = now.at;
    }
    const bool is_same = advance.sequence == held->sequence;
    if (is_same) {
        advance.losses = held->losses;
        advance.losses_alone = held->losses_alone;
    }
    // Behind one that is done comes one that was never lost. What has not ended was asked above.
    const bool waits = rests(*held) || (is_same && wants_alone(*held));
    const bool begins = held->ended || !is_same ? !waits : true;
    if (begins && !advance.stopped && !advance.retry_at &&
        (!advance.left.empty() || advance.fetch > 0))
        advance.begun = held == sole_ ? store::Begun::alone : store::Begun::beside_others;
    return advance;
}

// Those whose attempts are used up have been given up by their last owner, or ended its process.
void Deliverer::begin_next(const HeldPtr& held, store::Advance& advance, Now now) {
    if (!held->batch.empty()) {
        std::string error;
        if (held->losses_alone >= options_.losses)
            error = fmt::format("its handler ended its process {} times", held->losses_alone);
        else if (held->attempts - held->losses >= held->channel->options.policy.attempts)
            error = "no attempt at it came back";
        if (!error.empty())
            return fail(*held, advance, {.failed = true, .permanent = true, .error = error}, now);
    }
    advance.left = positions(held->batch, 0);
    if (!advance.left.empty()) advance.attempts = held->attempts + 1;
}

// What a handler has done, and what comes of it.
void Deliverer::conclude(Held& held, store::Advance& advance, Now now) {
    const Ended& ended = *held.ended;
    if (ended.unbegun) {
        advance.left = positions(held.batch, 0);
        // Otherwise it begins after all.
        if (rests(held) || wants_alone(held)) --advance.attempts;
        return;
    }
    advance.sequence = held.sequence + static_cast<std::int64_t>(ended.done);
    advance.error.reset();
    // It came back: what it was suspected of it has not done.
    held.beside = true;
    if (!ended.is_committed) {
        for (std::size_t i = 0; i < ended.done; ++i) advance.done.push_back(held.batch[i].position);
        for (const auto& one : ended.buried)
            advance.buried.push_back(
                {.position = held.batch[one.at].position,
                 .sequence = held.sequence + static_cast<std::int64_t>(one.at) + 1,
                 .attempts = one.at == 0 ? held.attempts : 1,
                 .reason = base::readable(one.reason),
                 .rejected = one.rejected});
    }
    advance.left = positions(held.batch, ended.done);
    if (ended.isolate) {
        held.window = 1;
        if (rests(held)) --advance.attempts;
        return;
    }
    if (ended.failed) return fail(held, advance, ended, now);
    held.window =
        held.one_by_one > ended.done ? 1 : std::min(held.window * 2, held.channel->options.batch);
    // What is left begins at once.
    advance.attempts = advance.left.empty() || rests(held) ? 0 : 1;
}

void Deliverer::fail(Held& held, store::Advance& advance, const Ended& ended, Now now) {
    const auto& options = held.channel->options;
    const auto& head = held.batch[ended.done];
    const auto attempts = ended.done > 0 ? 1 : held.attempts;
    // One that was lost with its process is no attempt that failed.
    const auto failures = ended.done > 0 ? 1 : held.attempts - held.losses;
    const bool is_old = now.due - head.at > options.policy.age;
    held.window = 1;
    advance.attempts = attempts;
    advance.left = positions(held.batch, ended.done);
    advance.error = base::readable(ended.error);
    if (!ended.permanent && !is_old && failures < options.policy.attempts) {
        const auto wait = base::backoff(options.policy, failures, parts_.random);
        advance.retry_at = now.due + wait;
        held.retries_at = now.at + wait;
        log_failed(held, advance, head, failures, wait);
        return;
    }
    if (options.poison == Poison::stop) {
        advance.stopped = true;
        auto record = record_of(LogLevel::error, LogEvent::partition_stopped, held, head);
        record.attempt = failures;
        record.error = *advance.error;
        record.text = fmt::format("partition {} of channel \"{}\" is stopped at message {}: {}",
                                  held.partition.index, held.partition.channel,
                                  advance.sequence + 1, record.error);
        log_later(std::move(record));
        return;
    }
    auto record = record_of(LogLevel::warning, LogEvent::buried, held, head);
    record.attempt = failures;
    record.error = *advance.error;
    record.text = fmt::format("message {} of partition {} of channel \"{}\" is buried: {}",
                              advance.sequence + 1, held.partition.index, held.partition.channel,
                              record.error);
    log_later(std::move(record));
    advance.buried.push_back({.position = head.position,
                              .sequence = advance.sequence + 1,
                              .attempts = attempts,
                              .reason = *advance.error});
    advance.done.push_back(head.position);
    advance.left.erase(advance.left.begin());
    ++advance.sequence;
    advance.attempts = advance.left.empty() || rests(held) ? 0 : 1;
    advance.error.reset();
}

void Deliverer::apply(const HeldPtr& held, const store::Advance& advance, store::Advanced answer) {
    const Now now = this->now();
    std::vector<detail::Arrived> slice;
    {
        const std::lock_guard lock{mutex_};
        held->ended.reset();
        if (held->leaves) own_at_ = long_ago;
        if (answer.lost) {
            held->lost = true;
            auto record = record_of(LogLevel::info, LogEvent::ownership_lost, *held);
            record.text = fmt::format("partition {} of channel \"{}\" was taken by others",
                                      held->partition.index, held->partition.channel);
            return log_later(std::move(record));
        }
        for (; held->batch.size() > advance.left.size(); held->batch.pop_front())
            held->one_by_one -= std::min<std::size_t>(held->one_by_one, 1);
        for (auto& message : answer.fetched) held->batch.push_back(std::move(message));
        if (held->sequence != advance.sequence) held->beside = false;
        held->sequence = advance.sequence;
        held->losses = advance.losses;
        held->has_new_loss = false;
        held->losses_alone = advance.losses_alone;
        held->retry_at = advance.retry_at;
        if (!held->retry_at) held->retries_at.reset();
        held->error = advance.error;
        held->stopped = advance.stopped;
        held->attempts = advance.left.empty() && !held->batch.empty() ? 1 : advance.attempts;
        if (advance.fetch > 0) note_fetch(*held, advance);
        if (advance.begun == store::Begun::no || held->batch.empty()) return;
        if (stopping_ || held->leaves) {
            held->ended = Ended{.unbegun = true};
            return;
        }
        // In one with the look at `stopping_`: who waits until nothing runs must not miss it.
        slice = arrivals(*held, now);
        held->running = true;
        ++running_;
        parts_.turn.add(ExclusiveTurn::Part::messages);
    }
    launch(held, std::move(slice));
}

// What was too large together is not asked for again: a store may have to read it to leave it out.
void Deliverer::note_fetch(Held& held, const store::Advance& advance) {
    const auto count = held.batch.size();
    std::size_t bytes = 0;
    for (const auto& message : held.batch) bytes += message.payload.bytes.size();
    const bool was_cut = count < advance.fetch && bytes >= advance.fetch_bytes;
    held.may_have_more = count == advance.fetch || was_cut;
    if (!held.may_have_more) held.next_due.reset();
    const auto most = held.channel->options.batch;
    if (was_cut) held.fetch = count;
    held.fetch = held.fetch > most / 2 ? most : 2 * held.fetch;
}

std::vector<detail::Arrived> Deliverer::arrivals(Held& held, Now now) {
    const auto& policy = held.channel->options.policy;
    held.stop = std::stop_source{};
    held.asked_to_stop = false;
    const bool has_deadline = policy.deadline > Duration::zero();
    held.deadline = has_deadline ? now.at + policy.deadline : Duration::max();
    std::vector<detail::Arrived> slice(std::min(held.window, held.batch.size()));
    for (std::size_t i = 0; i < slice.size(); ++i) {
        const store::Message& message = held.batch[i];
        auto& to = slice[i].received;
        to.key = message.id.text();
        to.attempt = i == 0 ? held.attempts : 1;
        to.type = message.type;
        to.id = message.key;
        to.created_at = message.at;
        if (has_deadline) to.deadline = now.due + policy.deadline;
        to.stop = held.stop.get_token();
        to.correlation = message.envelope.correlation;
        to.conversation = message.envelope.conversation;
        to.tenant = message.envelope.tenant;
        to.trace = message.envelope.trace;
        to.channel = held.partition.channel;
        to.partition = held.partition.index;
        to.sequence = held.sequence + static_cast<std::int64_t>(i) + 1;
        to.message = message.id;
        to.recipient = message.recipient;
        to.schema = message.schema;
        slice[i].payload = message.payload.bytes;
    }
    return slice;
}

}  // namespace pawl::engine
