// Hundreds of orders are placed, most are paid, and the process that works on them is killed with
// `kill -9` again and again. At the end every order has been paid or has expired, exactly once, and
// has exactly one invoice in the mail.
//
//   demo [ORDERS]
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "demo_world.hpp"
#include "order.hpp"

namespace {

constexpr const char* database = "sqlite:demo.db";
constexpr const char* mail_address = "demo-mail.socket";

// The process that is killed. It claims work, performs it, and fires the timers. All it knows is in
// the database: when it is started again, it goes on where it was killed.
int work() {
    Mailer mailer{mail_address};
    pawl::Engine engine{database, {.lease = 1s}};  // after a second its work is given to the next
    engine.add<Order>("order", pawl::Handlers{
        [&](const Order::Invoice& e, const pawl::Delivery& d) {
            // Killed after the mail and before the database has heard of it, this runs again: with
            // the same key, so the mail server can tell.
            mailer.send({.key = d.key, .to = d.id, .text = std::to_string(e.quantity) + " " + e.sku});
        },
        [](const Order::Ship&) { /* the parcel service is not part of this demo */ }});
    engine.start();
    wait_for_ever();
}

class Demo {
public:
    explicit Demo(int orders) : count_(orders), kills_(std::clamp(orders / 70, 2, 5)) {}

    int run() {
        std::cout << "Placing " << count_ << " orders. Two of three are paid, the others expire after "
                  << time_to_pay.count() << " s.\n"
                  << "Meanwhile the process that works on them is killed " << kills_ << " times.\n" << std::flush;
        for (int i = 0; i < count_; ++i) {
            place(i);
            if (i >= thinking) pay(i - thinking);
            if (killed_ < kills_ && i >= (killed_ + 1) * count_ / (kills_ + 1)) kill_the_worker();
            progress_.show([&] { return report(); });
            std::this_thread::sleep_for(25ms);
        }
        for (int i = std::max(count_ - thinking, 0); i < count_; ++i) pay(i);
        const bool settled = wait_until_settled();
        progress_.end(report());
        if (!settled) std::cout << "After a minute there was still work left.\n";
        return prove() && settled ? 0 : 1;
    }

private:
    static constexpr auto time_to_pay = 3s;
    static constexpr int thinking = 20;  // a customer pays when this many others have ordered

    static std::string name(int i) { return "order-" + std::to_string(i); }

    // Durable when `send` returns, whether there is a worker or not.
    void place(int i) {
        const bool accepted =
            orders_.send(name(i), Order::Place{"book", 1 + i % 3, time_to_pay}).accepted();
        placed_ += accepted;
    }

    void pay(int i) {
        if (i % 3 == 2) return;
        const auto outcome = orders_.send(name(i), Order::Pay{"receipt-" + std::to_string(i)});
        paid_[name(i)] = outcome.accepted();  // false: it had expired, on a very slow machine
    }

    void kill_the_worker() {
        worker_.kill();
        ++killed_;
        worker_ = WorkerProcess{};
    }

    // Unfinished orders wait for their timer; finished ones may still have an invoice to send.
    bool wait_until_settled() {
        const auto deadline = std::chrono::steady_clock::now() + 60s;
        while (unfinished() > 0 || !engine_.backlog().empty()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            progress_.show([&] { return report(); });
            std::this_thread::sleep_for(100ms);
        }
        return true;
    }

    std::size_t unfinished() {
        return orders_.instances({.finished = false, .limit = 100'000}).instances.size();
    }

    std::string report() {
        const auto open = unfinished();
        const auto paid = std::ranges::count_if(paid_, [](const auto& p) { return p.second; });
        return "placed " + std::to_string(placed_) + ", paid " + std::to_string(paid) + ", expired " +
               std::to_string(placed_ - paid - static_cast<long>(open)) + ", open " +
               std::to_string(open) + ", invoices " + std::to_string(mail_.delivered()) +
               ", kill -9: " + std::to_string(killed_);
    }

    // Not what this program remembers, but what stands in the journals and what the mail server got.
    bool prove() {
        int paid = 0, expired = 0, wrong = 0;
        for (int i = 0; i < count_; ++i) {
            int payments = 0, expiries = 0;
            for (const auto& entry : orders_.journal(name(i))) {
                payments += entry.name == "Paid";
                expiries += entry.name == "Expired";
            }
            const bool ended_once = payments + expiries == 1;
            const bool as_answered = (payments == 1) == paid_[name(i)];
            const bool one_invoice = mail_.delivered_to(name(i)) == 1;
            if (!ended_once || !as_answered || !one_invoice) {
                ++wrong;
                std::cout << "WRONG: " << name(i) << " was paid " << payments << " times, expired "
                          << expiries << " times and has " << mail_.delivered_to(name(i))
                          << " invoices\n";
            }
            paid += payments;
            expired += expiries;
        }
        std::cout << "\nWhat you have just seen:\n"
                  << "  " << count_ << " orders were placed, and each was durable when its call returned.\n"
                  << "  " << killed_ << " times the worker was killed with SIGKILL in the middle of its work.\n"
                  << "  " << paid << " orders were paid and " << expired << " expired: "
                  << (wrong ? "NOT " : "") << "each exactly once.\n"
                  << "  " << mail_.delivered() << " invoices were delivered: "
                  << (wrong ? "NOT " : "") << "exactly one for each order.\n"
                  << "  " << mail_.repeated() << " invoices were sent again after a kill, with the same "
                  << "key, and the mail server dropped them.\n"
                  << (wrong ? "The proof FAILED.\n" : "Nothing was lost, and nothing was done twice.\n");
        return wrong == 0;
    }

    const int count_;
    const int kills_;
    MailServer mail_{mail_address};
    pawl::Engine engine_{database};  // sends only: it is never started
    pawl::Workflow<Order> orders_ = engine_.add<Order>("order");
    WorkerProcess worker_;
    Progress progress_;
    long placed_ = 0;
    int killed_ = 0;
    std::map<std::string, bool> paid_;  // by order: whether its payment was accepted
};

void remove_what_an_earlier_demo_left() {
    for (const char* end : {"", "-wal", "-shm", "-turn"})
        std::filesystem::remove(std::string{"demo.db"} + end);
    std::filesystem::remove(mail_address);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string argument = argc > 1 ? argv[1] : "400";
    if (argument == WorkerProcess::argument) return work();
    remove_what_an_earlier_demo_left();
    return Demo{std::max(std::stoi(argument), 1)}.run();
} catch (const std::exception& e) {
    std::cerr << "demo: " << e.what() << '\n';
    return 1;
}
