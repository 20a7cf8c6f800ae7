// The first program: places an order in shop.db, and finds it there when it is started again.
#include <iostream>

#include "order.hpp"

int main() {
    pawl::Engine engine{"sqlite:shop.db"};
    auto orders = engine.add<Order>("order", pawl::Handlers{
        [](const Order::Invoice& e, const pawl::Delivery& d) {
            std::cout << "invoice " << e.quantity << " x " << e.sku << ", key " << d.key << '\n';
        },
        [](const Order::Ship& e) { std::cout << "ship " << e.sku << '\n'; }});
    engine.start();

    auto outcome = orders.send("o-1", Order::Place{"book", 2});  // durable when it returns
    if (outcome.rejected()) std::cout << "rejected: " << outcome.reason() << '\n';

    std::optional<Order> order = orders.state("o-1");
    if (order->status == Order::Status::placed) std::cout << "o-1 awaits payment\n";

    std::cin.get();  // handlers run on threads of the engine; Enter ends the program
}
