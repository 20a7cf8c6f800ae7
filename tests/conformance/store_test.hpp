/// The fixture of the conformance tests: a fresh database, a manual clock, and short verbs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "conformance/builders.hpp"
#include "conformance/stores.hpp"

namespace pawl::store::conformance {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class StoreTest : public testing::TestWithParam<StoreUnderTest> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
        database = GetParam().create(clock);
        store = database.open();
    }

    Answer commit(const Commit& one) { return commit_all({one})[0]; }
    std::vector<Answer> commit_all(const std::vector<Commit>& group) {
        std::vector<Answer> answers(group.size());
        store->commit(group, answers);
        return answers;
    }
    /// A new instance with one event and one effect of each name. Returns the effects' ids.
    std::vector<ItemId> create(const InstanceName& name, std::vector<std::string> effects = {}) {
        auto builder = on(name, 0).event("Created");
        for (auto& effect : effects) builder.effect(std::move(effect));
        const Answer answer = commit(builder);
        EXPECT_EQ(answer.fate, Fate::committed);
        return answer.items;
    }

    Loaded load(const InstanceName& name) {
        return store->load(std::vector<LoadRequest>{{name}})[0];
    }
    Version version_of(const InstanceName& name) {
        const auto row = load(name).row;
        return row ? row->version : 0;
    }
    std::vector<std::string> events_of(const InstanceName& name) {
        std::vector<std::string> names;
        for (const auto& event : load(name).events) names.push_back(event.name);
        return names;
    }
    std::vector<std::string> instance_ids(const InstanceFilter& filter = {}) {
        std::vector<std::string> ids;
        for (const auto& row : store->instances(filter).rows) ids.push_back(row.name.id);
        return ids;
    }

    SessionId open_session(Duration lease = 1min) { return store->open_session({.lease = lease}); }
    Claimed claim(SessionId session, const std::vector<Line>& lines, std::size_t limit = 100) {
        return claim_in(*store, session, lines, limit);
    }
    Claimed claim_in(Store& in, SessionId session, const std::vector<Line>& lines,
                     std::size_t limit = 100) {
        ClaimRequest request{.claim = {session, ++last_fence}, .limit = limit};
        for (const auto& line : lines) request.interests.push_back({line, limit});
        return in.claim(request);
    }
    Claimed claim_lost(SessionId session, const std::vector<Line>& lines) {
        ClaimRequest request{.claim = {session, ++last_fence}, .limit = 100, .lost_ones = true};
        for (const auto& line : lines) request.interests.push_back({line, 100});
        return store->claim(request);
    }
    /// The one item that is due in this line.
    Item claim_one(SessionId session, const Line& line) {
        const auto items = claim(session, {line}).items;
        EXPECT_EQ(items.size(), 1u);
        return items.empty() ? Item{} : items[0];
    }

    /// The item with this id, if it is still one.
    std::optional<Item> item(ItemId id) {
        const auto items = store->items({.after = id - 1, .limit = 1});
        if (items.empty() || items[0].id != id) return std::nullopt;
        return items[0];
    }
    std::vector<ItemId> item_ids(const ItemFilter& filter = {}) {
        return ids_of(store->items(filter));
    }
    static std::vector<ItemId> ids_of(const std::vector<Item>& items) {
        std::vector<ItemId> ids;
        for (const auto& item : items) ids.push_back(item.id);
        return ids;
    }
    std::optional<DeadLetter> dead_letter(ItemId id) {
        const auto letters = store->dead_letters({.items = {id}});
        if (letters.empty()) return std::nullopt;
        return letters[0];
    }

    ManualClock clock;
    Database database;
    std::unique_ptr<Store> store;
    std::atomic<Fence> last_fence{1000};
};

/// Tests of what two processes do to one database.
class SharedStoreTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        if (IsSkipped()) return;
        if (!database.shared)
            GTEST_SKIP() << GetParam().name << " has no second handle to one database";
        other = database.open();
    }

    std::unique_ptr<Store> other;
};

inline std::string name_of_store(const testing::TestParamInfo<StoreUnderTest>& info) {
    return info.param.name;
}

}  // namespace pawl::store::conformance
