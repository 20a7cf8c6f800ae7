/// Randomness comes in through here, so that one seed can replay a whole run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

namespace pawl::base {

/// A source of random bits. Thread-safe.
class Random {
public:
    virtual ~Random() = default;
    virtual std::uint64_t next() = 0;
};

/// Seeded from the operating system: unpredictable, and different in every process.
std::unique_ptr<Random> system_random();

/// The same numbers for the same seed.
std::unique_ptr<Random> seeded_random(std::uint64_t seed);

}  // namespace pawl::base
