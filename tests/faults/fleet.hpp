/// Workflows of a fleet of processes that are not all alike.
#pragma once

#include <cstdint>
#include <pawl/pawl.hpp>
#include <variant>

namespace pawl::faults {

/// Has as many effects as it is told, of two sorts.
struct Parcel {
    struct Post {
        std::int64_t count = 0;
    };
    using Input = std::variant<Post>;
    struct Posted {
        std::int64_t count = 0;
    };
    using Event = std::variant<Posted>;
    struct Deliver {
        std::int64_t number = 0;
    };
    struct Insure {
        std::int64_t number = 0;
    };
    using Effect = std::variant<Deliver, Insure>;

    std::int64_t posted = 0;

    void evolve(const Posted& e) { posted += e.count; }

    using Decision = pawl::Decision<Parcel>;
    Decision decide(const Post& in) const {
        Decision decision{Posted{in.count}};
        for (std::int64_t i = 0; i < in.count; ++i)
            if (i % 2 == 0)
                decision.effect(Deliver{posted + i});
            else
                decision.effect(Insure{posted + i});
        return decision;
    }
};

/// As it was before parcels could be insured: this code knows of one effect only.
struct PlainParcel {
    using Input = Parcel::Input;
    using Event = Parcel::Event;
    using Effect = std::variant<Parcel::Deliver>;

    std::int64_t posted = 0;

    void evolve(const Parcel::Posted& e) { posted += e.count; }

    using Decision = pawl::Decision<PlainParcel>;
    Decision decide(const Parcel::Post& in) const {
        Decision decision{Parcel::Posted{in.count}};
        for (std::int64_t i = 0; i < in.count; ++i) decision.effect(Parcel::Deliver{posted + i});
        return decision;
    }
};

/// What both versions of a meter say and hear.
namespace meter {
struct Read {
    std::int64_t amount = 0;
};
struct Confirm {
    std::int64_t amount = 0;
};
struct Counted {
    std::int64_t amount = 0;
};
struct Confirmed {
    std::int64_t amount = 0;
};
struct Check {
    std::int64_t amount = 0;
};
}  // namespace meter

/// The first version of the code.
struct OldMeter {
    using Input = std::variant<meter::Read, meter::Confirm>;
    using Event = std::variant<meter::Counted, meter::Confirmed>;
    using Effect = std::variant<meter::Check>;

    static constexpr int version = 1;
    std::int64_t total = 0;
    std::int64_t sure = 0;

    void evolve(const meter::Counted& e) { total += e.amount; }
    void evolve(const meter::Confirmed& e) { sure += e.amount; }

    using Decision = pawl::Decision<OldMeter>;
    Decision decide(const meter::Read& in) const {
        return Decision{meter::Counted{in.amount}}.effect(meter::Check{in.amount});
    }
    Decision decide(const meter::Confirm& in) const { return meter::Confirmed{in.amount}; }
};

/// The next one keeps its state in another form, in which the snapshots of the first mean nothing.
struct NewMeter {
    using Input = OldMeter::Input;
    using Event = OldMeter::Event;
    using Effect = OldMeter::Effect;

    static constexpr int version = 2;
    std::int64_t readings = 0;
    std::int64_t unsure = 0;
    std::int64_t sum = 0;

    void evolve(const meter::Counted& e) {
        ++readings;
        unsure += e.amount;
        sum += e.amount;
    }
    void evolve(const meter::Confirmed& e) { unsure -= e.amount; }

    using Decision = pawl::Decision<NewMeter>;
    Decision decide(const meter::Read& in) const {
        return Decision{meter::Counted{in.amount}}.effect(meter::Check{in.amount});
    }
    Decision decide(const meter::Confirm& in) const { return meter::Confirmed{in.amount}; }
};

/// Snapshots often, so that each version meets the other's.
inline constexpr WorkflowOptions meter_options{.snapshot_every = 5};
inline constexpr Duration fleet_lease = std::chrono::seconds{2};

}  // namespace pawl::faults
