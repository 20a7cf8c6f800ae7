// expect: pawl: an effect of this workflow has no handler: pass a callable that takes it
// expect: CheckEffect<Order, Order::Ship
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    using Input = std::variant<Pay>;
    struct Paid {};
    using Event = std::variant<Paid>;
    struct Invoice {};
    struct Ship {};
    using Effect = std::variant<Invoice, Ship>;
    void evolve(const Paid&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Engine& engine) {
    engine.add<Order>("order", pawl::Handlers{[](const Order::Invoice&) {}});
}
