/// The small workflows that the scenarios run.
#pragma once

#include <pawl/pawl.hpp>

namespace pawl::bench {

/// One input, one event, one effect.
struct Parcel {
    struct Post {
        std::string to;
        int weight = 1;
    };
    struct Delivered {};
    using Input = std::variant<Post, Delivered>;
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
    Decision<Parcel> decide(const Delivered&) const { return Arrived{}; }
    bool finished() const { return arrived; }
};

}  // namespace pawl::bench
