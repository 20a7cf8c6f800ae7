// A user's program: a workflow of its own on a file of its own, and an error that it catches.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <pawl/pawl.hpp>
#include <string>

struct Counter {
    struct Add {
        int amount = 1;
    };
    using Input = std::variant<Add>;
    struct Added {
        int amount = 1;
    };
    using Event = std::variant<Added>;

    int total = 0;

    void evolve(const Added& e) { total += e.amount; }
    pawl::Decision<Counter> decide(const Add& in) const {
        if (in.amount < 0) return pawl::reject("not backwards");
        return Added{in.amount};
    }
};

int main() {
    const auto dir =
        std::filesystem::temp_directory_path() / ("pawl-consumer-" + std::to_string(getpid()));
    std::filesystem::create_directory(dir);
    for (int run = 0; run < 2; ++run) {
        pawl::Engine engine{"sqlite:" + (dir / "counter.db").string()};
        auto counters = engine.add<Counter>("counter");
        engine.start();
        counters.send("c", Counter::Add{2});
        if (run == 0) continue;
        try {
            counters.send("", Counter::Add{1}, {.input_id = "i-1"});
        } catch (const pawl::Error& error) {
            std::printf("%d %s %s\n", counters.state("c")->total, pawl::name(error.code()),
                        counters.send("c", Counter::Add{-1}).reason().c_str());
        }
    }
    std::filesystem::remove_all(dir);
}
