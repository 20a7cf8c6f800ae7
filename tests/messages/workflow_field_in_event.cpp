// expect: pawl: a pointer can't travel
// expect: Paid.*("receipt"|114, 101, 99, 101, 105, 112, 116)
// expect: Order
#include <pawl/pawl.hpp>

struct Order {
    struct Pay {};
    using Input = std::variant<Pay>;
    struct Paid {
        int cents = 0;
        int* receipt = nullptr;
    };
    using Event = std::variant<Paid>;
    void evolve(const Paid&) {}
    pawl::Decision<Order> decide(const Pay&) const { return Paid{}; }
};

void run(pawl::Engine& engine) { engine.add<Order>("order"); }
