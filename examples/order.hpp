/// The order workflow: placed, then paid, or expired when no payment came in time.
#pragma once

// [order]
#include <chrono>
#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

struct Order {
    struct Place { std::string sku; int quantity = 1; std::chrono::seconds time_to_pay = 24h; };
    struct Pay { std::string receipt; };
    struct Expire {};
    using Input = std::variant<Place, Pay, Expire>;

    struct Placed { std::string sku; int quantity = 1; };
    struct Paid { std::string receipt; };
    struct Expired {};
    using Event = std::variant<Placed, Paid, Expired>;

    struct Invoice { std::string sku; int quantity = 1; };
    struct Ship { std::string sku; };
    using Effect = std::variant<Invoice, Ship>;

    using Decision = pawl::Decision<Order>;

    enum class Status { fresh, placed, paid, expired } status{};
    std::string sku;

    void evolve(const Placed& e) { status = Status::placed; sku = e.sku; }
    void evolve(const Paid&) { status = Status::paid; }
    void evolve(const Expired&) { status = Status::expired; }

    Decision decide(const Place& in) const {
        if (status != Status::fresh) return pawl::reject("already placed");
        return Decision{Placed{in.sku, in.quantity}}
            .effect(Invoice{in.sku, in.quantity})
            .after(in.time_to_pay, Expire{}, "payment");
    }
    Decision decide(const Pay& in) const {
        if (status != Status::placed) return pawl::reject("not awaiting payment");
        return Decision{Paid{in.receipt}}.effect(Ship{sku}).cancel("payment");
    }
    Decision decide(const Expire&) const { return Expired{}; }

    bool finished() const { return status == Status::paid || status == Status::expired; }
};
// [/order]
