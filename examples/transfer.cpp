// A durable function that works on a table of its own, in the store's database. What a transaction
// does to the table and the record of the step are one commit: money moves exactly once.
#include <cstdio>
#include <filesystem>
#include <pawl/pawl.hpp>
#include <unistd.h>

struct Transfer { std::string from; std::string to; std::int64_t cents = 0; };
struct Account { std::string id; std::int64_t cents = 0; };

// [transfer]
std::int64_t transfer(pawl::Context& ctx, const Transfer& t) {
    auto left = ctx.transaction("debit", [&](pawl::Transaction& tx) {
        tx.exec("UPDATE account SET cents = cents - $1 WHERE id = $2", t.cents, t.from);
        auto rows = tx.query<Account>("SELECT id, cents FROM account WHERE id = $1", t.from);
        if (rows.empty()) throw pawl::Permanent("there is no account " + t.from);
        if (rows.front().cents < 0) throw pawl::Permanent(t.from + " has not enough");
        return rows.front().cents;
    });
    // Killed here, it goes on with the credit: the debit is done.
    ctx.transaction("credit", [&](pawl::Transaction& tx) {
        if (tx.exec("UPDATE account SET cents = cents + $1 WHERE id = $2", t.cents, t.to) == 0)
            tx.exec("INSERT INTO account (id, cents) VALUES ($1, $2)", t.to, t.cents);
    });
    return left;
}
// [/transfer]

void found_bank(pawl::Context& ctx) {
    ctx.transaction("tables", [](pawl::Transaction& tx) {
        tx.exec("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)");
        tx.exec("INSERT INTO account (id, cents) VALUES ($1, $2)", "ada", 100);
    });
}

// [read]
std::vector<Account> accounts(pawl::Context& ctx) {
    return ctx.transaction("read", [](pawl::Transaction& tx) {
        return tx.query<Account>("SELECT id, cents FROM account ORDER BY id");
    });
}
// [/read]

int main() {
    const auto directory = std::filesystem::temp_directory_path() /
                           ("pawl-transfer-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    {
        pawl::Engine engine{"sqlite:" + (directory / "bank.db").string()};
        auto founding = engine.add("found", found_bank);
        auto transfers = engine.add("transfer", transfer);
        auto listing = engine.add("accounts", accounts);
        engine.start();

        founding.start_and_wait("bank");
        for (const char* id : {"t-1", "t-1", "t-2"})  // the second is the first
            std::printf("%s: ada has %lld left\n", id, static_cast<long long>(
                        transfers.start_and_wait(id, {"ada", "bob", 30})));
        try {
            transfers.start_and_wait("t-3", {"ada", "bob", 1000});
        } catch (const pawl::RunFailed& e) {
            std::printf("%s\n", e.what());
        }
        for (const auto& account : listing.start_and_wait("today"))
            std::printf("%s: %lld\n", account.id.c_str(), static_cast<long long>(account.cents));
    }
    std::filesystem::remove_all(directory);
}
