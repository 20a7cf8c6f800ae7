/// A store that passes every verb on to another: a test replaces the verbs that it watches.
#pragma once

#include <memory>
#include <utility>

#include "store/store.hpp"

namespace pawl::engine_test {

class ForwardingStore : public store::Store {
public:
    explicit ForwardingStore(std::unique_ptr<store::Store> below) : below_(std::move(below)) {}

    Time now() override { return below_->now(); }
    void commit(std::span<const store::Commit> group, std::span<store::Answer> answers) override {
        below_->commit(group, answers);
    }
    std::size_t writers() const override { return below_->writers(); }
    std::unique_ptr<store::UserTransaction> begin(Duration limit) override {
        return below_->begin(limit);
    }
    bool is_in_transaction() const override { return below_->is_in_transaction(); }
    std::vector<store::Loaded> load(std::span<const store::LoadRequest> requests) override {
        return below_->load(requests);
    }
    std::optional<store::Held> hold(const store::LoadRequest& request, Duration limit) override {
        return below_->hold(request, limit);
    }
    std::vector<store::StoredEvent> journal(const store::InstanceName& instance,
                                            store::Version after, std::size_t limit) override {
        return below_->journal(instance, after, limit);
    }
    std::vector<store::StoredEvent> journal_back(const store::InstanceName& instance,
                                                 const std::string& name, store::Version before,
                                                 std::size_t limit) override {
        return below_->journal_back(instance, name, before, limit);
    }
    std::vector<store::Tail> tails(std::span<const store::InstanceName> instances) override {
        return below_->tails(instances);
    }
    std::vector<store::FinishedRow> finished_since(Time since, std::size_t limit) override {
        return below_->finished_since(since, limit);
    }
    store::InstancePage instances(const store::InstanceFilter& filter) override {
        return below_->instances(filter);
    }
    store::Followed follow(const std::string& cursor, std::size_t limit) override {
        return below_->follow(cursor, limit);
    }
    store::SessionId open_session(const store::SessionOptions& options) override {
        return below_->open_session(options);
    }
    bool renew(store::SessionId session, Duration lease) override {
        return below_->renew(session, lease);
    }
    void close_session(store::SessionId session) override { below_->close_session(session); }
    std::size_t sessions() override { return below_->sessions(); }
    store::Claimed claim(const store::ClaimRequest& request) override {
        return below_->claim(request);
    }
    void release(std::span<const std::pair<store::ItemId, store::Fence>> items) override {
        below_->release(items);
    }
    std::vector<store::Item> items(const store::ItemFilter& filter) override {
        return below_->items(filter);
    }
    std::vector<store::LineDepth> depths() override { return below_->depths(); }
    std::vector<store::RecordedEnding> endings(const store::ItemFilter& filter) override {
        return below_->endings(filter);
    }
    std::vector<store::DeadLetter> dead_letters(const store::DeadLetterFilter& filter) override {
        return below_->dead_letters(filter);
    }
    std::int64_t count_dead_letters(const store::DeadLetterFilter& filter) override {
        return below_->count_dead_letters(filter);
    }
    std::int64_t retry_dead_letters(const store::DeadLetterFilter& filter) override {
        return below_->retry_dead_letters(filter);
    }
    std::int64_t discard_dead_letters(const store::DeadLetterFilter& filter) override {
        return below_->discard_dead_letters(filter);
    }
    std::vector<store::InboxRow> inbox(const store::InstanceName& to, std::size_t limit) override {
        return below_->inbox(to, limit);
    }
    std::vector<store::Message> messages(const std::string& channel, std::int64_t after,
                                         std::size_t limit) override {
        return below_->messages(channel, after, limit);
    }
    store::Outbox& outbox() override { return below_->outbox(); }
    store::Vacuumed vacuum(const store::VacuumRequest& request) override {
        return below_->vacuum(request);
    }
    std::unique_ptr<store::Watch> watch() override { return below_->watch(); }

private:
    const std::unique_ptr<store::Store> below_;
};

}  // namespace pawl::engine_test
