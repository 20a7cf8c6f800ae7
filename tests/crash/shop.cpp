#include "crash/shop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <pawl/json.hpp>
#include <stdexcept>

#include "crash/workflows.hpp"

namespace pawl::crash {
namespace {

constexpr int accounts = 8;
constexpr Duration send_timeout = std::chrono::seconds{10};

Options with_lease(const ShopOptions& shop) {
    Options options = shop.engine;
    options.lease = lease;
    options.losses = shop.losses;
    options.workers = 3;
    options.claims = 32;
    return options;
}

const Policy patient{.attempts = endless,
                     .base = std::chrono::milliseconds{5},
                     .cap = std::chrono::milliseconds{50}};

}  // namespace

Shop::Shop(ShopOptions options, const Ledger& ledger)
    : options_(std::move(options)), ledger_(ledger), engine_(options_.url, with_lease(options_)) {
    add_workflows();
}

void Shop::add_workflows() {
    const WorkflowOptions how{.timers = patient, .effects = patient, .snapshot_every = 20};
    if (!options_.handlers) {
        engine_.add<Account>("account", how);
        engine_.add<Purchase>("purchase", how);
        engine_.add<Errand>("errand", how);
        return;
    }
    engine_.add<Account>("account", Handlers{[this](const Account::Notify& e, const Delivery& d) {
                             perform(d, e.tag);
                             return Account::Note{e.tag, d.key};
                         }},
                         how);
    engine_.add<Purchase>("purchase",
                          Handlers{[this](const Purchase::Collect& e, const Delivery& d) {
                                       perform(d, "collect " + e.tag);
                                       return Purchase::Charge{d.key};
                                   },
                                   [this](const Purchase::Remind& e, const Delivery& d) {
                                       perform(d, "remind " + e.tag);
                                   }},
                          how);
    // One attempt: a claim that ended with its process is none that failed.
    engine_.add<Errand>(
        "errand", Handlers{with({.attempts = 1}, [this](const Errand::Walk& e, const Delivery& d) {
            ledger_.note(Performed{d.key, d.attempt, d.type, d.id, e.deadly ? "deadly" : "walk"});
            if (e.deadly) ::raise(SIGKILL);
            return Errand::Arrive{};
        })});
}

void Shop::perform(const Delivery& delivery, const std::string& what) {
    ledger_.note(Performed{delivery.key, delivery.attempt, delivery.type, delivery.id, what});
    ::poll(nullptr, 0, 2);  // work, so that kills come in the middle of it
    static thread_local std::minstd_rand random{options_.seed};
    if (options_.failures && random() % 10 == 0) throw std::runtime_error{"by chance"};
}

OutcomeRecord Shop::send(const Sent& sent) {
    for (;;) {
        try {
            const auto outcome = engine_.send(sent.type, sent.id, sent.input,
                                              {.input_id = sent.input_id, .timeout = send_timeout});
            ledger_.note(Answered{sent.input_id, outcome.accepted(), outcome.duplicate,
                                  outcome.finished() ? "finished" : outcome.reason});
            return outcome;
        } catch (const Error& e) {
            if (e.retryable()) continue;
            ledger_.note_wrong(fmt::format("input {}: {}", sent.input_id, e.what()));
            throw;
        }
    }
}

Sent Customer::next() {
    Sent sent;
    sent.input_id = fmt::format("{}-{}", name_, ++count_);
    const std::int64_t delay = 10 + pick(300);
    if (chance(50)) {
        sent.type = "account";
        sent.id = fmt::format("a-{}", pick(accounts));
        sent.input =
            json::encode(Account::Input{Account::Add{1 + pick(1000), sent.input_id, delay}});
    } else {
        sent.type = "purchase";
        sent.id = "p-" + sent.input_id;
        sent.input =
            json::encode(Purchase::Input{Purchase::Place{sent.input_id, chance(50), delay}});
    }
    return sent;
}

}  // namespace pawl::crash
