// Messages and transactions of the user's own, as an Engine offers them.
#include <fmt/format.h>

#include <pawl/engine.hpp>
#include <pawl/error.hpp>

#include "base/latch.hpp"
#include "base/waits.hpp"
#include "engine/impl.hpp"
#include "engine/in_transaction.hpp"
#include "engine/outgoing.hpp"
#include "engine/run_writer.hpp"

namespace pawl::inline v0 {

struct BegunTransaction::Impl {
    explicit Impl(std::shared_ptr<engine::Core> from)
        : core(std::move(from)),
          outgoing(core->outgoing()),
          transaction(core->store().begin(core->options().transaction_limit)) {}

    std::shared_ptr<engine::Core> core;
    engine::OutgoingBuffer outgoing;
    std::unique_ptr<store::UserTransaction> transaction;
};

BegunTransaction::BegunTransaction(std::unique_ptr<Impl> impl)
    : Transaction(*impl->transaction, impl->outgoing), impl_(std::move(impl)) {}
BegunTransaction::BegunTransaction(BegunTransaction&&) noexcept = default;
BegunTransaction::~BegunTransaction() = default;

void BegunTransaction::commit() {
    store::Commit commit;
    impl_->outgoing.add_to(commit);
    impl_->outgoing.close();
    const auto answer = impl_->transaction->commit(commit, nullptr);
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    if (!impl_->outgoing.empty()) impl_->core->published(commit.messages);
}

BegunTransaction Engine::begin() {
    impl_->core->use();
    engine::check_not_in_transaction(impl_->core->store(), "begin");
    return BegunTransaction{std::make_unique<BegunTransaction::Impl>(impl_->core)};
}

Uuid Engine::publish_one(detail::OutgoingMessage message) {
    auto buffer = impl_->core->outgoing();
    const Uuid id = buffer.publish(std::move(message));
    impl_->core->commit(buffer);
    return id;
}

std::vector<Uuid> Engine::publish_all(std::vector<detail::OutgoingMessage> messages) {
    auto buffer = impl_->core->outgoing();
    std::vector<Uuid> ids;
    for (auto& message : messages) ids.push_back(buffer.publish(std::move(message)));
    impl_->core->commit(buffer);
    return ids;
}

void Engine::post_all(std::vector<detail::OutgoingInput> inputs) {
    auto buffer = impl_->core->outgoing();
    for (auto& input : inputs) buffer.post(std::move(input));
    impl_->core->commit(buffer);
}

void Engine::add_subscriber(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
                            SubscribeOptions options) {
    impl_->core->subscribe(std::move(channel), std::move(subscriber), options);
}

void Engine::channel(std::string_view name, int partitions) {
    engine::check_partitions(name, partitions);
    impl_->store().outbox().declare(std::string{name}, partitions);
}

bool Engine::repartition(std::string_view channel, int partitions) {
    engine::check_partitions(channel, partitions);
    return impl_->store().outbox().repartition(std::string{channel}, partitions);
}

std::int64_t Engine::resume(std::string_view channel) {
    const auto resumed = impl_->store().outbox().resume(std::string{channel});
    impl_->core->published({});
    return resumed;
}

MessageStatus Engine::delivered(const Uuid& message) {
    switch (impl_->store().outbox().delivered({&message, 1}).front()) {
        case store::Delivered::no:
            return MessageStatus::waiting;
        case store::Delivered::dead:
            return MessageStatus::dead;
        case store::Delivered::yes:
            break;
    }
    return MessageStatus::delivered;
}

bool Engine::wait_for(const std::vector<Uuid>& messages, Duration timeout) {
    engine::check_not_in_transaction(impl_->core->store(), "wait_for");
    const base::Countdown countdown{timeout};
    auto left = messages;
    for (base::Latch never;; never.wait_for(std::chrono::milliseconds{5})) {
        const auto found = impl_->store().outbox().delivered(left);
        std::vector<Uuid> rest;
        for (std::size_t i = 0; i < left.size(); ++i)
            if (found[i] == store::Delivered::no) rest.push_back(left[i]);
        left = std::move(rest);
        if (left.empty()) return true;
        if (countdown.left() == Duration::zero()) return false;
    }
}

std::vector<PartitionDepth> Engine::partitions(std::string_view channel) {
    std::vector<PartitionDepth> all;
    const Time now = impl_->store().now();
    for (auto& from : impl_->store().outbox().depths(std::string{channel})) {
        auto& to = all.emplace_back();
        to.partition = from.partition.index;
        to.sequence = from.sequence;
        to.waiting = from.waiting;
        // The store's clock may have gone back since it was published.
        if (from.oldest) to.lag = std::max(now - *from.oldest, Duration::zero());
        to.attempts = from.attempts;
        to.error = std::move(from.error);
        to.stopped = from.stopped;
    }
    return all;
}

ChannelStatistics Engine::statistics(std::string_view channel) {
    ChannelStatistics now;
    now.at = impl_->store().now();
    for (const auto& partition : partitions(channel)) {
        now.delivered += partition.sequence;
        now.waiting += partition.waiting;
        now.lag = std::max(now.lag, partition.lag);
        if (partition.stopped) ++now.stopped;
    }
    now.published = now.delivered + now.waiting;
    return now;
}

namespace {

store::DeadMessageFilter filter_of(const DeadMessageQuery& query) {
    store::DeadMessageFilter filter;
    filter.channel = query.channel;
    filter.partition = query.partition;
    filter.type = query.type;
    filter.reason = query.reason;
    filter.died_from = query.died_from;
    filter.died_before = query.died_before;
    if (query.status) filter.status = static_cast<store::DeadStatus>(*query.status);
    filter.positions = query.messages;
    filter.after = query.after;
    filter.limit = query.limit;
    return filter;
}

std::vector<DeadMessage> shown(std::vector<store::DeadMessage> all) {
    std::vector<DeadMessage> out;
    for (auto& from : all) {
        auto& to = out.emplace_back();
        to.number = from.message.position;
        to.message = from.message.id;
        to.channel = std::move(from.message.channel);
        to.partition = from.message.partition.value_or(0);
        to.sequence = from.sequence;
        to.key = std::move(from.message.key);
        to.type = std::move(from.message.type);
        to.payload = std::move(from.message.payload.bytes);
        to.attempts = from.attempts;
        to.reason = std::move(from.reason);
        to.published_at = from.message.at;
        to.died_at = from.died_at;
        to.status = static_cast<DeadMessageStatus>(from.status);
        to.until = from.until;
    }
    return out;
}

}  // namespace

std::vector<DeadMessage> Engine::dead_messages(const DeadMessageQuery& query) {
    return shown(impl_->store().outbox().dead(filter_of(query)));
}

std::int64_t Engine::count_dead_messages(const DeadMessageQuery& query) {
    return impl_->store().outbox().count_dead(filter_of(query));
}

std::vector<DeadMessage> Engine::replay_dead_messages(const DeadMessageQuery& query,
                                                      Duration deadline) {
    auto& store = impl_->store();
    return shown(
        store.outbox().reprocess(filter_of(query), store.now() + base::at_most_for_ever(deadline)));
}

std::int64_t Engine::redeliver_dead_messages(const DeadMessageQuery& query) {
    const auto count = impl_->store().outbox().redeliver(filter_of(query));
    if (count > 0) impl_->core->published({});
    return count;
}

std::int64_t Engine::resolve_dead_messages(const std::vector<std::int64_t>& numbers) {
    return impl_->store().outbox().settle_dead(numbers, store::DeadStatus::resolved, "");
}

std::int64_t Engine::bury_dead_messages(const std::vector<std::int64_t>& numbers,
                                        std::string_view reason) {
    return impl_->store().outbox().settle_dead(numbers, store::DeadStatus::pending,
                                               std::string{reason});
}

std::int64_t Engine::discard_dead_messages(const std::vector<std::int64_t>& numbers) {
    return impl_->store().outbox().settle_dead(numbers, store::DeadStatus::discarded, "");
}

std::int64_t Engine::clean_up_dead_messages(Duration older_than, std::size_t limit) {
    auto& store = impl_->store();
    return store.outbox().clean_up_dead(store.now() - base::at_most_for_ever(older_than), limit);
}

}  // namespace pawl::inline v0
