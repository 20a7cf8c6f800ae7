/// Workflows that the engine's tests share.
#pragma once

#include <algorithm>
#include <chrono>
#include <pawl/pawl.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace pawl::engine_test {

/// Adds up. Rejects what is negative, throws on 13, finishes at 1000.
struct Counter {
    struct Add {
        int amount = 1;
    };
    using Input = std::variant<Add>;
    struct Added {
        int amount = 1;
    };
    using Event = std::variant<Added>;

    int total = 0;
    int count = 0;

    void evolve(const Added& e) {
        total += e.amount;
        ++count;
    }
    Decision<Counter> decide(const Add& in) const {
        if (in.amount < 0) return reject("negative on " + std::to_string(total));
        if (in.amount == 13) throw std::runtime_error{"unlucky on " + std::to_string(total)};
        return Added{in.amount};
    }
    bool finished() const { return total >= 1000; }
};

/// Sends parcels: each is an effect, and what its handler returns comes back as Arrived.
struct Courier {
    struct Send {
        std::string to;
        int parcels = 1;
    };
    struct Arrived {
        std::string receipt;
    };
    using Input = std::variant<Send, Arrived>;

    struct Sent {
        std::string to;
    };
    struct Received {
        std::string receipt;
    };
    using Event = std::variant<Sent, Received>;

    struct Carry {
        std::string to;
        int parcel = 1;
    };
    using Effect = std::variant<Carry>;

    std::vector<std::string> sent;
    std::vector<std::string> received;

    void evolve(const Sent& e) { sent.push_back(e.to); }
    void evolve(const Received& e) { received.push_back(e.receipt); }

    Decision<Courier> decide(const Send& in) const {
        Decision<Courier> decision{Sent{in.to}};
        for (int i = 1; i <= in.parcels; ++i) decision.effect(Carry{in.to, i});
        return decision;
    }
    Decision<Courier> decide(const Arrived& in) const {
        if (in.receipt == "refused") return reject("the receipt is refused");
        if (in.receipt == "broken") throw std::runtime_error{"the receipt is broken"};
        return Received{in.receipt};
    }
    bool finished() const {
        return std::find(received.begin(), received.end(), "last") != received.end();
    }
};

/// Rings when its timers fire.
struct Alarm {
    struct Set {
        std::string key{};
        std::chrono::seconds in{60};
        std::string note{};
    };
    struct SetAt {
        std::string key;
        Time at{};
    };
    struct Clear {
        std::string key;
    };
    struct Ring {
        std::string note;
    };
    struct Tick {
        int left = 0;
    };
    using Input = std::variant<Set, SetAt, Clear, Ring, Tick>;

    struct WasSet {
        std::string key;
    };
    struct Cleared {};
    struct Rang {
        std::string note;
    };
    struct Ticked {
        int left = 0;
    };
    using Event = std::variant<WasSet, Cleared, Rang, Ticked>;

    std::vector<std::string> rings;
    bool over = false;

    void evolve(const WasSet&) {}
    void evolve(const Cleared&) {}
    void evolve(const Rang& e) {
        rings.push_back(e.note);
        over = e.note == "over";
    }
    void evolve(const Ticked& e) { rings.push_back("tick " + std::to_string(e.left)); }

    Decision<Alarm> decide(const Set& in) const {
        return Decision<Alarm>{WasSet{in.key}}.after(in.in, Ring{in.note}, in.key);
    }
    Decision<Alarm> decide(const SetAt& in) const {
        return Decision<Alarm>{WasSet{in.key}}.at(in.at, Ring{"at"}, in.key);
    }
    Decision<Alarm> decide(const Clear& in) const {
        return Decision<Alarm>{Cleared{}}.cancel(in.key);
    }
    Decision<Alarm> decide(const Ring& in) const {
        if (in.note == "refused") return reject("too late");
        if (in.note == "broken") throw std::runtime_error{"the bell is broken"};
        return Rang{in.note};
    }
    Decision<Alarm> decide(const Tick& in) const {
        Decision<Alarm> decision{Ticked{in.left}};
        if (in.left > 0) decision.after(std::chrono::seconds{10}, Tick{in.left - 1}, "tick");
        return decision;
    }
    bool finished() const { return over; }
};

}  // namespace pawl::engine_test
