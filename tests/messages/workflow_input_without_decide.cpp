// expect: pawl: an input of this workflow has no decide: add Decision decide\(const Input&\) const
// expect: CheckInput<Order, Order::Cancel>
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    struct Cancel {};
    using Input = std::variant<Pay, Cancel>;
    struct Paid {};
    using Event = std::variant<Paid>;
    void evolve(const Paid&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Engine& engine) { engine.add<Order>("order"); }
