/// The small workflows that the scenarios run.
#pragma once

#include <pawl/pawl.hpp>
#include <string>

namespace pawl::bench {

/// One input, one event, one effect; the effect's result finishes it.
struct Parcel {
    struct Post {
        std::string to;
        int weight = 1;
    };
    struct Deliver {};
    using Input = std::variant<Post, Deliver>;
    struct Posted {
        std::string to;
        int weight = 1;
    };
    struct Arrived {};
    using Event = std::variant<Posted, Arrived>;
    struct Carry {
        std::string to;
        int weight = 1;
    };
    using Effect = std::variant<Carry>;

    int posted = 0;
    bool arrived = false;

    void evolve(const Posted&) { ++posted; }
    void evolve(const Arrived&) { arrived = true; }
    Decision<Parcel> decide(const Post& in) const {
        return Decision<Parcel>{Posted{in.to, in.weight}}.effect(Carry{in.to, in.weight});
    }
    Decision<Parcel> decide(const Deliver&) const { return Arrived{}; }
    bool finished() const { return arrived; }
};

/// Rings at a time.
struct Alarm {
    struct Arm {
        Time at;
    };
    struct Ring {
        Time at;
    };
    using Input = std::variant<Arm, Ring>;
    struct Armed {};
    struct Rung {};
    using Event = std::variant<Armed, Rung>;

    bool rung = false;

    void evolve(const Armed&) {}
    void evolve(const Rung&) { rung = true; }
    Decision<Alarm> decide(const Arm& in) const {
        return Decision<Alarm>{Armed{}}.at(in.at, Ring{in.at});
    }
    Decision<Alarm> decide(const Ring& in, const Moment& moment) const;
    bool finished() const { return rung; }
};

inline std::string numbered(const std::string& prefix, long n) {
    const auto digits = std::to_string(n);
    return prefix + std::string(10 - digits.size(), '0') + digits;
}

}  // namespace pawl::bench
