/// The ordered outbox on SQL: who has which partition, and how far it is.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/outbox.hpp"
#include "store/sql/database.hpp"
#include "store/sql/declared_channels.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/message_marks.hpp"
#include "store/sql/receipts.hpp"

namespace pawl::store::sql {

/// Reached with each try to get the locks that changing the number of partitions needs.
inline constexpr std::string_view repartition_begun = "repartition:begun";

class Delivering final : public Outbox {
public:
    Delivering(Database& database, Interned& interned, DeclaredChannels& declared,
               Receipts& receipts)
        : database_(database),
          sql_(database.statements()),
          interned_(interned),
          declared_(declared),
          receipts_(receipts) {}

    std::int32_t declare(const std::string& channel, std::int32_t partitions) override;
    bool repartition(const std::string& channel, std::int32_t partitions) override;

    Ownership own(const Claim& claim, const std::string& channel,
                  std::span<const std::int32_t> except) override;
    void disown(std::span<const Partition> partitions, Fence fence) override;
    std::vector<std::optional<Time>> look(std::span<const Partition> partitions) override;
    std::vector<Advanced> advance(std::span<const Advance> all) override;
    void accompany(const Partition& partition, Fence fence) override;
    /// The same inside of a transaction that somebody else commits; fetches nothing.
    bool advance_in(Connection& connection, const Advance& one);

    std::vector<std::string> channels() override;
    std::vector<PartitionDepth> depths(const std::string& channel) override;
    std::vector<Delivered> delivered(std::span<const Uuid> messages) override;
    std::int64_t resume(const std::string& channel) override;

    std::vector<DeadMessage> dead(const DeadMessageFilter& filter) override;
    std::int64_t count_dead(const DeadMessageFilter& filter) override;
    std::vector<DeadMessage> reprocess(const DeadMessageFilter& filter, Time until) override;
    std::int64_t settle_dead(std::span<const std::int64_t> positions, DeadStatus status,
                             const std::string& reason) override;
    std::int64_t redeliver(const DeadMessageFilter& filter) override;
    std::int64_t clean_up_dead(Time before, std::size_t limit) override;

    std::unique_ptr<ForeignTransaction> join(const ForeignHandle& handle) override;
    SpelledStatement spell(const Message& message, Marks marks) override;
    void announce() noexcept override { database_.announce_unnumbered(); }

private:
    struct Owners {
        std::vector<std::int32_t> held;
        std::size_t free = 0;
        std::size_t share = 0;
        bool subscribed = false;
    };
    Owners owners(Connection& connection, Ref ref, SessionId session,
                  std::span<const std::int32_t> except);
    std::optional<Ref> find(Connection& connection, const std::string& channel);
    /// Of a channel that was there a moment ago.
    Ref get(Connection& connection, const std::string& channel);
    std::int32_t declare_in(Connection& connection, Words& words, Ref ref, std::int32_t partitions);
    bool repartition_in(Connection& connection, const std::string& channel, std::int32_t partitions,
                        std::chrono::milliseconds patience);
    std::vector<OwnedPartition> read(Connection& connection, Ref ref, const std::string& channel,
                                     const std::vector<std::int32_t>& parts);
    std::vector<bool> hold(Connection& connection, std::span<const Advance> all,
                           const std::vector<Ref>& refs);
    /// Before a transaction that searches for messages, so that it can leave a mark.
    void see_moment();
    struct Search;  // for the messages of a partition
    std::vector<Search> searches(std::span<const Advance> all, const std::vector<bool>& held,
                                 const std::vector<Ref>& refs) const;
    void fetch(Connection& connection, std::span<const Advance> all, std::vector<Search>& searches,
               std::vector<Advanced>& answers);
    std::vector<Search> waiting(Connection& connection, Ref ref, const std::string& channel,
                                const std::function<void(std::int32_t, std::int64_t, Time)>& waits);
    /// Of the statements that filter dead messages; nothing if there can be none.
    std::optional<Rows> parameters(Connection& connection, const DeadMessageFilter& filter,
                                   std::int64_t limit);
    std::vector<DeadMessage> lock_pending(Connection& connection, DeadMessageFilter filter);
    /// Of these, those that are pending or being reprocessed.
    std::vector<std::int64_t> lock_unsettled(Connection& connection,
                                             std::span<const std::int64_t> positions);
    std::vector<DeadMessage> find_dead(Connection& connection, const DeadMessageFilter& filter);

    Database& database_;
    const Statements& sql_;
    Interned& interned_;
    DeclaredChannels& declared_;
    MessageMarks marks_;
    std::mutex seeing_moment_;
    Receipts& receipts_;
};

}  // namespace pawl::store::sql
