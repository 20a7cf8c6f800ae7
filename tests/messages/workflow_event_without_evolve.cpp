// expect: pawl: an event of this workflow has no evolve: add void evolve\(const Event&\)
// expect: CheckEvent<Order, Order::Paid>
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    using Input = std::variant<Pay>;
    struct Placed {};
    struct Paid {};
    using Event = std::variant<Placed, Paid>;
    void evolve(const Placed&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Engine& engine) { engine.add<Order>("order"); }
