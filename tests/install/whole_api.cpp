// A user's program in a project that is strict about warnings: of every public struct some fields
// by name, and of every template what it makes of many types. It is compiled and never run.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <pawl/migrate.hpp>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

enum class Colour : std::uint8_t { red, green };

struct Small {
    std::string text{};
    int number = 0;
};

struct Money {
    std::int64_t cents = 0;
    std::string currency = "EUR";
};

template <>
struct pawl::json::Codec<Money> {
    static void write(Writer& w, const Money& m) { w.text(std::to_string(m.cents) + m.currency); }
    static void read(Value v, Money& m) { m.currency = v.text(); }
};

struct Everything {
    bool yes = false;
    std::int8_t i8 = 0;
    std::uint8_t u8 = 0;
    std::int16_t i16 = 0;
    std::uint16_t u16 = 0;
    std::uint32_t u32 = 0;
    std::int64_t i64 = 0;
    std::uint64_t u64 = 0;
    float single = 0;
    double real = 0;
    std::string text;
    Colour colour{};
    std::optional<Small> maybe;
    std::unique_ptr<Small> pointer;
    std::vector<std::byte> bytes;
    std::array<std::byte, 4> four{};
    std::vector<Small> list;
    std::set<std::int16_t> set;
    std::array<double, 2> pair{};
    std::tuple<int, std::string> tuple;
    std::map<std::uint64_t, std::string> by_number;
    std::map<std::int8_t, int> by_small;
    std::unordered_map<std::string, Small> by_name;
    std::map<Colour, float> by_colour;
    std::variant<std::monostate, Small> either;
    std::chrono::milliseconds length{};
    pawl::Time at{};
    pawl::Uuid id;
    pawl::json::Raw raw{"null"};
    Money money;
};

std::string travels() {
    const auto everything = pawl::json::decode<Everything>("{}", pawl::json::Strictness::exact);
    return pawl::json::encode(everything) + pawl::json::encode(std::vector<Everything>{});
}

// A workflow with all that one can have.

struct Ticket {
    struct Open {
        std::string owner;
        int seats = 1;
    };
    struct Close {};
    struct Mailed {
        std::string receipt;
    };
    struct Mail {
        std::string to;
        int copies = 1;
    };
    using Effect = std::variant<Mail>;
    using Input = std::variant<Open, Close, Mailed, pawl::Failed<Mail>>;
    struct Opened {
        std::string owner;
        int seats = 1;
    };
    struct Closed {};
    using Event = std::variant<Opened, Closed>;
    struct Rejection {
        std::string why;
        int code = 0;
    };
    using Decision = pawl::Decision<Ticket>;

    static constexpr int version = 2;
    static std::string unique_key(const Open& in) { return in.owner; }
    static std::string route(const Open& in) { return in.owner; }

    std::string owner;
    bool closed = false;

    void evolve(const Opened& e) { owner = e.owner; }
    void evolve(const Closed&) { closed = true; }

    Decision decide(const Open& in, const pawl::Moment& now) const {
        if (closed) return pawl::reject(Rejection{.why = "closed", .code = 1});
        return Decision{Opened{.owner = in.owner, .seats = in.seats}}
            .effect(Mail{.to = in.owner, .copies = 1})
            .after(24h, Close{}, "close")
            .at(now.now() + 1h, Close{})
            .publish("opened", Small{.text = in.owner}, {.key = in.owner})
            .listen("tag")
            .unlisten("tag");
    }
    Decision decide(const Close&) const { return Decision{Closed{}}.cancel("close"); }
    Decision decide(const Mailed&) const { return Closed{}; }
    Decision decide(const pawl::Failed<Mail>& in) const {
        return Opened{.owner = in.reason, .seats = in.attempts};
    }
    bool finished() const { return closed; }
};

pawl::Workflow<Ticket> add_workflow(pawl::Engine& engine) {
    const std::string from = "me";
    return engine.add<Ticket>(
        "ticket",
        pawl::Handlers{pawl::with({.attempts = 3},
                                  [from](const Ticket::Mail& e, const pawl::Delivery& delivery) {
                                      return std::optional{
                                          Ticket::Mailed{.receipt = from + e.to + delivery.key}};
                                  })},
        {.timers = {.attempts = 2}, .snapshot_every = 10});
}

void use_workflow(pawl::Engine& engine) {
    const auto tickets = add_workflow(engine);
    const auto outcome = tickets.send("t", Ticket::Open{.owner = "ada"}, {.input_id = "i-1"});
    if (outcome.rejected() && outcome.rejection().code == 1) return;
    tickets.send(Ticket::Open{.owner = "ada"}, {.tenant = "a"});
    tickets.send_async("t", Ticket::Close{}, {.timeout = 1s}).get();
    tickets.state("t");
    for (const auto& entry : tickets.journal("t")) (void)entry.name;
    tickets.pending("t");
    tickets.instances({.id_prefix = "t", .limit = 10});
    engine.send("ticket", "t", R"({"type": "Close"})", {.correlation = "c", .lenient = true});
    engine.instances({.finished = true});
    engine.pending({.kind = pawl::WorkKind::effect});
    engine.endings({.type = "ticket", .limit = 5});
    engine.dead_letters({.type = "ticket", .reason = "no"});
    engine.retry_dead_letters({.items = {1, 2}});
    engine.discard_dead_letters({.died_before = engine.now()});
}

// Functions.

std::string book(pawl::Context& ctx, const Small& in) {
    const auto quota = ctx.step("quota", {.attempts = 5, .heartbeat = 10s},
                                [&](const pawl::Attempt& attempt) { return attempt.number; });
    ctx.step("nothing", [] {});
    ctx.compensate("undo", [id = in.text] { (void)id; });
    const auto [a, b] = ctx.all(ctx.later("a", [] { return 1; }),
                                ctx.later("b", {.repeatable = true}, [] { return Small{}; }));
    std::vector<pawl::Later<std::int64_t>> many;
    for (int i = 0; i < 3; ++i)
        many.push_back(ctx.later("c", [i] { return static_cast<std::int64_t>(i); }));
    const auto sums = ctx.all(std::move(many), {.at_once = 2});
    const auto first = ctx.any(ctx.later_wait<Small>("signal"), ctx.later_sleep(1h));
    ctx.sleep(1min);
    ctx.sleep_until(ctx.now() + 1h);
    const auto answer = ctx.wait<Small>("answer", 24h);
    ctx.set("progress", 0.5);
    const auto rows = ctx.transaction(
        "rows", [](pawl::Transaction& tx) { return tx.query<std::int64_t>("SELECT 1").size(); });
    return a + b.number + quota > static_cast<int>(first.index() + sums.size() + rows) && answer
               ? answer->text
               : ctx.id();
}

void parent(pawl::Context& ctx, const pawl::Function<Small, std::string>& child) {
    ctx.call(child, "c-1", {.text = "child"});
    ctx.all(ctx.later_call(child, "c-2", {.text = "child"}));
    ctx.spawn(child, "c-3", {.number = 3});
}

void use_functions(pawl::Engine& engine) {
    const auto booking = engine.add("book", book, {.version = 2, .oldest = 1});
    engine.add("parent", [booking](pawl::Context& ctx) { parent(ctx, booking); }, {.at_once = 4});
    auto run = booking.start("b-1", Small{.text = "a", .number = 1}, {.tenant = "t"});
    run.signal("answer", Small{.text = "yes"});
    if (const auto result = run.result(1s)) booking.start_and_wait("b-2", {}, {.trace = *result});
    run.value<double>("progress", 1s);
    for (const auto& step : run.steps()) (void)step.result;
    booking.runs({.statuses = {pawl::RunStatus::failed}, .limit = 10});
    pawl::testing::replay(book, run.export_journal());

    pawl::Dag<Small> dag;
    const auto left = dag.task("left", [](const Small& in) { return in.number; });
    const auto right = dag.task("right", {.attempts = 2}, [](const pawl::Attempt&) {});
    dag.task("begin", [] { return Small{}; }) >> pawl::all(left, right);
    engine.add("dag", dag, {.journal_limit = 100});

    const auto steps = engine.add_steps<Small, std::string>("steps");
    const auto open = steps.open("s-1", {.text = "in"}, {.conversation = "c"});
    if (auto guard = open.acquire<int>("one"); !guard.done()) guard.succeed(1);
    if (auto guard = open.acquire("two"); !guard.done()) guard.fail("no");
    open.finish(open.input().text);
}

// Messages and transactions.

struct Row {
    std::int64_t id = 0;
    std::uint16_t small = 0;
    std::optional<double> real;
    std::string text;
    std::vector<std::byte> bytes;
    pawl::Time at{};
    pawl::Uuid uuid;
};

void use_messages(pawl::Engine& engine) {
    const auto tickets = add_workflow(engine);
    const auto booking = engine.add("book", book);
    engine.subscribe("one", [](const Small&, const pawl::Received& received) {
        return void(received.sequence);
    });
    engine.subscribe("two",
                     [](pawl::Batch<Small>& batch) {
                         while (batch.next()) {
                         }
                     },
                     {.partitions = 4, .policy = {.attempts = 2}});
    engine.subscribe("three",
                     [](pawl::Transaction& tx, const Small& in) {
                         tx.exec("INSERT INTO t VALUES ($1, $2)", in.text, in.number);
                     },
                     {.batch = 10, .poison = pawl::Poison::stop});
    engine.subscribe("four", [](const Everything&) {}, pawl::high_throughput());

    auto tx = engine.begin();
    tx.exec("INSERT INTO t VALUES ($1, $2, $3, $4)", std::optional<int>{}, std::uint8_t{1}, 1.5F,
            std::chrono::sys_days{});
    for (const auto& row : tx.query<Row>("SELECT * FROM t WHERE a = $1", true)) (void)row.id;
    tx.query<std::optional<std::int8_t>>("SELECT a FROM t");
    const auto id = tx.publish("one", Small{.text = "a"}, {.partition = 1, .type = "Small"});
    tx.send(tickets, "t", Ticket::Close{}, {.input_id = "i-2"});
    tx.route(tickets, "tag", Ticket::Close{}, {.conversation = "c"});
    tx.start(booking, "b-3", Small{.number = 3});
    tx.commit();
    auto joined = engine.join(static_cast<sqlite3*>(nullptr));
    joined.publish("one", Small{.text = "e"}, {.schema = "s"});
    joined.wake()();
    engine.once("billing", "m-1", [](pawl::Transaction&) {});

    engine.publish("one", Small{.text = "b"}, {.key = "k", .once = "o", .tenant = "t"});
    engine.publish_all("one", std::vector<Small>{{.text = "c"}},
                       [](const Small& in) { return pawl::PublishOptions{.key = in.text}; });
    engine.publish_sql("one", Small{.text = "d"}, {.recipient = "r"}, pawl::Marks::dollar);
    engine.wait_for({id}, 1s);
    const auto before = engine.statistics("one");
    pawl::rates(before, engine.statistics("one"));
    engine.dead_messages({.channel = "one", .died_from = engine.now()});
    engine.redeliver_dead_messages({.status = pawl::DeadMessageStatus::pending});
    engine.replay_dead_messages({.messages = {1}}, 1min);
}

// What is held rather than given: tests of users make these.

auto held() {
    return std::tuple{
        pawl::Delivery{.key = "k"},
        pawl::Attempt{.key = "k"},
        pawl::Instance{.type = "t"},
        pawl::InstanceList{.next = "n"},
        pawl::JournalEntry{.name = "n"},
        pawl::PendingWork{.type = "t"},
        pawl::Backlog{.type = "t"},
        pawl::FailedAttempt{.attempt = 1},
        pawl::DeadLetter{.reason = "r"},
        pawl::Ending{.type = "t"},
        pawl::RunSummary{.type = "t"},
        pawl::RunList{.next = "n"},
        pawl::StepSummary{.name = "n"},
        pawl::PartitionDepth{.partition = 1},
        pawl::ChannelStatistics{.published = 1},
        pawl::ChannelRates{.published = 1},
        pawl::DeadMessage{.number = 1},
        pawl::SqlText{.sql = "s"},
        pawl::OutcomeRecord{.version = 1},
        pawl::Failed<Ticket::Mail>{.reason = "r"},
        pawl::Decision<Ticket>::Timer{.key = "k"},
        pawl::idempotency_key({.process = "p", .recipient = "r"}),
    };
}

void use_testing() {
    pawl::testing::Given<Ticket>{Ticket::Opened{.owner = "a"}}
        .when(Ticket::Close{})
        .then(Ticket::Closed{})
        .effects()
        .cancels("close");
    pawl::testing::Given<Ticket>{Ticket::Closed{}}
        .when(Ticket::Open{.owner = "a"})
        .rejected(Ticket::Rejection{.why = "closed", .code = 1});
    pawl::testing::Fixture fixture{{.workers = 2, .test = {.seed = 1}}};
    use_workflow(fixture.engine());
    fixture.advance(24h);
}

int main() {
    pawl::migrate("sqlite:a.db", {.prefix = "a_"});
    pawl::Engine engine{"sqlite:a.db", {.workers = 2, .finished_retention = 24h}};
    use_workflow(engine);
    use_functions(engine);
    use_messages(engine);
    use_testing();
    (void)held();
    return travels().empty() ? 1 : 0;
}
