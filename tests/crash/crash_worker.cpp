// A process to be killed: it sends, works, or does both again and again.
//   crash_worker URL DIRECTORY NAME ROLE [--seed N] [--kill-at POINT:N] [--clock-off HOURS]
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "crash/shop.hpp"

namespace {

using namespace pawl::crash;

// Off by some hours, as the clocks of forgotten machines are.
class WrongClock final : public pawl::Clock {
public:
    explicit WrongClock(int hours) : hours_(hours) {}
    pawl::Time now() const override { return pawl::system_clock().now() + hours_; }
    pawl::Duration elapsed() const override { return pawl::system_clock().elapsed(); }

private:
    std::chrono::hours hours_;
};

struct Arguments {
    std::string url{};
    std::string directory{};  // of the ledger
    std::string name{};
    std::string role{};
    unsigned seed = 1;
    std::string point{};
    int hit = 0;
    int hours_off = 0;
};

Arguments parse(int argc, char** argv) {
    if (argc < 5)
        throw std::invalid_argument{"crash_worker URL DIRECTORY NAME ROLE [--option VALUE]"};
    Arguments arguments{.url = argv[1], .directory = argv[2], .name = argv[3], .role = argv[4]};
    for (int i = 5; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        const std::string value = argv[i + 1];
        if (option == "--seed") {
            arguments.seed = static_cast<unsigned>(std::stoul(value));
        } else if (option == "--kill-at") {
            const auto colon = value.rfind(':');
            arguments.point = value.substr(0, colon);
            arguments.hit = std::stoi(value.substr(colon + 1));
        } else if (option == "--clock-off") {
            arguments.hours_off = std::stoi(value);
        } else {
            throw std::invalid_argument{"no option " + option};
        }
    }
    return arguments;
}

class Worker {
public:
    explicit Worker(Arguments arguments)
        : arguments_(std::move(arguments)),
          ledger_(arguments_.directory),
          clock_(arguments_.hours_off) {}

    void run() {
        if (arguments_.role == "work") return work(endless);
        if (arguments_.role == "walk") return work(pawl::Options{}.losses);
        if (arguments_.role == "send") return send_for_ever();
        if (arguments_.role == "cycle")
            for (int round = 1;; ++round) cycle(round);
        throw std::invalid_argument{"no role " + arguments_.role};
    }

private:
    ShopOptions options() {
        ShopOptions options{.url = arguments_.url, .seed = arguments_.seed};
        options.engine.clock = &clock_;
        options.engine.test.at_point = [this](std::string_view point) { reach(point); };
        return options;
    }

    void reach(std::string_view point) {
        if (point != arguments_.point || ++hits_ != arguments_.hit) return;
        ledger_.note_end(std::string{point});
        ::raise(SIGKILL);
    }

    void work(int losses) {
        auto own = options();
        own.losses = losses;
        Shop shop{own, ledger_};
        shop.engine().start();
        ::pause();
    }

    void send_for_ever() {
        Shop shop{options(), ledger_};
        send_from_threads(shop, 2, "", -1);
    }

    // Everything a process does in its life, so that it comes by every point.
    void cycle(int round) {
        Shop shop{options(), ledger_};
        shop.engine().start();
        send_from_threads(shop, 4, fmt::format("-{}", round), 6);
        shop.engine().stop(std::chrono::seconds{5});
    }

    void send_from_threads(Shop& shop, int threads, const std::string& suffix, int count) {
        std::vector<std::jthread> senders;
        for (int t = 0; t < threads; ++t)
            senders.emplace_back([this, &shop, t, &suffix, count] {
                Customer customer{fmt::format("{}{}-{}", arguments_.name, suffix, t),
                                  arguments_.seed * 100 + static_cast<unsigned>(t)};
                for (int i = 0; i != count; ++i) send(shop, customer);
            });
    }

    void send(Shop& shop, Customer& customer) {
        const Sent sent = customer.next();
        ledger_.note(sent);
        shop.send(sent);
        if (customer.chance(10) && !shop.send(sent).duplicate)
            ledger_.note_wrong("applied again: " + sent.input_id);
        if (sent.type == "purchase" && customer.chance(10)) {
            Sent other = sent;
            other.input_id += "-other";
            if (shop.send(other).accepted()) ledger_.note_wrong("placed a second time: " + sent.id);
        }
    }

    Arguments arguments_;
    Ledger ledger_;
    WrongClock clock_;
    std::atomic<int> hits_{0};
};

}  // namespace

int main(int argc, char** argv) try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that ends early leaves nobody behind
    Worker{parse(argc, argv)}.run();
} catch (const std::exception& e) {
    std::cerr << "crash_worker: " << e.what() << '\n';
    return 1;
}
