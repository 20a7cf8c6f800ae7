// expect: pawl: sending without an id needs .static std::string route\(const Input&\)
// expect: Order::Pay
// expect: Workflow<(W|Order)>|W = Order
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    using Input = std::variant<Pay>;
    struct Paid {};
    using Event = std::variant<Paid>;
    void evolve(const Paid&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Workflow<Order> orders) { orders.send(Order::Pay{}); }
