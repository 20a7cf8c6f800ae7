// A payment provider that knows its own payments and no orders. Its callback finds the order by the
// payment's id: when it comes late, when it comes twice, and when it comes before the order has heard
// what its payment is called.
#include <iostream>
#include <map>
#include <pawl/pawl.hpp>

struct Order {
    struct Place { std::int64_t cents = 0; };
    struct Await { std::string payment; };
    struct Pay { std::int64_t cents = 0; };
    using Input = std::variant<Place, Await, Pay>;

    struct Placed { std::int64_t cents = 0; };
    struct Awaited { std::string payment; };
    struct Paid { std::int64_t cents = 0; };
    using Event = std::variant<Placed, Awaited, Paid>;

    struct Charge { std::int64_t cents = 0; };
    using Effect = std::variant<Charge>;

    using Decision = pawl::Decision<Order>;

    std::string payment;
    std::int64_t open = 0;

    void evolve(const Placed& e) { open = e.cents; }
    void evolve(const Awaited& e) { payment = e.payment; }
    void evolve(const Paid& e) { open -= e.cents; }

    Decision decide(const Place& in) const { return Decision{Placed{in.cents}}.effect(Charge{in.cents}); }
    // [listen]
    Decision decide(const Await& in) const {
        return Decision{Awaited{in.payment}}.listen("payment:" + in.payment);
    }
    Decision decide(const Pay& in) const {
        Decision decision{Paid{in.cents}};
        if (in.cents == open) decision.unlisten("payment:" + payment);  // nothing more is expected
        return decision;
    }
    // [/listen]
    bool finished() const { return !payment.empty() && open == 0; }
};

// Somebody else's, as far away as the network.
class Provider {
public:
    std::string create(std::int64_t cents) {
        auto payment = "p-" + std::to_string(++payments_);
        std::cout << "  the provider is asked for " << cents << ", and calls it " << payment << '\n';
        if (hurries) call_back(payment, cents);
        return payment;
    }
    void call_back(const std::string& payment, std::int64_t cents) {
        std::cout << "  the provider says: " << payment << " is paid with " << cents << '\n';
        callback(payment, cents, "callback-" + payment + "-" + std::to_string(cents));
    }

    std::function<void(const std::string& payment, std::int64_t cents, const std::string& id)> callback;
    bool hurries = false;

private:
    int payments_ = 0;
};

int main() {
    Provider provider;
    pawl::Engine engine{"memory:"};
    auto orders = engine.add<Order>("order", pawl::Handlers{[&](const Order::Charge& e) -> Order::Input {
        return Order::Await{provider.create(e.cents)};
    }});
    // [callback]
    provider.callback = [&](const std::string& payment, std::int64_t cents, const std::string& id) {
        orders.route("payment:" + payment, Order::Pay{cents}, {.input_id = id});  // durable when it returns
    };
    // [/callback]
    const auto print = [&](const char* id) {
        engine.run_until_idle();  // a real program calls engine.start()
        const auto order = *orders.state(id);
        std::cout << "  " << id << ": payment " << order.payment << ", " << order.open << " to pay\n";
    };

    std::cout << "paid later, in two parts, and one of them told twice:\n";
    orders.send("o-1", Order::Place{5000});
    print("o-1");
    provider.call_back("p-1", 3000);
    provider.call_back("p-1", 3000);
    print("o-1");
    provider.call_back("p-1", 2000);
    print("o-1");

    std::cout << "paid before the order knows what its payment is called:\n";
    provider.hurries = true;
    orders.send("o-2", Order::Place{700});
    print("o-2");

    std::cout << "a payment that nobody has asked for waits:\n";
    provider.call_back("p-9", 100);
    engine.run_until_idle();
    // [waiting]
    std::cout << "  " << engine.state("pawl.router", "order/payment:p-9").value_or("nothing") << '\n';
    // [/waiting]
}
