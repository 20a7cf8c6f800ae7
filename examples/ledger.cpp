// A bank on SQLite. A transfer changes its accounts and tells the bookkeeping of it in one
// transaction: there is never money that moved and was not told, nor the other way round.
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <pawl/pawl.hpp>
#include <set>
#include <unistd.h>

using namespace std::chrono_literals;

struct Account { std::string id; std::int64_t cents = 0; };
struct Transferred { std::string from; std::string to; std::int64_t cents = 0; };

// [transfer]
std::optional<pawl::Uuid> transfer(pawl::Engine& engine, const Transferred& t) {
    auto tx = engine.begin();
    tx.exec("UPDATE account SET cents = cents - $1 WHERE id = $2", t.cents, t.from);
    tx.exec("UPDATE account SET cents = cents + $1 WHERE id = $2", t.cents, t.to);
    auto message = tx.publish("ledger", t, {.key = t.from});
    auto left = tx.query<std::int64_t>("SELECT cents FROM account WHERE id = $1", t.from);
    if (left.at(0) < 0) return std::nullopt;  // not committed: no debit, no credit, no message
    tx.commit();
    return message;
}
// [/transfer]

// Somebody else's system, as far as we know it.
class Bookkeeping {
public:
    void post(const Transferred& t, const std::string& key) {
        const std::lock_guard lock{mutex_};
        if (!known_.contains(t.to)) throw std::runtime_error{t.to + " is not in the books"};
        if (!keys_.insert(key).second) return;  // told again: at least once is not exactly once
        lines_[t.from].push_back(std::to_string(t.cents) + " to " + t.to);
    }
    void open(const std::string& account) {
        const std::lock_guard lock{mutex_};
        known_.insert(account);
    }
    void print() {
        const std::lock_guard lock{mutex_};
        for (const auto& [account, lines] : lines_) {
            std::cout << "  " << account << " paid";
            for (const auto& line : lines) std::cout << (&line == &lines.front() ? " " : ", ") << line;
            std::cout << '\n';
        }
    }

private:
    std::mutex mutex_;
    std::set<std::string> known_{"ada", "bob", "eve"};
    std::set<std::string> keys_;
    std::map<std::string, std::vector<std::string>> lines_;
};

void found_bank(pawl::Engine& engine) {
    auto tx = engine.begin();
    tx.exec("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)");
    for (const char* id : {"ada", "bob", "eve", "new"})
        tx.exec("INSERT INTO account (id, cents) VALUES ($1, $2)", id, 100);
    tx.commit();
}

void run(const std::string& url) {
    Bookkeeping books;
    pawl::Engine engine{url};
    // [subscribe]
    engine.subscribe("ledger",
                     [&](const Transferred& t, const pawl::Delivery& d) { books.post(t, d.key); },
                     {.partitions = 4, .policy = {.attempts = 3, .base = 10ms}});
    engine.start();
    // [/subscribe]
    found_bank(engine);

    std::vector<pawl::Uuid> told;
    for (const auto& t : {Transferred{"ada", "bob", 30}, {"bob", "eve", 50}, {"ada", "bob", 1000},
                          {"ada", "new", 20}, {"ada", "eve", 10}}) {
        auto message = transfer(engine, t);
        if (message) told.push_back(*message);
        std::cout << t.from << " pays " << t.to << ' ' << t.cents
                  << (message ? "" : ": no cover, and nothing has happened") << '\n';
    }
    // [wait]
    if (!engine.wait_for(told, 30s)) std::cout << "the bookkeeping does not keep up\n";
    // [/wait]

    std::cout << "in the bank:\n";
    auto tx = engine.begin();
    for (const auto& account : tx.query<Account>("SELECT id, cents FROM account ORDER BY id"))
        std::cout << "  " << account.id << " has " << account.cents << '\n';
    tx.commit();
    std::cout << "in the books:\n";
    books.print();

    // [dead]
    for (const pawl::DeadMessage& dead : engine.dead_messages({.channel = "ledger"}))
        std::cout << "not told, after " << dead.attempts << " attempts: " << dead.payload << ", "
                  << dead.reason << '\n';
    // [/dead]

    books.open("new");
    // [resolve]
    for (const auto& dead : engine.replay_dead_messages({.channel = "ledger"}, 1min)) {
        books.post(pawl::json::decode<Transferred>(dead.payload), dead.message.text());
        engine.resolve_dead_messages({dead.number});
    }
    // [/resolve]
    std::cout << "told by hand, left to do: "
              << engine.count_dead_messages({.status = pawl::DeadMessageStatus::pending}) << '\n';
    books.print();
}

int main() {
    const auto directory = std::filesystem::temp_directory_path() /
                           ("pawl-ledger-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    run("sqlite:" + (directory / "bank.db").string());
    std::filesystem::remove_all(directory);
}
