// A shop that has a database client of its own, and no wish to give it up. What it publishes is in
// its own transaction, on its own connection; another process, here another engine, delivers it.
#include <filesystem>
#include <iostream>
#include <pawl/pawl.hpp>
#include <sqlite3.h>
#include <unistd.h>

using namespace std::chrono_literals;

struct Paid { int order = 0; std::int64_t cents = 0; };

void run_sql(sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw std::runtime_error{sqlite3_errmsg(db)};
}

// [join]
pawl::Uuid pay(pawl::Engine& engine, sqlite3* db, const Paid& paid) {
    run_sql(db, "BEGIN IMMEDIATE");  // a transaction of your own, as ever
    auto insert = "INSERT INTO payment VALUES (" + std::to_string(paid.order) + ")";
    run_sql(db, insert.c_str());
    auto joined = engine.join(db);  // or a PGconn*, or a MYSQL*
    auto message = joined.publish("payments", paid, {.key = std::to_string(paid.order)});
    run_sql(db, "COMMIT");  // both are there now; with a ROLLBACK, neither
    joined.wake()();        // whoever delivers hears of it at once, and not at the next look
    return message;
}
// [/join]

// [text]
pawl::Uuid pay_as_text(pawl::Engine& engine, sqlite3* db, const Paid& paid) {
    pawl::SqlText insert = engine.publish_sql("payments", paid, {.key = std::to_string(paid.order)});
    run_sql(db, "BEGIN IMMEDIATE");
    sqlite3_stmt* statement = nullptr;  // whatever your client calls it
    sqlite3_prepare_v2(db, insert.sql.c_str(), -1, &statement, nullptr);
    int mark = 0;
    for (const auto& text : insert.parameters) {
        ++mark;
        if (text) sqlite3_bind_text(statement, mark, text->c_str(), -1, SQLITE_STATIC);  // else NULL
    }
    const bool done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    run_sql(db, done ? "COMMIT" : "ROLLBACK");
    insert.wake();
    return insert.message;
}
// [/text]

void deliver(const std::string& url, const std::vector<pawl::Uuid>& told) {
    pawl::Engine engine{url};
    engine.subscribe("payments", [&](const Paid& paid) {
        std::cout << "order " << paid.order << " is paid: " << paid.cents << '\n';
    }, {.partitions = 1});
    engine.start();
    engine.wait_for(told, 30s);
}

int main() {
    const auto directory = std::filesystem::temp_directory_path() / ("pawl-client-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    const auto file = (directory / "shop.db").string();
    std::vector<pawl::Uuid> told;
    {
        pawl::Engine engine{"sqlite:" + file};  // never started
        engine.channel("payments", 1);
        sqlite3* db = nullptr;
        sqlite3_open(file.c_str(), &db);
        sqlite3_busy_timeout(db, 10'000);
        run_sql(db, "CREATE TABLE payment (id INTEGER PRIMARY KEY)");

        told.push_back(pay(engine, db, {1, 2500}));
        try {
            pay(engine, db, {1, 2500});
        } catch (const std::exception& error) {
            std::cout << error.what() << '\n';
            run_sql(db, "ROLLBACK");
        }
        // [misuse]
        try {
            engine.join(db);
        } catch (const pawl::Error& error) {
            if (error.code() == pawl::Code::misuse) std::cout << "join needs a transaction that is open\n";
        }
        // [/misuse]
        told.push_back(pay_as_text(engine, db, {2, 990}));
        sqlite3_close(db);
    }
    deliver("sqlite:" + file, told);
    std::filesystem::remove_all(directory);
}
