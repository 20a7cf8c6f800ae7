// An order service with a table of its own. The row, the input to the workflow and the start of a
// durable function are one commit; so are a payment that comes in and what it changes.
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "order.hpp"

struct Basket { std::string order; std::string customer; std::string sku; int quantity = 1; };
struct Customer { std::string name; };
struct Payment { std::string order; std::int64_t cents = 0; std::string receipt; };

void onboard(pawl::Context& ctx, const Customer& customer) {
    ctx.step("welcome", [&] { std::cout << "  mail to " << customer.name << ": welcome\n"; });
}

class Shop {
public:
    explicit Shop(pawl::Engine& engine) : engine_(engine) {
        // [payments]
        engine.subscribe("payments", [this](pawl::Transaction& tx, const Payment& p,
                                            const pawl::Delivery& d) {
            tx.exec("UPDATE orders SET paid = paid + $1 WHERE id = $2", p.cents, p.order);
            tx.send(orders_, p.order, Order::Pay{p.receipt});
            check_receipt(p, d.attempt);  // throws the first time: all of it is undone
        });
        // [/payments]
    }

    void open() {
        auto tx = engine_.begin();
        tx.exec("CREATE TABLE stock (sku TEXT PRIMARY KEY, pieces INTEGER NOT NULL)");
        tx.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL,"
                " paid INTEGER NOT NULL)");
        tx.exec("INSERT INTO stock (sku, pieces) VALUES ($1, $2)", "book", 3);
        tx.commit();
    }

    // [place]
    bool place(const Basket& b) {
        auto tx = engine_.begin();
        tx.exec("INSERT INTO orders (id, customer, paid) VALUES ($1, $2, 0)", b.order, b.customer);
        tx.send(orders_, b.order, Order::Place{b.sku, b.quantity});
        tx.start(onboarding_, b.customer, Customer{b.customer});  // once for each customer
        tx.exec("UPDATE stock SET pieces = pieces - $1 WHERE sku = $2", b.quantity, b.sku);
        auto left = tx.query<int>("SELECT pieces FROM stock WHERE sku = $1", b.sku);
        if (left.at(0) < 0) return false;  // neither row, nor order, nor welcome
        tx.commit();
        return true;
    }
    // [/place]

    void print() {
        struct Row { std::string id; std::string customer; std::int64_t paid = 0; };
        auto tx = engine_.begin();
        auto rows = tx.query<Row>("SELECT id, customer, paid FROM orders ORDER BY id");
        tx.commit();
        for (const auto& row : rows) {
            auto order = orders_.state(row.id);
            std::cout << "  " << row.id << " of " << row.customer << ", paid " << row.paid
                      << ", workflow " << (order ? pawl::json::encode(*order) : "none") << '\n';
        }
        std::cout << "  " << orders_.instances().instances.size() << " workflows for "
                  << rows.size() << " rows\n";
    }

private:
    static void check_receipt(const Payment& p, int attempt) {
        std::cout << "  payment of " << p.cents << " for " << p.order << ", attempt " << attempt << '\n';
        if (attempt == 1) throw std::runtime_error{"the bank does not answer"};
    }

    pawl::Engine& engine_;
    pawl::Workflow<Order> orders_ = engine_.add<Order>("order", pawl::Handlers{
        [](const Order::Invoice& e) { std::cout << "  invoice for " << e.sku << '\n'; },
        [](const Order::Ship& e) { std::cout << "  ship " << e.sku << '\n'; }});
    pawl::Function<Customer, void> onboarding_ = engine_.add("onboard", onboard);
};

int main() {
    const auto directory = std::filesystem::temp_directory_path() /
                           ("pawl-shop-" + std::to_string(::getpid()));
    std::filesystem::create_directory(directory);
    {
        pawl::ManualClock clock;  // a real program has none, and calls engine.start()
        pawl::Options options;
        options.clock = options.test.store_clock = &clock;
        pawl::Engine engine{"sqlite:" + (directory / "shop.db").string(), options};
        Shop shop{engine};
        shop.open();

        for (const Basket& basket : {Basket{"o-1", "ada", "book", 1}, {"o-2", "ada", "book", 2},
                                     {"o-3", "bob", "book", 5}})
            std::cout << basket.order << ": " << (shop.place(basket) ? "placed" : "sold out") << '\n';
        std::cout << "what follows:\n";
        engine.run_until_idle();
        shop.print();

        std::cout << "a payment comes in:\n";
        engine.publish("payments", Payment{"o-1", 4000, "r-1"}, {.key = "o-1"});
        engine.run_until_idle();
        shop.print();
        std::cout << "a second later:\n";
        clock.advance(1s);
        engine.run_until_idle();
        shop.print();
    }
    std::filesystem::remove_all(directory);
}
