// The shortest real program: a counter whose total is there again after a restart.
#include <filesystem>
#include <iostream>
#include <pawl/pawl.hpp>

struct Counter {
    struct Add { int amount = 1; };
    using Input = std::variant<Add>;

    struct Added { int amount = 1; };
    using Event = std::variant<Added>;

    int total = 0;

    void evolve(const Added& e) { total += e.amount; }
    pawl::Decision<Counter> decide(const Add& in) const {
        if (in.amount <= 0) return pawl::reject("only more, never less");
        return Added{in.amount};
    }
};

void count(int amount) {
    pawl::Engine engine{"sqlite:counter.db"};
    auto counters = engine.add<Counter>("counter");

    const auto outcome = counters.send("visitors", Counter::Add{amount});  // durable when it returns
    if (outcome.rejected()) std::cout << "rejected: " << outcome.reason() << '\n';
    std::cout << "total " << counters.state("visitors")->total << '\n';
}

int main() {
    for (const char* file : {"counter.db", "counter.db-wal", "counter.db-shm", "counter.db-turn"})
        std::filesystem::remove(file);

    count(3);   // each call opens the file anew, as a program that is started again would
    count(4);
    count(-1);

    pawl::Engine engine{"sqlite:counter.db"};
    for (const auto& entry : engine.journal("counter", "visitors"))
        std::cout << entry.sequence << ' ' << entry.payload << '\n';
}
