#include "store/sql/sql_store.hpp"

#include "store/session_claims.hpp"
#include "store/sql/claiming.hpp"
#include "store/sql/committing.hpp"
#include "store/sql/delivering.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/reading.hpp"
#include "store/sql/receipts.hpp"
#include "store/sql/retaining.hpp"
#include "store/sql/transacting.hpp"
#include "store/sql/users_transaction.hpp"

namespace pawl::store::sql {
namespace {

class SqlStore final : public Store, public SessionClaims {
public:
    explicit SqlStore(std::unique_ptr<Database> database)
        : database_(std::move(database)), interned_(database_->statements()) {}

    Time now() override { return database_->now(); }
    void commit(std::span<const Commit> group, std::span<Answer> answers) override {
        committing_.commit(group, answers);
    }
    std::size_t writers() const override { return database_->writers(); }

    std::unique_ptr<UserTransaction> begin(Duration limit) override { return begin_users(limit); }
    bool is_in_transaction() const override { return open_.is_any_here(); }

    std::vector<Loaded> load(std::span<const LoadRequest> requests) override {
        return reading_.load(requests);
    }
    std::optional<Held> hold(const LoadRequest& request, Duration limit) override {
        for (Tries tries;;) {
            auto transaction = begin_users(limit);
            try {
                auto loaded = transaction->hold(request);
                return Held{std::move(transaction), std::move(loaded)};
            } catch (const Error&) {
                if (!transaction->may_be_repeated() || !tries.again()) throw;
            }
        }
    }
    std::vector<StoredEvent> journal(const InstanceName& instance, Version after,
                                     std::size_t limit) override {
        return reading_.journal(instance, after, limit);
    }
    std::vector<StoredEvent> journal_back(const InstanceName& instance, const std::string& name,
                                          Version before, std::size_t limit) override {
        return reading_.journal_back(instance, name, before, limit);
    }
    std::vector<FinishedRow> finished_since(Time since, std::size_t limit) override {
        return reading_.finished_since(since, limit);
    }
    std::vector<Tail> tails(std::span<const InstanceName> instances) override {
        return reading_.tails(instances);
    }
    InstancePage instances(const InstanceFilter& filter) override {
        return reading_.instances(filter);
    }
    Followed follow(const std::string& cursor, std::size_t limit) override {
        return reading_.follow(cursor, limit);
    }

    SessionId open_session(const SessionOptions& options) override {
        return claiming_.open_session(options);
    }
    bool renew(SessionId session, Duration lease) override {
        return claiming_.renew(session, lease);
    }
    void close_session(SessionId session) override { claiming_.close_session(session); }
    std::vector<std::pair<ItemId, Fence>> claims_of(SessionId session) override {
        return claiming_.claims_of(session);
    }
    std::size_t sessions() override { return claiming_.sessions(); }
    Claimed claim(const ClaimRequest& request) override { return claiming_.claim(request); }
    void release(std::span<const std::pair<ItemId, Fence>> items) override {
        claiming_.release(items);
    }

    std::vector<Item> items(const ItemFilter& filter) override { return reading_.items(filter); }
    std::vector<LineDepth> depths() override { return reading_.depths(); }
    std::vector<RecordedEnding> endings(const ItemFilter& filter) override {
        return reading_.endings(filter);
    }

    std::vector<DeadLetter> dead_letters(const DeadLetterFilter& filter) override {
        return retaining_.dead_letters(filter);
    }
    std::int64_t count_dead_letters(const DeadLetterFilter& filter) override {
        return retaining_.count_dead_letters(filter);
    }
    std::int64_t retry_dead_letters(const DeadLetterFilter& filter) override {
        return retaining_.retry_dead_letters(filter);
    }
    std::int64_t discard_dead_letters(const DeadLetterFilter& filter) override {
        return retaining_.discard_dead_letters(filter);
    }
    Vacuumed vacuum(const VacuumRequest& request) override { return retaining_.vacuum(request); }

    std::vector<InboxRow> inbox(const InstanceName& to, std::size_t limit) override {
        return reading_.inbox(to, limit);
    }
    std::vector<Message> messages(const std::string& channel, std::int64_t after,
                                  std::size_t limit) override {
        return reading_.messages(channel, after, limit);
    }

    Outbox& outbox() override { return delivering_; }
    std::unique_ptr<Watch> watch() override { return database_->watch(); }

private:
    std::unique_ptr<UsersTransaction> begin_users(Duration limit) {
        const UsersTransaction::Parts parts{*database_,  committing_, open_,
                                            delivering_, interned_,   reading_};
        for (Tries tries;;) {
            try {
                return std::make_unique<UsersTransaction>(parts, limit);
            } catch (const LostConnection& lost) {
                if (!tries.again(lost)) throw;
            }
        }
    }

    std::unique_ptr<Database> database_;
    Interned interned_;
    StrayClaims strays_;
    InstanceRefs refs_;
    ClaimMarks marks_;
    OpenTransactions open_;
    DeclaredChannels channels_;
    Receipts receipts_{*database_};
    Committing committing_{*database_, {interned_, refs_, channels_}, strays_, marks_, receipts_};
    Claiming claiming_{*database_, interned_, strays_, marks_};
    Reading reading_{*database_, interned_, refs_};
    Retaining retaining_{*database_, interned_, receipts_};
    Delivering delivering_{*database_, interned_, channels_, receipts_};
};

}  // namespace

std::unique_ptr<Store> make_sql_store(std::unique_ptr<Database> database) {
    return std::make_unique<SqlStore>(std::move(database));
}

}  // namespace pawl::store::sql
