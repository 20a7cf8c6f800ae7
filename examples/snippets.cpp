// What the documentation shows, as a program: each region between [name] and [/name] is printed
// there, and tests/house/snippets.py holds the two together.
#include <condition_variable>
#include <csignal>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
#include <thread>

#include "order.hpp"

void require(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "does not hold: " << what << '\n';
    std::exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

// Payments -----------------------------------------------------------------------------------

// [payment]
struct Payment {
    struct Charge { std::string card; int cents = 0; };
    using Effect = std::variant<Charge>;

    struct Start { std::string card; int cents = 0; };
    struct Settle { std::string receipt; };
    using Input = std::variant<Start, Settle, pawl::Failed<Charge>>;

    struct Started { int cents = 0; };
    struct Settled { std::string receipt; };
    struct GivenUp { std::string reason; };
    using Event = std::variant<Started, Settled, GivenUp>;

    using Decision = pawl::Decision<Payment>;

    enum class Status { fresh, charging, settled, given_up } status{};

    void evolve(const Started&) { status = Status::charging; }
    void evolve(const Settled&) { status = Status::settled; }
    void evolve(const GivenUp&) { status = Status::given_up; }

    Decision decide(const Start& in) const {
        if (status != Status::fresh) return pawl::reject("already started");
        return Decision{Started{in.cents}}.effect(Charge{in.card, in.cents});
    }
    Decision decide(const Settle& in) const { return Settled{in.receipt}; }
    Decision decide(const pawl::Failed<Charge>& in) const { return GivenUp{in.reason}; }

    bool finished() const { return status == Status::settled || status == Status::given_up; }
};
// [/payment]

struct Gateway {
    int calls = 0;
    bool down = false;
    std::map<std::string, std::string> receipts;  // by key: asked twice, it charges once

    bool knows(const std::string& card) const { return card != "stolen"; }
    std::string charge(const std::string&, int, const std::string& key) {
        ++calls;
        if (down) throw std::runtime_error{"the gateway does not answer"};
        return receipts.try_emplace(key, "r-" + std::to_string(receipts.size())).first->second;
    }
};

pawl::Workflow<Payment> add_payments(pawl::Engine& engine, Gateway& gateway) {
    // [handlers]
    auto payments = engine.add<Payment>("payment", pawl::Handlers{
        pawl::with({.attempts = 3, .base = 2s, .deadline = 30s},
                   [&](const Payment::Charge& e, const pawl::Delivery& d) -> Payment::Settle {
                       if (!gateway.knows(e.card)) throw pawl::Permanent{"no such card"};
                       return {gateway.charge(e.card, e.cents, d.key)};
                   })});
    // [/handlers]
    return payments;
}

void effects_are_retried_and_results_come_back() {
    pawl::testing::Fixture fixture;
    Gateway gateway;
    auto payments = add_payments(fixture.engine(), gateway);

    // [retried]
    gateway.down = true;
    payments.send("p-1", Payment::Start{"1234", 500});
    fixture.run_until_idle();  // the first attempt fails
    gateway.down = false;
    fixture.advance(2s);  // the second succeeds, and its result is applied
    REQUIRE(payments.state("p-1")->status == Payment::Status::settled);
    // [/retried]
    REQUIRE(gateway.calls == 2);
}

void dead_letters_are_seen_and_tried_again() {
    pawl::testing::Fixture fixture;
    Gateway gateway;
    auto& engine = fixture.engine();
    auto payments = add_payments(engine, gateway);

    // [permanent]
    payments.send("p-2", Payment::Start{"stolen", 500});
    fixture.run_until_idle();
    REQUIRE(payments.state("p-2")->status == Payment::Status::given_up);
    // [/permanent]

    // [dead_letters]
    for (const pawl::DeadLetter& dead : engine.dead_letters({.type = "payment"})) {
        std::cout << dead.work.name << " of " << dead.work.id << ": " << dead.reason << '\n';
        for (const pawl::FailedAttempt& failed : dead.history)
            std::cout << "  attempt " << failed.attempt << ": " << failed.error << '\n';
    }
    engine.retry_dead_letters({.type = "payment", .reason = "no such card"});
    engine.discard_dead_letters({.type = "payment", .limit = 1000});
    // [/dead_letters]
    REQUIRE(engine.count_dead_letters() == 0);
    REQUIRE(payments.pending("p-2").size() == 1);
    fixture.run_until_idle();  // given up is finished: what the handler says changes nothing
    REQUIRE(engine.count_dead_letters() == 1);
}

// Reminders ----------------------------------------------------------------------------------

// [reminder]
struct Reminder {
    struct Set { pawl::Time at{}; };
    struct Snooze {};
    struct Ring {};
    struct Drop {};
    using Input = std::variant<Set, Snooze, Ring, Drop>;

    struct WasSet { pawl::Time at{}; };
    struct Snoozed {};
    struct Rang {};
    struct Dropped {};
    using Event = std::variant<WasSet, Snoozed, Rang, Dropped>;

    using Decision = pawl::Decision<Reminder>;

    int rings = 0;

    void evolve(const WasSet&) {}
    void evolve(const Snoozed&) {}
    void evolve(const Rang&) { ++rings; }
    void evolve(const Dropped&) {}

    Decision decide(const Set& in, const pawl::Moment& moment) const {
        if (in.at <= moment.now()) return pawl::reject("that time has passed");
        return Decision{WasSet{in.at}}.at(in.at, Ring{}, "ring");
    }
    Decision decide(const Snooze&) const {  // replaces the timer that is pending
        return Decision{Snoozed{}}.after(10min, Ring{}, "ring");
    }
    Decision decide(const Ring&) const {  // a timer may set its own key again
        return Decision{Rang{}}.after(24h, Ring{}, "ring");
    }
    Decision decide(const Drop&) const { return Decision{Dropped{}}.cancel("ring"); }
};
// [/reminder]

void timers_are_replaced_and_cancelled() {
    // [clock]
    pawl::testing::Fixture fixture;
    auto reminders = fixture.engine().add<Reminder>("reminder");

    reminders.send("r-1", Reminder::Set{fixture.clock().now() + 1h});
    reminders.send("r-1", Reminder::Snooze{});
    fixture.advance(10min);
    REQUIRE(reminders.state("r-1")->rings == 1);
    fixture.advance(50min);  // the first timer was replaced: it does not ring at its hour
    REQUIRE(reminders.state("r-1")->rings == 1);
    fixture.advance(24h);
    REQUIRE(reminders.state("r-1")->rings == 2);
    reminders.send("r-1", Reminder::Drop{});
    fixture.advance(24h);
    REQUIRE(reminders.state("r-1")->rings == 2);
    // [/clock]
    REQUIRE(reminders.send("r-1", Reminder::Set{fixture.clock().now()}).rejected());
    REQUIRE(reminders.journal("r-1").back().name == "pawl.timer_cancelled");
}

// Testing ------------------------------------------------------------------------------------

void workflows_are_tested_without_a_store() {
    // [given]
    using pawl::testing::Given;

    Given<Order>{}
        .when(Order::Place{"book", 1})
        .then(Order::Placed{"book", 1})
        .effects(Order::Invoice{"book", 1})
        .timer("payment", Order::Expire{});

    Given<Order>{Order::Placed{"book", 1}}
        .when(Order::Pay{"r-1"})
        .then(Order::Paid{"r-1"})
        .effects(Order::Ship{"book"})
        .cancels("payment");

    Given<Order>{Order::Placed{"book", 1}, Order::Paid{"r-1"}}
        .when(Order::Place{"book", 1})
        .rejected("already placed");
    // [/given]
}

void engines_are_tested_with_a_clock_that_stands_still() {
    // [fixture]
    pawl::testing::Fixture fixture;
    std::vector<std::string> mailed;
    auto orders = fixture.engine().add<Order>("order", pawl::Handlers{
        [&](const Order::Invoice& e) { mailed.push_back(e.sku); },
        [&](const Order::Ship&) {}});

    orders.send("o-1", Order::Place{"book", 2});
    fixture.run_until_idle();  // the handler has run when this returns
    REQUIRE(mailed == std::vector<std::string>{"book"});

    fixture.advance(24h);  // no payment came
    REQUIRE(orders.state("o-1")->status == Order::Status::expired);
    REQUIRE(orders.send("o-1", Order::Pay{"r-1"}).finished());
    // [/fixture]
}

// Sending ------------------------------------------------------------------------------------

void outcomes_are_values_and_failures_throw() {
    pawl::Engine engine{"memory:"};
    auto orders = engine.add<Order>("order");
    // [outcomes]
    auto first = orders.send("o-1", Order::Place{"book", 1}, {.input_id = "request-17"});
    REQUIRE(first.accepted() && first.version() == 1);

    auto again = orders.send("o-1", Order::Place{"book", 1}, {.input_id = "request-17"});
    REQUIRE(again.accepted() && again.duplicate() && again.events() == 0);

    auto other = orders.send("o-1", Order::Place{"book", 1}, {.input_id = "request-18"});
    REQUIRE(other.rejected() && other.reason() == "already placed");
    // [/outcomes]

    // [errors]
    try {
        orders.send("o-2", Order::Place{"book", 1}, {.input_id = "request-19"});
    } catch (const pawl::Error& e) {
        std::cerr << pawl::name(e.code()) << ": " << e.what() << '\n';
        if (e.retryable()) { /* the same call, with the same input id, may succeed later */ }
    }
    // [/errors]

    // [untyped]
    pawl::OutcomeRecord record = engine.send("order", "o-3", R"({"type":"Place","sku":"book"})");
    REQUIRE(record.accepted());
    REQUIRE(engine.state("order", "o-3") == R"({"status":"placed","sku":"book"})");
    // [/untyped]

    // [async]
    std::vector<std::future<pawl::Outcome<Order>>> outcomes;
    for (int i = 0; i < 1000; ++i)
        outcomes.push_back(orders.send_async("a-" + std::to_string(i), Order::Place{"book", 1}));
    for (auto& outcome : outcomes) REQUIRE(outcome.get().accepted());
    // [/async]
}

// [account]
struct Account {
    struct Open { std::string email; };
    using Input = std::variant<Open>;
    struct Opened { std::string email; };
    using Event = std::variant<Opened>;

    struct Blocked { std::string domain; };
    using Rejection = std::variant<Blocked>;

    static std::string route(const Open& in) { return in.email; }       // which instance it goes to
    static std::string unique_key(const Open& in) { return in.email; }  // held until it is finished

    std::string email;

    void evolve(const Opened& e) { email = e.email; }
    pawl::Decision<Account> decide(const Open& in) const {
        if (in.email.ends_with("@example.net")) return pawl::reject(Blocked{"example.net"});
        return Opened{in.email};
    }
};
// [/account]

void accounts_are_unique() {
    pawl::Engine engine{"memory:"};
    auto accounts = engine.add<Account>("account");
    // [route]
    accounts.send(Account::Open{"ada@example.org"});  // to the instance "ada@example.org"

    auto outcome = accounts.send(Account::Open{"bob@example.net"});
    REQUIRE(outcome.rejected());
    REQUIRE(std::get<Account::Blocked>(outcome.rejection()).domain == "example.net");

    try {
        accounts.send("another", Account::Open{"ada@example.org"});
    } catch (const pawl::Error& e) {
        REQUIRE(e.code() == pawl::Code::unique_key_taken);
    }
    // [/route]
    REQUIRE(!accounts.state("another"));
}

// The wire -----------------------------------------------------------------------------------

namespace wire {

// [tag]
struct Paid {
    static constexpr auto tag = "order.paid.v1";  // the name in the journal, whatever C++ calls it
    std::string receipt;
    std::optional<std::string> voucher;  // added later: absent in old events
};
// [/tag]
struct Expired {};
using Event = std::variant<Paid, Expired>;

class Money {
public:
    explicit Money(int cents = 0) : cents_(cents) {}
    int cents() const { return cents_; }

private:
    int cents_;
};

}  // namespace wire

using wire::Money;

// [codec]
template <>
struct pawl::json::Codec<Money> {
    static void write(Writer& w, const Money& m) { w.integer(m.cents()); }
    static void read(Value v, Money& m) { m = Money{static_cast<int>(v.integer())}; }
};
// [/codec]

void values_travel_as_json() {
    using namespace wire;
    // [wire]
    REQUIRE(pawl::json::encode(Event{Paid{"r-1", std::nullopt}}) ==
            R"({"type":"order.paid.v1","receipt":"r-1","voucher":null})");
    auto old = pawl::json::decode<Event>(R"({"type":"order.paid.v1","receipt":"r-1"})");
    REQUIRE(!std::get<Paid>(old).voucher);
    // [/wire]
    REQUIRE(pawl::json::encode(Money{250}) == "250");
    REQUIRE(pawl::json::decode<Money>("250").cents() == 250);
}

// Embedding ----------------------------------------------------------------------------------

class ThreadOfOurs {
public:
    ~ThreadOfOurs() {
        {
            const std::lock_guard lock{mutex_};
            ending_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void post(pawl::Task task) {
        {
            const std::lock_guard lock{mutex_};
            tasks_.push_back(std::move(task));
        }
        changed_.notify_one();
    }

private:
    void run() {
        std::unique_lock lock{mutex_};
        while (true) {
            changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
            if (tasks_.empty()) return;
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<pawl::Task> tasks_;
    bool ending_ = false;
    std::thread thread_{[this] { run(); }};
};

void handlers_run_where_you_want() {
    std::promise<void> performed;
    // [executor]
    ThreadOfOurs pool;  // before the engine: it must outlive it, and run every task
    pawl::Engine engine{"memory:", {
        .executor = [&](pawl::Task task) { pool.post(std::move(task)); },
        .log = [](const pawl::LogRecord& record) {
            if (record.level >= pawl::LogLevel::warning) std::clog << record.text << '\n';
        }}};
    // [/executor]
    auto orders = engine.add<Order>("order", pawl::Handlers{
        [&](const Order::Invoice&) { performed.set_value(); }, [](const Order::Ship&) {}});
    engine.start();
    orders.send("o-1", Order::Place{"book", 1});
    performed.get_future().get();
    REQUIRE(engine.stop());
}

// Not run: it waits for a signal.
[[maybe_unused]] int serve() {
    // [serve]
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread of yours is started

    pawl::Engine engine{"sqlite:shop.db"};
    // ... add workflows ...
    engine.start();
    int which = 0;
    sigwait(&signals, &which);
    return engine.stop(20s) ? 0 : 1;
    // [/serve]
}

int main() {
    effects_are_retried_and_results_come_back();
    dead_letters_are_seen_and_tried_again();
    timers_are_replaced_and_cancelled();
    workflows_are_tested_without_a_store();
    engines_are_tested_with_a_clock_that_stands_still();
    outcomes_are_values_and_failures_throw();
    accounts_are_unique();
    values_travel_as_json();
    handlers_run_where_you_want();
    std::cout << "everything in the documentation holds\n";
}
