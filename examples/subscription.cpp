// A trial that turns into a subscription which renews itself: one keyed timer that is armed,
// replaced and cancelled.
#include <iostream>
#include <pawl/testing.hpp>

using namespace std::chrono_literals;
constexpr auto day = 24h;

struct Subscription {
    struct Try {};
    struct Upgrade { std::string card; };
    struct Cancel {};
    struct Due {};  // sent by the timer "due"
    using Input = std::variant<Try, Upgrade, Cancel, Due>;

    struct TrialBegan {};
    struct TrialEnded {};
    struct Upgraded { std::string card; };
    struct Renewed { int month = 0; };
    struct Cancelled {};
    using Event = std::variant<TrialBegan, TrialEnded, Upgraded, Renewed, Cancelled>;

    using Decision = pawl::Decision<Subscription>;

    enum class Status { fresh, trial, active, over } status{};
    int months = 0;

    void evolve(const TrialBegan&) { status = Status::trial; }
    void evolve(const TrialEnded&) { status = Status::over; }
    void evolve(const Upgraded&) { status = Status::active; }
    void evolve(const Renewed& e) { months = e.month; }
    void evolve(const Cancelled&) { status = Status::over; }

    Decision decide(const Try&) const {
        if (status != Status::fresh) return pawl::reject("one trial each");
        return Decision{TrialBegan{}}.after(14 * day, Due{}, "due");
    }
    Decision decide(const Upgrade& in) const {
        if (status != Status::trial) return pawl::reject("not in a trial");
        return Decision{Upgraded{in.card}}.after(30 * day, Due{}, "due");  // instead of the trial's end
    }
    Decision decide(const Due&) const {
        if (status == Status::trial) return TrialEnded{};
        return Decision{Renewed{months + 1}}.after(30 * day, Due{}, "due");  // the timer arms itself again
    }
    Decision decide(const Cancel&) const { return Decision{Cancelled{}}.cancel("due"); }

    bool finished() const { return status == Status::over; }
};

int main() {
    pawl::testing::Fixture fixture;  // an engine in memory whose clock we move: this takes no year
    auto subscriptions = fixture.engine().add<Subscription>("subscription");
    const auto pass = [&](int days) {
        for (int i = 0; i < days; ++i) fixture.advance(day);
    };

    subscriptions.send("ada", Subscription::Try{});
    subscriptions.send("bob", Subscription::Try{});
    pass(10);
    subscriptions.send("ada", Subscription::Upgrade{"visa"});
    pass(70);
    subscriptions.send("ada", Subscription::Cancel{});
    pass(365);

    for (const char* id : {"ada", "bob"}) {
        const auto journal = subscriptions.journal(id);
        std::cout << id << '\n';
        for (const auto& entry : journal)
            std::cout << "  day " << (entry.at - journal.front().at) / day << ": " << entry.name << '\n';
        std::cout << "  timers left: " << subscriptions.pending(id).size() << '\n';
    }
}
