// Messages: from the first that is published to the last that is handled, beside the same rows
// inserted by hand; one at a time into an idle system; and inputs that are posted.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <pawl/pawl.hpp>
#include <thread>

#include "by_hand.hpp"
#include "child.hpp"
#include "execute.hpp"
#include "raw_rows.hpp"

namespace pawl::bench {
namespace {

using Clock = Meter::Clock;

constexpr int producers = 16;
constexpr int partitions = 64;

struct Note {
    std::string text;
    long number = 0;
};

long count_of(const Settings& settings) { return settings.quick ? 3'200 : 100'000; }

// Each producer has some keys of its own, and numbers its messages.
std::string key_of(int producer, long number) {
    return fmt::format("{}-{}", producer, number % 16);
}

/// Sees that nothing is missing, comes twice or overtakes.
class Order {
public:
    explicit Order(long count) : left_(count) {}
    void saw(const Received& received, const Note& note) {
        {
            const std::lock_guard lock{mutex_};
            if (received.sequence != ++sequences_[received.partition]) fail("a sequence has a gap");
            auto& last = numbers_[received.id];
            if (note.number < last) fail("a message has overtaken another");
            last = note.number + 1;
        }
        if (--left_ == 0) {
            const std::lock_guard lock{mutex_};
            over_.notify_all();
        }
    }
    void wait() {
        std::unique_lock lock{mutex_};
        over_.wait(lock, [&] { return left_ == 0; });
    }

private:
    [[noreturn]] static void fail(const char* what) {
        fmt::print(stderr, "bench: {}\n", what);
        std::terminate();
    }
    std::atomic<long> left_;
    std::mutex mutex_;
    std::condition_variable over_;
    std::map<int, std::int64_t> sequences_;
    std::map<std::string, long> numbers_;
};

/// What this process publishes, of what all do together.
struct Publishing {
    long count = 0;      ///< of all processes
    long each = 1;       ///< so many at a time
    int producers = 16;  ///< of all processes
    int first = 0;       ///< of the producers of this one
    int step = 1;
};

void publish(Engine& engine, const Publishing& how) {
    const long own = how.count / how.producers;
    std::vector<std::thread> threads;
    for (int p = how.first; p < how.producers; p += how.step)
        threads.emplace_back([&, p] {
            for (long n = 0; n < own; n += how.each) {
                std::vector<Note> notes;
                for (long i = n; i < std::min(n + how.each, own); ++i)
                    notes.push_back({"a small message", i});
                engine.publish_all("notes", notes, [&](const Note& note) {
                    return PublishOptions{.key = key_of(p, note.number)};
                });
            }
        });
    for (auto& thread : threads) thread.join();
}

Sample run_outbox(const Settings& settings, long each) {
    const auto place = make_place(settings);
    const long count = count_of(settings);
    Order order{count};
    Engine engine{place->url()};
    auto options = high_throughput();
    options.partitions = partitions;
    engine.subscribe(
        "notes", [&](const Note& note, const Received& received) { order.saw(received, note); },
        options);
    engine.start();
    Meter meter{std::chrono::hours{1}};
    publish(engine, {.count = count, .each = each});
    order.wait();
    return meter.sample(count);
}

Sample insert_by_hand(const Settings& settings, long each) {
    const auto place = make_place(settings);
    const long count = count_of(settings);
    std::atomic<long> left{count / each};
    std::atomic<long> next{0};
    return by_hand(*place, {std::chrono::hours{1}, settings.on_server() ? producers : 1},
                   [&](Rival& rival) -> long {
                       if (left-- <= 0) return 0;
                       Ids keys(static_cast<std::size_t>(each));
                       for (auto& key : keys) {
                           const long n = next++;
                           key = key_of(static_cast<int>(n % producers), n);
                       }
                       rival.publish(keys);
                       return each;
                   });
}

/// One of several processes that publish and deliver: says how many messages it was given.
long take_part(const std::string& url, const Line& line, const Publishing& how) {
    std::atomic<long> handled{0};
    std::mutex mutex;
    std::map<int, std::int64_t> last;
    Engine engine{url};
    auto options = high_throughput();
    options.partitions = partitions;
    engine.subscribe(
        "notes",
        [&](const Note&, const Received& received) {
            ++handled;
            const std::lock_guard lock{mutex};
            auto& before = last[received.partition];
            if (received.sequence <= before) {
                fmt::print(stderr, "bench: a message has overtaken another\n");
                std::terminate();
            }
            before = received.sequence;
        },
        options);
    engine.start();
    line.say(0);
    line.hear();
    publish(engine, how);
    while (engine.statistics("notes").delivered < how.count)
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    return handled;
}

Sample run_in_processes(const Settings& settings, int processes, long each,
                        int all_producers = producers) {
    const auto place = make_place(settings);
    const long count = count_of(settings);
    std::vector<std::unique_ptr<Child>> children;
    for (int p = 0; p < processes; ++p)
        children.push_back(std::make_unique<Child>([&, p](const Line& line) {
            const Publishing how{.count = count,
                                 .each = each,
                                 .producers = all_producers,
                                 .first = p,
                                 .step = processes};
            line.say(static_cast<double>(take_part(place->url(), line, how)));
        }));
    for (const auto& child : children) child->line().hear();
    // Until each has its share of the partitions.
    std::this_thread::sleep_for(std::chrono::seconds{3});
    Meter meter{std::chrono::hours{1}};
    for (const auto& child : children) child->line().say(0);
    long handled = 0;
    for (const auto& child : children) handled += static_cast<long>(child->line().hear());
    const auto sample = meter.sample(count);
    if (handled != count) {
        fmt::print(stderr, "bench: {} messages were handled, not {}\n", handled, count);
        std::terminate();
    }
    return sample;
}

}  // namespace

void outbox(const Settings& settings) {
    for (const long each : {1L, 100L})
        compare(settings, {each == 1 ? "outbox" : "outbox-batches", producers, "raw-insert",
                           [&, each] { return run_outbox(settings, each); },
                           [&, each] { return insert_by_hand(settings, each); }});
}

void outbox_scale(const Settings& settings) {
    for (const long each : {1L, 100L})
        compare(settings, {each == 1 ? "outbox-scale" : "outbox-scale-batches", producers,
                           "one-process", [&, each] { return run_in_processes(settings, 2, each); },
                           [&, each] { return run_in_processes(settings, 1, each); }});
    compare(settings, {"outbox-scale-full", 2 * producers, "one-process",
                       [&] { return run_in_processes(settings, 2, 1, 2 * producers); },
                       [&] { return run_in_processes(settings, 1, 1); }});
}

// From the commit to the handler, within a process and to another engine on the same database.
void outbox_latency(const Settings& settings) {
    const int count = settings.quick ? 20 : 500;
    for (const bool across : {false, true}) {
        const auto place = make_place(settings);
        std::mutex mutex;
        std::condition_variable arrived;
        std::optional<Clock::time_point> at;
        Engine producer{place->url()};
        Engine consumer{place->url()};
        auto& handles = across ? consumer : producer;
        auto options = low_latency();
        options.partitions = 4;
        handles.subscribe(
            "notes",
            [&](const Note&) {
                const std::lock_guard lock{mutex};
                at = Clock::now();
                arrived.notify_all();
            },
            options);
        handles.start();
        Meter meter{std::chrono::hours{1}};
        for (int i = 0; i < count; ++i) {
            producer.publish("notes", Note{"x", i});
            const auto committed = Clock::now();
            std::unique_lock lock{mutex};
            arrived.wait(lock, [&] { return at.has_value(); });
            meter.add(std::max(*at - committed, Clock::duration::zero()));
            at.reset();
            lock.unlock();
            // Into an idle system: also those who tell other processes are, after a while.
            std::this_thread::sleep_for(std::chrono::milliseconds{settings.quick ? 1 : 20});
        }
        const auto sample = meter.sample();
        fmt::print(R"({{"bench":"outbox-latency","store":"{}","across":{},"p50_ms":{:.2f},)"
                   R"("p99_ms":{:.2f}}})"
                   "\n",
                   settings.store, across, sample.p50_ms, sample.p99_ms);
        std::fflush(stdout);
    }
}

// Inputs in batches of a hundred, durable when the call returns; all are applied in the end.
void post(const Settings& settings) {
    const long count = settings.quick ? 1'000 : 50'000;
    const auto posting = [&](bool until_applied) {
        const auto place = make_place(settings);
        Engine engine{place->url()};
        const auto parcels = engine.add<Parcel>("parcel");
        if (until_applied) engine.start();
        Meter meter{std::chrono::hours{1}};
        std::vector<std::thread> threads;
        for (int p = 0; p < 4; ++p)
            threads.emplace_back([&, p] {
                for (long n = 0; n < count / 4; n += 100) {
                    std::vector<std::pair<std::string, Parcel::Input>> inputs;
                    for (long i = n; i < n + 100; ++i)
                        inputs.emplace_back(fmt::format("parcel-{}-{}", p, i),
                                            Parcel::Post{"Ada Lovelace, 12 St James's Square"});
                    parcels.post(inputs);
                }
            });
        for (auto& thread : threads) thread.join();
        const long posted = count / 400 * 400;
        if (!until_applied) return meter.sample(posted);
        const auto waiting = [&] {
            std::int64_t all = 0;
            for (const auto& one : engine.partitions("pawl.inbox.parcel")) all += one.waiting;
            return all;
        };
        while (waiting() > 0) std::this_thread::sleep_for(std::chrono::milliseconds{5});
        return meter.sample(posted);
    };
    compare(settings, {"post", 4, "execute", [&] { return posting(false); },
                       [&] { return execute_fresh(settings); }});
    compare(settings, {"post-applied", 4, "execute", [&] { return posting(true); },
                       [&] { return execute_fresh(settings); }});
}

}  // namespace pawl::bench
