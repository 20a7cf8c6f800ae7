/// A workflow whose decisions take as long as a test wants.
#pragma once

#include <pawl/pawl.hpp>

#include "engine/fixture.hpp"

namespace pawl::engine_test {

/// Each decision waits until all are let go.
struct Slow {
    struct Step {};
    using Input = std::variant<Step>;
    struct Stepped {};
    using Event = std::variant<Stepped>;
    int steps = 0;
    static inline Watched<bool>* inside = nullptr;
    static inline Watched<bool>* gate = nullptr;
    void evolve(const Stepped&) { ++steps; }
    Decision<Slow> decide(const Step&) const {
        inside->change([](bool& value) { value = true; });
        gate->wait([](bool is_open) { return is_open; });
        return Stepped{};
    }
};

}  // namespace pawl::engine_test
