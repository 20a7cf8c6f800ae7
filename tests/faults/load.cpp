#include "faults/load.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <map>
#include <pawl/json.hpp>

#include "crash/workflows.hpp"

namespace pawl::faults {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;
using crash::Account;

void pass(std::chrono::milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

Load::Load(crash::Scene& scene) : scene_(scene) {
    // The first makes the tables, before the others look.
    crew_.push_back(scene_.hire({.role = "work"}));
    crew_.push_back(scene_.hire({.role = "send"}));
    crew_.push_back(scene_.hire({.role = "work"}));
}

bool Load::goes_on() {
    constexpr std::size_t some = 50;
    const auto& ledger = scene_.ledger();
    const auto answered = ledger.answered().size() + some;
    const auto performed = ledger.performed().size() + some;
    const auto further = [&] {
        pass(100ms);  // the ledger is read as a whole
        return ledger.answered().size() >= answered && ledger.performed().size() >= performed;
    };
    const bool went_on = crash::await(further, 60s);
    for (auto& process : crew_) EXPECT_TRUE(process.is_running()) << "a process gave up";
    return went_on;
}

void Load::settle_and_check() {
    crew_.clear();
    scene_.settle();
    scene_.check();
}

// In tables of its own, so that the scene's story is not its.
Caller::Caller(const std::string& url, Duration timeout)
    : timeout_(timeout), engine_(url, {.prefix = "tally_"}) {
    engine_.add<Account>("tally");
    thread_ = std::thread{[this] { run(); }};
}

Caller::~Caller() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
}

void Caller::run() {
    static std::atomic<int> callers{0};  // a test may have several, one after the other
    const int caller = ++callers;
    for (int i = 0; !stopping_; ++i) {
        const auto tag = fmt::format("call-{}-{}", caller, i);
        Call call;
        const auto begun = Steady::now();
        try {
            engine_.send("tally", "t", json::encode(Account::Input{Account::Note{tag, ""}}),
                         {.timeout = timeout_});
        } catch (const Error& e) {
            call.code = e.code();
            call.message = e.what();
        }
        call.took = Steady::now() - begun;
        const std::lock_guard lock{mutex_};
        (call.code ? failed_ : accepted_).push_back(tag);
        calls_.push_back(std::move(call));
    }
}

bool Caller::gets_through(std::chrono::milliseconds deadline) {
    const auto accepted = [&] {
        const std::lock_guard lock{mutex_};
        return accepted_.size();
    };
    const auto before = accepted();
    return crash::await([&] { return accepted() > before + 1; }, deadline);
}

std::vector<Caller::Call> Caller::failures() const {
    const std::lock_guard lock{mutex_};
    std::vector<Call> failures;
    for (const auto& call : calls_)
        if (call.code) failures.push_back(call);
    return failures;
}

std::chrono::milliseconds Caller::longest() const {
    std::chrono::milliseconds longest{};
    for (const auto& call : failures())
        longest = std::max(longest, std::chrono::ceil<std::chrono::milliseconds>(call.took));
    return longest;
}

void Caller::check() {
    stopping_ = true;
    thread_.join();
    std::map<std::string, int> times;
    for (std::int64_t after = 0;;) {
        const auto page = engine_.journal("tally", "t", after, 1000);
        if (page.empty()) break;
        for (const auto& entry : page) {
            ++times[std::get<Account::Noted>(json::decode<Account::Event>(entry.payload)).tag];
            after = entry.sequence;
        }
    }
    for (const auto& tag : accepted_) EXPECT_EQ(times[tag], 1) << tag << " was accepted";
    for (const auto& tag : failed_) EXPECT_LE(times[tag], 1) << tag << " was not";
    for (const auto& call : failures())
        EXPECT_TRUE(Error(*call.code, "").retryable() || *call.code == Code::in_doubt)
            << name(*call.code) << ": " << call.message;
}

}  // namespace pawl::faults
