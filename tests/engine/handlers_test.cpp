// Every form of handler, and what a handler is told.
#include <functional>
#include <set>

#include "engine/fixture.hpp"
#include "engine/workflows.hpp"

namespace pawl::engine_test {
namespace {

using Carry = Courier::Carry;

class HandlersOf : public EngineTest {
protected:
    /// What comes back to the instance when `handler` performs its effect.
    template <class H>
    std::vector<std::string> received_from(H handler) {
        auto engine = open();
        auto couriers = engine->add<Courier>("courier", Handlers{std::move(handler)});
        const std::string id = "c-" + std::to_string(++instances);
        couriers.send(id, Courier::Send{"ada"});
        engine->run_until_idle();
        EXPECT_THAT(couriers.pending(id), IsEmpty());
        EXPECT_EQ(engine->count_dead_letters(), 0);
        return couriers.state(id)->received;
    }
    int instances = 0;
};
INSTANTIATE_TEST_SUITE_P(Stores, HandlersOf, every_store(), name_of);

std::string last_carried;
void carry_by_function(const Carry& e) { last_carried = e.to; }
Courier::Input carry_noexcept(Carry e) noexcept { return Courier::Arrived{e.to + " noexcept"}; }

struct Van {
    Courier::Arrived operator()(const Carry& e, const Delivery& d) const {
        return {e.to + " by van at attempt " + std::to_string(d.attempt)};
    }
};
struct CountingVan {
    int trips = 0;
    Courier::Arrived operator()(const Carry&) { return {"trip " + std::to_string(++trips)}; }
};

TEST_P(HandlersOf, LambdasReturnNothingAnInputAnAlternativeOrAnOptional) {
    EXPECT_THAT(received_from([](const Carry&) {}), IsEmpty());
    EXPECT_THAT(
        received_from([](const Carry& e) -> Courier::Input { return Courier::Arrived{e.to}; }),
        ElementsAre("ada"));
    EXPECT_THAT(received_from([](const Carry& e) { return Courier::Arrived{e.to}; }),
                ElementsAre("ada"));
    EXPECT_THAT(received_from([](const Carry&) -> std::optional<Courier::Input> {
                    return Courier::Arrived{"yes"};
                }),
                ElementsAre("yes"));
    EXPECT_THAT(received_from([](const Carry&) -> std::optional<Courier::Arrived> {
                    return Courier::Arrived{"also"};
                }),
                ElementsAre("also"));
    EXPECT_THAT(received_from([](const Carry&) -> std::optional<Courier::Input> { return {}; }),
                IsEmpty());
}

TEST_P(HandlersOf, TakeTheEffectByValueOrReferenceWithOrWithoutDelivery) {
    EXPECT_THAT(received_from([](Carry e) { return Courier::Arrived{std::move(e.to)}; }),
                ElementsAre("ada"));
    EXPECT_THAT(received_from([](Carry&& e) { return Courier::Arrived{std::move(e.to)}; }),
                ElementsAre("ada"));
    EXPECT_THAT(received_from([](Carry e, Delivery d) { return Courier::Arrived{e.to + d.type}; }),
                ElementsAre("adacourier"));
    EXPECT_THAT(received_from([](const auto& e) { return Courier::Arrived{e.to}; }),
                ElementsAre("ada"));
    EXPECT_THAT(received_from([](const Courier::Effect& e) {
                    return Courier::Arrived{std::get<Carry>(e).to + " of any"};
                }),
                ElementsAre("ada of any"));
}

TEST_P(HandlersOf, AreFunctionsFunctorsMutableMoveOnlyAndNoexcept) {
    EXPECT_THAT(received_from(carry_by_function), IsEmpty());
    EXPECT_EQ(last_carried, "ada");
    EXPECT_THAT(received_from(&carry_noexcept), ElementsAre("ada noexcept"));
    EXPECT_THAT(received_from(Van{}), ElementsAre("ada by van at attempt 1"));
    EXPECT_THAT(received_from(CountingVan{}), ElementsAre("trip 1"));
    EXPECT_THAT(received_from([owned = std::make_unique<std::string>("owned")](const Carry&) {
                    return Courier::Arrived{*owned};
                }),
                ElementsAre("owned"));
    EXPECT_THAT(received_from([n = 0](const Carry&) mutable noexcept {
                    return Courier::Arrived{std::to_string(++n)};
                }),
                ElementsAre("1"));
    EXPECT_THAT(received_from(std::function<Courier::Input(const Carry&)>(
                    [](const Carry&) { return Courier::Arrived{"std"}; })),
                ElementsAre("std"));
    EXPECT_THAT(received_from(with({.attempts = 1}, Van{})),
                ElementsAre("ada by van at attempt 1"));
}

TEST_P(HandlersOf, AreToldOfTheDelivery) {
    auto engine = open();
    std::vector<Delivery> seen;
    auto couriers =
        engine->add<Courier>("courier", Handlers{with({.base = 1s, .jitter = 0, .deadline = 2min},
                                                      [&](const Carry&, const Delivery& d) {
                                                          seen.push_back(d);
                                                          if (d.attempt == 1)
                                                              throw std::runtime_error{"once"};
                                                      })});
    const auto sent_at = clock.now();
    couriers.send("c", Courier::Send{"ada", 2});
    const auto pending = couriers.pending("c");
    advance(*engine, 5s);
    advance(*engine, 5s);
    ASSERT_EQ(seen.size(), 4u);
    std::set<std::string> keys;
    for (const auto& d : seen) {
        keys.insert(d.key);
        EXPECT_EQ(d.type, "courier");
        EXPECT_EQ(d.id, "c");
        EXPECT_EQ(d.created_at, sent_at);
        EXPECT_EQ(d.is_retry(), d.attempt == 2);
        EXPECT_FALSE(d.stop.stop_requested());
    }
    EXPECT_EQ(seen[0].deadline, sent_at + 5s + 2min);
    EXPECT_EQ(keys, (std::set{pending[0].key, pending[1].key}));
    EXPECT_EQ(keys.size(), 2u);
}

TEST_P(HandlersOf, GetKeysThatTellEveryEffectApart) {
    auto engine = open();
    std::vector<std::string> keys;
    const auto note = [&](const Carry&, const Delivery& d) { keys.push_back(d.key); };
    // Names that run into each other when they are merely joined.
    auto outer = engine->add<Courier>("a", Handlers{note});
    auto inner = engine->add<Courier>("a/b", Handlers{note});
    outer.send("b/c", Courier::Send{"ada", 3});
    inner.send("c", Courier::Send{"ada", 3});
    outer.send("b/c", Courier::Send{"ada", 1});
    outer.send("b", Courier::Send{"ada", 1});
    engine->run_until_idle();
    EXPECT_EQ(keys.size(), 8u);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 8u);
}

TEST_P(HandlersOf, AreNotNeededToSendAndFireTimers) {
    auto engine = open();
    auto couriers = engine->add<Courier>("courier");
    couriers.send("c", Courier::Send{"ada"});
    advance(*engine, 1h);
    const auto pending = couriers.pending("c");
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_EQ(pending[0].attempts, 0);
}

}  // namespace
}  // namespace pawl::engine_test
