/// Durable functions in which anything that is lost or done again can be seen afterwards.
#pragma once

#include <pawl/pawl.hpp>
#include <random>
#include <string>

#include "crash/ledger.hpp"

namespace pawl::crash {

/// What a journey is asked to do.
struct Trip {
    int legs = 1;        ///< children
    int nap = 0;         ///< of a sleep, in milliseconds
    bool fails = false;  ///< at its end, so that everything is undone
};

/// An engine with the functions of a scene, as every process of it has one. Every step notes that
/// it is performed, with a token that is its result: the journal shows which of them counts.
class Travel {
public:
    Travel(const std::string& url, const Ledger& ledger, Options options, unsigned seed);

    Engine& engine() { return engine_; }
    const Function<Trip, std::string>& journeys() const { return journeys_; }
    /// Starts it until there is an answer; some get their signal.
    void begin(const std::string& id, const Trip& trip);
    Trip make_up(std::minstd_rand& random) const;

private:
    std::string perform(const Context& ctx, const std::string& what, const Attempt& attempt);
    std::string go(Context& ctx, const Trip& trip);

    const Ledger& ledger_;
    const unsigned seed_;
    Engine engine_;
    Function<std::string, std::string> legs_;
    Function<Trip, std::string> journeys_;
};

}  // namespace pawl::crash
