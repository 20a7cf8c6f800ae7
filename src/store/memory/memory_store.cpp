#include "store/memory/memory_store.hpp"

#include <condition_variable>
#include <mutex>
#include <pawl/error.hpp>
#include <utility>

#include "store/memory/claiming.hpp"
#include "store/memory/committing.hpp"
#include "store/memory/delivering.hpp"
#include "store/memory/querying.hpp"
#include "store/memory/retaining.hpp"
#include "store/memory/state.hpp"

namespace pawl::store {
namespace {

// One process sees all of a memory store, so there is never news from another.
class MemoryWatch final : public Watch {
public:
    bool wait(Duration timeout) override {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, timeout, [&] { return interrupted_; });
        interrupted_ = false;
        return false;
    }
    void interrupt() override {
        {
            const std::lock_guard lock{mutex_};
            interrupted_ = true;
        }
        changed_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool interrupted_ = false;
};

// Every verb is one locked call of a function in this folder, at one moment of the clock.
class MemoryStore final : public Store {
public:
    explicit MemoryStore(const Clock& clock) : clock_(clock) {}

    Time now() override { return clock_.now(); }

    void commit(std::span<const Commit> group, std::span<Answer> answers) override {
        const std::lock_guard lock{mutex_};
        memory::commit_group(state_, now(), group, answers);
    }

    std::unique_ptr<UserTransaction> begin(Duration) override {
        throw Error{Code::misuse,
                    "a store in memory has no SQL: a transaction of your own needs a store on "
                    "SQLite, PostgreSQL or MariaDB"};
    }

    std::vector<Loaded> load(std::span<const LoadRequest> requests) override {
        const std::lock_guard lock{mutex_};
        std::vector<Loaded> loaded;
        for (const auto& request : requests)
            loaded.push_back(memory::load_instance(state_, request));
        return loaded;
    }
    std::vector<StoredEvent> journal(const InstanceName& instance, Version after,
                                     std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::read_journal(state_, instance, after, limit);
    }
    std::vector<StoredEvent> journal_back(const InstanceName& instance, const std::string& name,
                                          Version before, std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::read_journal_back(state_, instance, name, before, limit);
    }
    std::vector<Tail> tails(std::span<const InstanceName> instances) override {
        const std::lock_guard lock{mutex_};
        std::vector<Tail> tails;
        for (const auto& instance : instances) tails.push_back(memory::read_tail(state_, instance));
        return tails;
    }
    std::vector<FinishedRow> finished_since(Time since, std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::list_finished(state_, since, limit);
    }
    InstancePage instances(const InstanceFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::list_instances(state_, filter);
    }
    Followed follow(const std::string& cursor, std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::follow_journal(state_, cursor, limit);
    }

    SessionId open_session(const SessionOptions& options) override {
        const std::lock_guard lock{mutex_};
        return memory::open_session(state_, now(), options);
    }
    bool renew(SessionId session, Duration lease) override {
        const std::lock_guard lock{mutex_};
        return memory::renew_session(state_, now(), session, lease);
    }
    void close_session(SessionId session) override {
        const std::lock_guard lock{mutex_};
        memory::close_session(state_, now(), session);
    }
    std::size_t sessions() override {
        const std::lock_guard lock{mutex_};
        return memory::count_sessions(state_, now());
    }

    Claimed claim(const ClaimRequest& request) override {
        const std::lock_guard lock{mutex_};
        return memory::claim_items(state_, now(), request);
    }
    void release(std::span<const std::pair<ItemId, Fence>> items) override {
        const std::lock_guard lock{mutex_};
        for (const auto& [id, fence] : items) memory::release_item(state_, now(), id, fence);
    }

    std::vector<Item> items(const ItemFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::list_items(state_, filter);
    }
    std::vector<LineDepth> depths() override {
        const std::lock_guard lock{mutex_};
        return memory::line_depths(state_, now());
    }
    std::vector<RecordedEnding> endings(const ItemFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::list_endings(state_, filter);
    }

    std::vector<DeadLetter> dead_letters(const DeadLetterFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::list_dead_letters(state_, filter);
    }
    std::int64_t count_dead_letters(const DeadLetterFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::count_dead_letters(state_, filter);
    }
    std::int64_t retry_dead_letters(const DeadLetterFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::retry_dead_letters(state_, now(), filter);
    }
    std::int64_t discard_dead_letters(const DeadLetterFilter& filter) override {
        const std::lock_guard lock{mutex_};
        return memory::discard_dead_letters(state_, filter);
    }

    std::vector<InboxRow> inbox(const InstanceName& to, std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::list_inbox(state_, to, limit);
    }
    std::vector<Message> messages(const std::string& channel, std::int64_t after,
                                  std::size_t limit) override {
        const std::lock_guard lock{mutex_};
        return memory::list_messages(state_, channel, after, limit);
    }

    Vacuumed vacuum(const VacuumRequest& request) override {
        const std::lock_guard lock{mutex_};
        return memory::vacuum(state_, now(), request);
    }

    Outbox& outbox() override { return delivering_; }
    std::unique_ptr<Watch> watch() override { return std::make_unique<MemoryWatch>(); }

private:
    const Clock& clock_;
    std::mutex mutex_;
    memory::State state_;
    memory::Delivering delivering_{state_, mutex_, clock_};
};

}  // namespace

std::unique_ptr<Store> open_memory(const Clock& clock) {
    return std::make_unique<MemoryStore>(clock);
}

}  // namespace pawl::store
