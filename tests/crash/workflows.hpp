/// Workflows in which anything that is lost, applied twice or too early can be seen afterwards.
#pragma once

#include <chrono>
#include <pawl/pawl.hpp>
#include <string>
#include <variant>

namespace pawl::crash {

/// Adds amounts. Every Add has an effect with a result, and a timer, and `decide` looks for no
/// repetition: what comes twice stands in the journal twice.
struct Account {
    struct Add {
        std::int64_t amount = 0;
        std::string tag;
        std::int64_t delay = 0;  // of its Tick, in milliseconds
    };
    struct Note {
        std::string tag{};
        std::string key{};
    };
    struct Tick {
        std::string tag;
    };
    struct Close {};
    using Input = std::variant<Add, Note, Tick, Close>;

    struct Added {
        std::int64_t amount = 0;
        std::string tag;
        std::int64_t delay = 0;
    };
    struct Noted {
        std::string tag;
        std::string key;
    };
    struct Ticked {
        std::string tag;
    };
    struct Closed {};
    using Event = std::variant<Added, Noted, Ticked, Closed>;

    struct Notify {
        std::string tag;
    };
    using Effect = std::variant<Notify>;

    std::int64_t total = 0;
    std::int64_t noted = 0;
    std::int64_t ticked = 0;
    bool closed = false;

    void evolve(const Added& e) { total += e.amount; }
    void evolve(const Noted&) { ++noted; }
    void evolve(const Ticked&) { ++ticked; }
    void evolve(const Closed&) { closed = true; }

    using Decision = pawl::Decision<Account>;
    Decision decide(const Add& in) const {
        return Decision{Added{in.amount, in.tag, in.delay}}
            .effect(Notify{in.tag})
            .after(std::chrono::milliseconds{in.delay}, Tick{in.tag});
    }
    Decision decide(const Note& in) const { return Noted{in.tag, in.key}; }
    Decision decide(const Tick& in) const { return Ticked{in.tag}; }
    Decision decide(const Close&) const { return Closed{}; }

    bool finished() const { return closed; }
};

/// Is paid by the result of its effect, or expires by its keyed timer.
struct Purchase {
    struct Place {
        std::string tag;
        bool pays = false;
        std::int64_t delay = 0;  // until it expires, in milliseconds; unless it pays
    };
    struct Charge {
        std::string key;
    };
    struct Expire {};
    using Input = std::variant<Place, Charge, Expire>;

    struct Placed {
        std::string tag;
        bool pays = false;
        std::int64_t delay = 0;
    };
    struct Paid {
        std::string key;
    };
    struct Expired {};
    using Event = std::variant<Placed, Paid, Expired>;

    struct Collect {
        std::string tag;
    };
    struct Remind {
        std::string tag;
    };
    using Effect = std::variant<Collect, Remind>;

    enum class Status { fresh, placed, paid, expired } status{};

    void evolve(const Placed&) { status = Status::placed; }
    void evolve(const Paid&) { status = Status::paid; }
    void evolve(const Expired&) { status = Status::expired; }

    using Decision = pawl::Decision<Purchase>;
    Decision decide(const Place& in) const {
        if (status != Status::fresh) return pawl::reject("already placed");
        Decision decision{Placed{in.tag, in.pays, in.delay}};
        if (in.pays)
            return decision.effect(Collect{in.tag}).after(std::chrono::hours{1}, Expire{}, "pay");
        return decision.effect(Remind{in.tag})
            .after(std::chrono::milliseconds{in.delay}, Expire{}, "pay");
    }
    Decision decide(const Charge& in) const {
        if (status != Status::placed) return pawl::reject("not awaiting payment");
        return Decision{Paid{in.key}}.cancel("pay");
    }
    Decision decide(const Expire&) const { return Expired{}; }

    bool finished() const { return status == Status::paid || status == Status::expired; }
};

/// Its effect may kill the process that performs it.
struct Errand {
    struct Go {
        bool deadly = false;
    };
    struct Arrive {};
    using Input = std::variant<Go, Arrive>;
    struct Gone {
        bool deadly = false;
    };
    struct Arrived {};
    using Event = std::variant<Gone, Arrived>;
    struct Walk {
        bool deadly = false;
    };
    using Effect = std::variant<Walk>;

    bool arrived = false;

    void evolve(const Gone&) {}
    void evolve(const Arrived&) { arrived = true; }

    using Decision = pawl::Decision<Errand>;
    Decision decide(const Go& in) const {
        return Decision{Gone{in.deadly}}.effect(Walk{in.deadly});
    }
    Decision decide(const Arrive&) const { return Arrived{}; }

    bool finished() const { return arrived; }
};

}  // namespace pawl::crash
