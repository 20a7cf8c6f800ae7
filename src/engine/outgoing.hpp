/// What a transaction of the user's gives to the engine, as the store will have it.
#pragma once

#include <functional>
#include <pawl/detail/outgoing.hpp>
#include <vector>

#include "store/commit.hpp"

namespace pawl::engine {

/// The channel in which inputs wait for workflows and functions of this type.
std::string inbox_channel(std::string_view type);

/// Throws Error (invalid) unless a channel can have this name and so many partitions.
void check_partitions(std::string_view channel, int partitions);

/// Checks everything before anything is written. Not thread-safe.
class OutgoingBuffer final : public detail::Outgoing {
public:
    struct Options {
        std::size_t payload_limit = 0;
        std::function<Uuid()> fresh_id;
    };
    explicit OutgoingBuffer(Options options) : options_(std::move(options)) {}

    Uuid publish(detail::OutgoingMessage message) override;
    void post(detail::OutgoingInput input) override;

    bool empty() const { return messages_.empty(); }
    /// From now on everything is refused (misuse): the transaction is over.
    void close() { closed_ = true; }
    void add_to(store::Commit& commit) const;

private:
    Uuid add(store::Message message);

    Options options_;
    std::vector<store::Message> messages_;
    bool closed_ = false;
};

}  // namespace pawl::engine
