// What the pages about durable functions show, as a program: see snippets.cpp.
#include <iostream>
#include <map>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
using namespace std::chrono_literals;

void require(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "does not hold: " << what << '\n';
    std::exit(1);
}
#define REQUIRE(condition) require(condition, #condition)

// Steps --------------------------------------------------------------------------------------

struct Bank {
    std::string charge(const std::string& card, int cents, const std::string& key) {
        if (++calls == 1) throw std::runtime_error("no answer");
        if (card.empty()) throw pawl::Permanent("no such card");
        return receipts.try_emplace(key, "r-" + std::to_string(cents)).first->second;
    }
    std::map<std::string, std::string> receipts;
    int calls = 0;
} bank;
std::string voucher_for(int cents) { return "v-" + std::to_string(cents); }

struct Bill { std::string card; int cents = 0; };

// [step]
std::string pay(pawl::Context& ctx, const Bill& bill) {
    try {
        return ctx.step("charge", {.attempts = 5, .base = 2s, .deadline = 30s},
                        [&](const pawl::Attempt& attempt) {
                            return bank.charge(bill.card, bill.cents, attempt.key);
                        });
    } catch (const pawl::StepFailed& e) {  // out of attempts, or pawl::Permanent
        if (!e.permanent()) throw;         // the run fails
        return ctx.step("voucher", [&] { return voucher_for(bill.cents); });
    }
}
// [/step]

// [outside]
int report(pawl::Context& ctx) {
    std::cerr << "hello\n";                         // printed at every replay
    if (!ctx.replaying()) std::cerr << "begun\n";   // printed once, mostly
    auto started = ctx.now();                       // recorded, and so the same at every replay
    auto lucky = ctx.random() % 6;                  // so is this
    int rows = ctx.step("read", {.repeatable = true}, [] { return 6; });
    ctx.sleep(1h);                                  // everything above is run again after it
    return lucky < 6 && ctx.now() > started ? rows : 0;
}
// [/outside]

// [first]
std::string fastest(pawl::Context& ctx) {
    const auto look = [](const char* mirror) {
        return [mirror](const pawl::Attempt& attempt) -> std::string {
            for (int part = 0; part < 3 && !attempt.stop.stop_requested(); ++part) {
                // fetch one part
            }
            return mirror;
        };
    };
    auto first = ctx.any(ctx.later("north", look("north")), ctx.later("south", look("south")),
                         ctx.later_sleep(10s));
    if (first.index() == 2) throw std::runtime_error("no mirror answered in time");
    return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
}
// [/first]

void steps_are_recorded() {
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    auto payments = engine.add("pay", pay);
    auto reports = engine.add("report", report);
    auto mirrors = engine.add("fastest", fastest);
    auto good = payments.start("b-1", Bill{"4711", 250});
    auto bad = payments.start("b-2", Bill{"", 250});
    auto daily = reports.start("monday");
    auto race = mirrors.start("f-1");
    fixture.advance(2h);
    REQUIRE(good.result(0s) == "r-250");
    REQUIRE(bad.result(0s) == "v-250");
    REQUIRE(daily.result(0s) == 6);
    REQUIRE(race.result(0s) == "north");
    // [look]
    for (const auto& step : good.steps())
        std::cout << step.name << ": " << step.attempts << " attempts, "
                  << step.result.value_or(step.error) << '\n';
    // [/look]
}

// People -------------------------------------------------------------------------------------

// [approval]
struct Request { std::string what; int cents = 0; };
struct Answer { bool yes = false; std::string by; };

std::string approve(pawl::Context& ctx, const Request& request) {
    ctx.set("waits for", "manager");
    auto answer = ctx.wait<Answer>("answer", 48h);
    if (!answer) {
        ctx.set("waits for", "director");
        answer = ctx.wait<Answer>("answer", 48h);
    }
    ctx.set("waits for", "nobody");
    if (!answer) return request.what + ": nobody answered";
    return request.what + (answer->yes ? ": approved by " : ": refused by ") + answer->by;
}
// [/approval]

void people_are_waited_for() {
    // [people]
    pawl::testing::Fixture fixture;
    auto approvals = fixture.engine().add("approve", approve);
    auto run = approvals.start("r-1", Request{"a chair", 9900});
    fixture.advance(48h);
    REQUIRE(run.status() == pawl::RunStatus::waiting);  // no thread waits
    REQUIRE(run.value<std::string>("waits for") == "director");

    run.signal("answer", Answer{true, "eve"});  // from any process; durable when it returns
    fixture.run_until_idle();
    REQUIRE(run.result(0s) == "a chair: approved by eve");
    // [/people]

    // [early]
    auto early = approvals.start("r-2", Request{"a desk", 19900});
    early.signal("answer", Answer{false, "ada"});  // before the function waits: it is kept
    fixture.run_until_idle();
    REQUIRE(early.result(0s) == "a desk: refused by ada");
    // [/early]

    // [nobody]
    try {
        early.signal("answer", Answer{true, "bob"});
    } catch (const pawl::Error& e) {
        REQUIRE(e.code() == pawl::Code::unknown);  // there is no such run, or it has ended
    }
    // [/nobody]
}

// Code that changes --------------------------------------------------------------------------

void code_changes_while_runs_are_under_way() {
    std::string recorded;
    {
        pawl::testing::Fixture fixture;
        // [before]
        auto ship = [](pawl::Context& ctx) {
            ctx.step("pack", [] {});
            ctx.sleep(24h);
            ctx.step("send", [] {});
        };
        // [/before]
        auto ships = fixture.engine().add("ship", ship);
        ships.start("s-1");
        fixture.advance(24h);
        ships.start("s-2");
        fixture.run_until_idle();
        // [export]
        std::string journals;  // of production, kept with the code: one run or many
        for (const auto& run : ships.runs({.limit = 100}).runs)
            journals += ships.run(run.id).export_journal();
        // [/export]
        REQUIRE(pawl::testing::replay(ship, journals) == 2);
        recorded = journals;
    }
    // [broken]
    auto broken = [](pawl::Context& ctx) {
        ctx.step("pack", [] {});
        ctx.step("weigh", [] {});  // new, in the way of runs that have packed already
        ctx.sleep(24h);
        ctx.step("send", [] {});
    };
    try {
        pawl::testing::replay(broken, recorded);
        REQUIRE(false);  // not reached: the new step does not fit
    } catch (const pawl::testing::Mismatch& e) {
        std::cout << e.what() << '\n';
    }
    // [/broken]
    // [changed]
    auto changed = [](pawl::Context& ctx) {
        ctx.step("pack", [] {});
        if (ctx.version("weigh parcels", 1) >= 1) ctx.step("weigh", [] {});
        ctx.sleep(24h);
        ctx.step("send", [] {});
    };
    REQUIRE(pawl::testing::replay(changed, recorded) == 2);
    // [/changed]
    pawl::testing::Fixture fixture;
    auto& engine = fixture.engine();
    // [versions]
    auto ships = engine.add("ship", changed, {.version = 2, .oldest = 1});
    // [/versions]
    ships.start("s-3");
    fixture.advance(24h);
    REQUIRE(ships.run("s-3").steps().size() == 3);
}

// Testing ------------------------------------------------------------------------------------

struct Signup { std::string email; };
bool welcome(pawl::Context& ctx, const Signup& in) {
    ctx.step("mail", [&] { std::cout << "mail to " << in.email << '\n'; });
    ctx.sleep(72h);
    return ctx.wait<bool>("confirmed", 24h).has_value();
}

void functions_are_tested() {
    // [test]
    pawl::testing::Fixture fixture;
    auto welcomes = fixture.engine().add("welcome", welcome);
    auto run = welcomes.start("ada", Signup{"ada@example.org"});

    fixture.run_until_idle();  // up to the sleep
    REQUIRE(run.steps().size() == 1 && run.steps()[0].finished);
    REQUIRE(run.status() == pawl::RunStatus::waiting);

    fixture.advance(72h);  // it waits for the signal now
    run.signal("confirmed", true);
    fixture.run_until_idle();
    REQUIRE(run.result(0s) == true);
    // [/test]
}

// Your own threads ---------------------------------------------------------------------------

struct Import { std::string file; };
struct Rows { int count = 0; };
Rows fetch(const Import& import, const std::string&) { return {static_cast<int>(import.file.size())}; }
void store(const Rows&, const std::string&) {}

void steps_are_acquired() {
    pawl::Engine engine{"memory:"};
    // [guard]
    auto imports = engine.add_steps<Import, int>("import");  // nothing executes it but you

    auto run = imports.open("i-1", Import{"a.csv"});  // new, or taken over where it was left
    auto fetched = run.acquire<Rows>("fetch");
    if (!fetched.done()) fetched.succeed(fetch(run.input(), fetched.key()));

    auto stored = run.acquire("store");  // perhaps on another thread
    if (!stored.done()) {
        try {
            store(fetched.result(), stored.key());
            stored.succeed();
        } catch (const std::exception& e) {
            stored.fail(e.what());  // the next one to acquire it has attempt 2
        }
    }
    run.finish(fetched.result().count);
    // [/guard]
    REQUIRE(imports.run("i-1").result(0s) == 5);
    REQUIRE(imports.open("i-1").finished());
}

int main() {
    steps_are_recorded();
    people_are_waited_for();
    code_changes_while_runs_are_under_way();
    functions_are_tested();
    steps_are_acquired();
    std::cout << "everything in the documentation of functions holds\n";
}
