/// The ordered outbox of a memory store.
#pragma once

#include <mutex>
#include <pawl/clock.hpp>

#include "store/memory/state.hpp"
#include "store/outbox.hpp"

namespace pawl::store::memory {

/// The partition of a message that is published now; declares its channel. Throws Error (invalid)
/// for an index that the channel does not have.
std::int32_t partition_of(State& state, const Message& message);

/// Every verb under the store's mutex.
class Delivering final : public Outbox {
public:
    Delivering(State& state, std::mutex& mutex, const Clock& clock)
        : state_(state), mutex_(mutex), clock_(clock) {}

    std::int32_t declare(const std::string& channel, std::int32_t partitions) override;
    bool repartition(const std::string& channel, std::int32_t partitions) override;
    Ownership own(const Claim& claim, const std::string& channel,
                  std::span<const std::int32_t> except) override;
    void disown(std::span<const Partition> partitions, Fence fence) override;
    std::vector<std::optional<Time>> look(std::span<const Partition> partitions) override;
    std::vector<Advanced> advance(std::span<const Advance> all) override;
    std::vector<std::string> channels() override;
    void accompany(const Partition& partition, Fence fence) override;
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
    void announce() noexcept override {}

private:
    bool is_live(SessionId session) const;
    std::vector<DeadMessage> find_dead(const DeadMessageFilter& filter) const;

    State& state_;
    std::mutex& mutex_;
    const Clock& clock_;
};

}  // namespace pawl::store::memory
