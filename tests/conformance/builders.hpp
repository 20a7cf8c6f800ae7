/// Short ways to say a Commit: `on(order("1"), 0).event("Placed").effect("Invoice")`.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "store/commit.hpp"

namespace pawl::store::conformance {

inline InstanceName order(std::string id) { return {.type = "order", .id = std::move(id)}; }
inline Line effects(std::string name) {
    return {.kind = ItemKind::effect, .type = "order", .name = std::move(name)};
}
inline Line timers(std::string name) {
    return {.kind = ItemKind::timer, .type = "order", .name = std::move(name)};
}

inline Line runs(std::string version) {
    return {.kind = ItemKind::run, .type = "order", .name = std::move(version)};
}

/// Another id at every call, the same ones in every run of one test.
inline Uuid fresh_id() {
    static std::atomic<std::uint32_t> last{0};
    Uuid id;
    std::uint32_t number = ++last;
    for (int i = 15; number > 0; number >>= 8) id.bytes[i--] = static_cast<std::uint8_t>(number);
    return id;
}

inline Event event(std::string name) {
    return {.id = fresh_id(), .name = name, .payload = {"{\"" + name + "\":1}"}};
}

class CommitBuilder {
public:
    operator const Commit&() const { return commit_; }
    Commit build() const { return commit_; }

    CommitBuilder& expect(Version version) {
        commit_.append->expected = version;
        return *this;
    }
    CommitBuilder& head(Head head) {
        commit_.append->expected_head = head;
        return *this;
    }
    CommitBuilder& event(std::string name) { return event(conformance::event(std::move(name))); }
    CommitBuilder& event(Event event) {
        commit_.append->events.push_back(std::move(event));
        return *this;
    }
    CommitBuilder& put(Put put) {
        commit_.append->puts.push_back(std::move(put));
        return *this;
    }
    CommitBuilder& effect(std::string name) {
        return put({.name = name, .payload = {"\"" + name + "\""}});
    }
    CommitBuilder& born(std::string name, Claim claim) {
        return put({.name = std::move(name), .born_claimed = claim});
    }
    CommitBuilder& timer(std::string name, Duration after, std::string key = "") {
        return put({.kind = ItemKind::timer,
                    .name = std::move(name),
                    .key = std::move(key),
                    .after = after});
    }
    CommitBuilder& run(std::string version = "1") {
        return put({.kind = ItemKind::run, .name = std::move(version)});
    }
    CommitBuilder& cancel(std::string key) {
        commit_.append->cancels.push_back(std::move(key));
        return *this;
    }
    CommitBuilder& input(std::string id) {
        commit_.append->input_id = std::move(id);
        return *this;
    }
    CommitBuilder& unique(std::string key) {
        commit_.append->unique_key = std::move(key);
        return *this;
    }
    CommitBuilder& finish() {
        commit_.append->finished = true;
        return *this;
    }
    CommitBuilder& status(std::int32_t status) {
        commit_.append->status = status;
        return *this;
    }
    CommitBuilder& take(std::int64_t position) {
        commit_.append->taken.push_back(position);
        return *this;
    }
    CommitBuilder& end_run() {
        commit_.append->ends_run = true;
        return *this;
    }
    CommitBuilder& snapshot(Snapshot snapshot) {
        commit_.append->snapshot = std::move(snapshot);
        return *this;
    }
    CommitBuilder& settle(Settlement settlement) {
        commit_.settlements.push_back(std::move(settlement));
        return *this;
    }
    CommitBuilder& ack(const Item& item) { return settle({.item = item.id, .fence = item.fence}); }
    CommitBuilder& ack(const Item& item, Ending ending, std::string reason) {
        return settle({.item = item.id,
                       .fence = item.fence,
                       .ending = ending,
                       .ending_reason = std::move(reason)});
    }
    CommitBuilder& retry(const Item& item, Duration after, std::string reason) {
        return settle({.item = item.id,
                       .fence = item.fence,
                       .verdict = Verdict::retry,
                       .retry_after = after,
                       .reason = std::move(reason)});
    }
    CommitBuilder& bury(const Item& item, std::string reason) {
        return settle({.item = item.id,
                       .fence = item.fence,
                       .verdict = Verdict::bury,
                       .reason = std::move(reason)});
    }
    CommitBuilder& hold(const Item& item, std::optional<std::int64_t> seen_mail = {}) {
        return settle({.item = item.id,
                       .fence = item.fence,
                       .verdict = Verdict::hold,
                       .seen_mail = seen_mail});
    }
    CommitBuilder& suspend(const Item& item, Wake wake = {},
                           std::optional<std::int64_t> seen_mail = {}) {
        return settle({.item = item.id,
                       .fence = item.fence,
                       .verdict = Verdict::suspend,
                       .wake = wake,
                       .seen_mail = seen_mail});
    }
    CommitBuilder& letter(InstanceName to, std::string name = "Hello") {
        return inbox({.to = std::move(to), .to_run = true, .name = std::move(name)});
    }
    CommitBuilder& urgent_letter(InstanceName to, std::string name = "Stop") {
        return inbox(
            {.to = std::move(to), .to_run = true, .urgent = true, .name = std::move(name)});
    }
    CommitBuilder& inbox(InboxRow row) {
        commit_.inbox.push_back(std::move(row));
        return *this;
    }
    CommitBuilder& message(Message message) {
        if (message.id == Uuid{}) message.id = fresh_id();
        commit_.messages.push_back(std::move(message));
        return *this;
    }
    CommitBuilder& envelope(Envelope envelope) {
        commit_.envelope = std::move(envelope);
        return *this;
    }

private:
    friend CommitBuilder on(InstanceName, Version);
    Commit commit_;
};

/// Of an append to `instance`, decided on version `expected`.
inline CommitBuilder on(InstanceName instance, Version expected) {
    CommitBuilder builder;
    builder.commit_.append = Append{.instance = std::move(instance), .expected = expected};
    return builder;
}

/// Of a Commit without an append.
inline CommitBuilder settling() { return {}; }

}  // namespace pawl::store::conformance
