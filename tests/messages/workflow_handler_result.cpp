// expect: pawl: a handler returns nothing, an input of its workflow, or an optional one
// expect: asked_by.*Order.*(int|R = int)|W = Order; R = int
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    using Input = std::variant<Pay>;
    struct Paid {};
    using Event = std::variant<Paid>;
    struct Ship {};
    using Effect = std::variant<Ship>;
    void evolve(const Paid&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Engine& engine) {
    engine.add<Order>("order", pawl::Handlers{[](const Order::Ship&) { return 7; }});
}
