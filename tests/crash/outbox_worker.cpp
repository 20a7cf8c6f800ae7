// A process to be killed: it publishes, delivers, posts, routes or applies until then.
//   outbox_worker ROLE URL TABLES DIRECTORY NAME SEED
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <map>

#include "crash/notes.hpp"

namespace {

using namespace pawl::crash;
using namespace std::chrono_literals;

struct Arguments {
    std::string role;
    std::string url;
    std::string tables;  // what the names of tables begin with
    std::string directory;
    std::string name;
    unsigned seed = 1;
};

class Worker {
public:
    explicit Worker(Arguments arguments)
        : arguments_(std::move(arguments)), random_(arguments_.seed) {}

    void run() {
        const std::map<std::string, std::function<void()>> roles{
            {"publish", [&] { publish(); }},   {"deliver", [&] { deliver(); }},
            {"transact", [&] { transact(); }}, {"post", [&] { post(); }},
            {"apply", [&] { apply(); }},       {"poisoned", [&] { poisoned(); }},
            {"dawdle", [&] { dawdle(); }},     {"route", [&] { route(); }},
            {"together", [&] { together(); }}, {"acknowledge", [&] { acknowledge(); }},
            {"linger", [&] { linger(); }},
        };
        roles.at(arguments_.role)();
    }

private:
    void note(const char* file, const std::string& line) const {
        append(arguments_.directory, file, line);
    }

    std::string insert_into(const char* table) const {
        return fmt::format("INSERT INTO {}{} VALUES ($1, $2)", arguments_.tables, table);
    }

    pawl::Options options() const {
        auto options = notes_options();
        // Who loses its lease without having been killed is known by name, as the killed are.
        options.log = [this](const pawl::LogRecord& record) {
            if (record.text.find("taken by others") != record.text.npos)
                note("lost", arguments_.name);
            if (record.level >= pawl::LogLevel::warning)
                note("log", fmt::format("{}: {}", arguments_.name, record.text));
        };
        return options;
    }

    // Runs until it is killed; to be told to end is fine, too.
    void work(pawl::Engine& engine) const {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        engine.start();
        int number = 0;
        sigwait(&signals, &number);
        engine.stop(10s);
    }

    // Rows and messages in one commit, a few at a time; some think better of it.
    void publish() {
        pawl::Engine engine{arguments_.url, options()};
        const auto insert = insert_into("published");
        for (int number = 1;; dawdle_for(3)) {
            in_transaction(engine, [&](pawl::Transaction& tx) {
                const auto count = 1 + random_() % 3;
                for (unsigned i = 0; i < count; ++i, ++number) {
                    const auto key = fmt::format("{}-{}", arguments_.name, random_() % 3);
                    tx.exec(insert, key, number);
                    tx.publish(channel, Note{key, number}, {.key = key});
                }
                return random_() % 8 != 0;
            });
            if (random_() % 2 == 0) {
                const auto key = arguments_.name + "-alone";
                note("asked", fmt::format("{} {}", key, number));
                answered([&] { engine.publish(channel, Note{key, number}, {.key = key}); });
                note("answered", fmt::format("{} {}", key, number++));
            }
        }
    }

    void deliver() {
        pawl::Engine engine{arguments_.url, options()};
        engine.subscribe(
            channel,
            [this](const Note& it, const pawl::Received& received) {
                note("delivered", line_of(arguments_.name, it, received));
                if (received.attempt == 1 && it.number % 16 == 0)
                    throw std::runtime_error{"by chance"};
            },
            subscription());
        work(engine);
    }

    void transact() {
        pawl::Engine engine{arguments_.url, options()};
        const auto insert = insert_into("handled");
        engine.subscribe(
            channel,
            [&](pawl::Transaction& tx, const Note& it, const pawl::Received& received) {
                tx.exec(insert, it.key, it.number);
                note("delivered", line_of(arguments_.name, it, received));
                if (received.attempt == 1 && it.number % 16 == 0)
                    throw std::runtime_error{"by chance"};
            },
            subscription());
        work(engine);
    }

    void post() {
        pawl::Engine engine{arguments_.url, options()};
        const auto tallies = engine.add<Tally>("tally");
        const auto insert = insert_into("published");
        for (int number = 1;; ++number, dawdle_for(3)) {
            const auto id = fmt::format("t{}", random_() % 3);
            if (random_() % 2 == 0) {
                note("asked", fmt::format("{}-post-{} {}", arguments_.name, id, number));
                answered([&] {
                    tallies.post(id, Tally::Count{arguments_.name + "-post-" + id, number},
                                 {.input_id = fmt::format("{}-{}", arguments_.name, number)});
                });
                note("answered", fmt::format("{}-post-{} {}", arguments_.name, id, number));
                continue;
            }
            in_transaction(engine, [&](pawl::Transaction& tx) {
                const auto key = arguments_.name + "-sent-" + id;
                tx.exec(insert, key, number);
                tx.send(tallies, id, Tally::Count{key, number});
                return random_() % 8 != 0;
            });
        }
    }

    // To tags that are those of the tallies. Some of them listen to theirs only when much is there.
    void route() {
        pawl::Engine engine{arguments_.url, options()};
        const auto tallies = engine.add<Tally>("tally");
        const auto insert = insert_into("published");
        for (int number = 1;; ++number, dawdle_for(3)) {
            const auto id = fmt::format("t{}", random_() % 3);
            if (number == 12) answered([&] { tallies.send(id, Tally::Listen{"of-" + id}); });
            if (random_() % 2 == 0) {
                const auto key = arguments_.name + "-route-" + id;
                note("asked", fmt::format("{} {}", key, number));
                answered([&] {
                    tallies.route("of-" + id, Tally::Count{key, number},
                                  {.input_id = fmt::format("{}-{}", arguments_.name, number)});
                });
                note("answered", fmt::format("{} {}", key, number));
                continue;
            }
            in_transaction(engine, [&](pawl::Transaction& tx) {
                const auto key = arguments_.name + "-routed-" + id;
                tx.exec(insert, key, number);
                tx.route(tallies, "of-" + id, Tally::Count{key, number});
                return random_() % 8 != 0;
            });
        }
    }

    void apply() {
        pawl::Engine engine{arguments_.url, options()};
        engine.add<Tally>("tally");
        work(engine);
    }

    void poisoned() {
        pawl::Engine engine{arguments_.url, options()};
        engine.subscribe(
            channel,
            [this](const Note& it, const pawl::Received& received) {
                note("delivered", line_of(arguments_.name, it, received));
                if (it.key == "poison") ::kill(::getpid(), SIGKILL);
            },
            {.partitions = partitions, .batch = 8, .policy = {.attempts = poison_attempts}});
        work(engine);
    }

    // The poison waits until another message is in its handler, and that one until the process has
    // ended: where they are together, they end together.
    void together() {
        std::atomic<bool> other_runs{false};
        auto longer = options();
        longer.lease = 2s;  // of more than a handler takes on a machine that has much to do
        pawl::Engine engine{arguments_.url, longer};
        engine.subscribe(channel,
                         [&](const Note& it, const pawl::Received& received) {
                             note("delivered", line_of(arguments_.name, it, received));
                             if (it.key == "poison") {
                                 for (int waits = 0; waits < 30 && !other_runs; ++waits)
                                     dawdle_for(10);
                                 ::kill(::getpid(), SIGKILL);
                             }
                             other_runs = true;
                             dawdle_for(400);
                             other_runs = false;
                         },
                         {.partitions = partitions, .policy = {.attempts = poison_attempts}});
        work(engine);
    }

    // Slow enough to be stopped in the middle.
    void dawdle() {
        pawl::Engine engine{arguments_.url, options()};
        engine.subscribe(
            channel,
            [this](const Note& it, const pawl::Received& received) {
                note("delivered", line_of(arguments_.name, it, received));
                dawdle_for(20);
            },
            subscription());
        work(engine);
    }

    // Acknowledges in the middle of a batch; the first process ends a little behind that.
    void acknowledge() {
        pawl::Engine engine{arguments_.url, options()};
        engine.subscribe(channel,
                         [this](pawl::Batch<Note>& batch) {
                             while (auto it = batch.next()) {
                                 note("delivered", line_of(arguments_.name, *it, batch.received()));
                                 if (it->number == 4) batch.ack();
                                 if (it->number == 6 && arguments_.name == "w1")
                                     ::kill(::getpid(), SIGKILL);
                             }
                         },
                         {.partitions = partitions});
        work(engine);
    }

    // The same in a batch that takes longer than a lease.
    void linger() {
        pawl::Engine engine{arguments_.url, options()};
        auto long_batch = subscription();
        long_batch.batch = 100;
        engine.subscribe(
            channel,
            [this](const Note& it, const pawl::Received& received) {
                note("delivered", line_of(arguments_.name, it, received));
                dawdle_for(20);
            },
            long_batch);
        work(engine);
    }

    static void dawdle_for(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

    // Until there is an answer, but not again where it is not known what came of it.
    static void answered(const std::function<void()>& ask) {
        for (;;) {
            try {
                return ask();
            } catch (const pawl::Error& e) {
                if (!e.retryable()) throw;
            }
        }
    }

    // What a transaction takes is used up, even if it fails: nobody may ever see it.
    static void in_transaction(pawl::Engine& engine,
                               const std::function<bool(pawl::Transaction&)>& body) {
        try {
            auto tx = engine.begin();
            if (body(tx)) tx.commit();
        } catch (const pawl::Error& e) {
            if (!e.retryable()) throw;
        }
    }

    Arguments arguments_;
    std::minstd_rand random_;
};

}  // namespace

int main(int argc, char** argv) try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that ends early leaves nobody behind
    if (argc != 7) throw std::invalid_argument{"outbox_worker ROLE URL TABLES DIRECTORY NAME SEED"};
    Worker{{.role = argv[1],
            .url = argv[2],
            .tables = argv[3],
            .directory = argv[4],
            .name = argv[5],
            .seed = static_cast<unsigned>(std::stoul(argv[6]))}}
        .run();
} catch (const std::exception& e) {
    std::cerr << "outbox_worker: " << e.what() << '\n';
    return 1;
}
