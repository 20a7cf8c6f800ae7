#include "engine/inbox_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "engine/outgoing.hpp"

namespace pawl::engine {
namespace {

// What others post is seen no later than this.
constexpr Duration between_counts = std::chrono::seconds{1};

}  // namespace

void InboxLimit::check(const std::string& type, std::size_t uncommitted) {
    if (limit_ == 0) return;
    const std::lock_guard lock{mutex_};
    auto& inbox = inboxes_[type];
    const Duration now = clock_.elapsed();
    const auto room = limit_ - std::min(inbox.waiting, limit_);
    if (inbox.posted >= room / 2 || !inbox.counted_at ||
        now - *inbox.counted_at >= between_counts) {
        inbox = {.posted = uncommitted, .counted_at = now};
        for (const auto& partition : store_.outbox().depths(inbox_channel(type)))
            inbox.waiting += static_cast<std::size_t>(partition.waiting);
    }
    if (inbox.waiting + inbox.posted >= limit_)
        throw Error{Code::busy,
                    fmt::format("the inbox of \"{}\" is full: {} inputs wait in it "
                                "(Options::inbox_limit); try again when some are applied, or see "
                                "why they are not",
                                type, inbox.waiting + inbox.posted)};
    ++inbox.posted;
}

}  // namespace pawl::engine
