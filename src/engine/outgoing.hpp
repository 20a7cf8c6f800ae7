/// What a transaction of the user's gives to the engine, as the store will have it.
#pragma once

#include <functional>
#include <map>
#include <pawl/detail/outgoing.hpp>
#include <vector>

#include "store/commit.hpp"

namespace pawl::engine {

/// Whether a channel or a workflow of this name is pawl's own.
bool is_own(std::string_view name);
/// Throws Error (invalid) if it is; `what` has the name.
void check_not_own(std::string_view what, std::string_view name);

/// The channel in which inputs wait for workflows and functions of this type.
std::string inbox_channel(std::string_view type);
bool is_inbox(std::string_view channel);

/// Throws Error (invalid) unless a channel can have this name and so many partitions.
void check_partitions(std::string_view channel, int partitions);

/// Checks everything before anything is written. Not thread-safe.
class OutgoingBuffer final : public detail::Outgoing {
public:
    struct Options {
        std::size_t payload_limit = 0;
        std::function<Uuid()> fresh_id;
        /// Before an input for this type is posted, behind so many others of it; may throw.
        std::function<void(const std::string& type, std::size_t others)> before_post = {};
        bool to_own_channels = false;  ///< `publish` may, too
    };
    explicit OutgoingBuffer(Options options) : options_(std::move(options)) {}

    Uuid publish(detail::OutgoingMessage message) override;
    void post(detail::OutgoingInput input) override;
    detail::OnceKey once(std::string_view consumer, std::string_view id) override;

    bool empty() const { return messages_.empty(); }
    const std::vector<store::Message>& messages() const { return messages_; }
    /// From now on everything is refused (misuse): the transaction is over.
    void close() { closed_ = true; }
    void add_to(store::Commit& commit) const;

private:
    void check_open() const;
    Uuid add(store::Message message);

    Options options_;
    std::vector<store::Message> messages_;
    std::map<std::string, std::size_t> posted_;  ///< inputs of each type
    bool closed_ = false;
};

}  // namespace pawl::engine
