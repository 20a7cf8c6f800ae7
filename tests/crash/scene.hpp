/// A database, its ledger and its processes, and the proof at the end that both tell one story.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "conformance/temporary_directory.hpp"
#include "crash/process.hpp"
#include "crash/shop.hpp"

namespace pawl::crash {

/// Of every random choice of a test: PAWL_SEED, or a new one, which is printed.
unsigned seed_of_this_test();

class Scene {
public:
    explicit Scene(unsigned seed) : random_(seed) {}

    struct Hiring {
        std::string role = "work";
        std::string kill_at;  ///< POINT:N
        int hours_off = 0;
    };
    Process hire(const Hiring& hiring);

    /// Resends what has no answer, and works until nothing is left; then closes the accounts.
    void settle();
    /// Holds the journals against the ledger.
    void check();

    const Ledger& ledger() const { return ledger_; }
    std::string database() const { return (directory_.path() / "shop.db").string(); }
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

private:
    store::conformance::TemporaryDirectory directory_;
    Ledger ledger_{directory_.path()};
    std::minstd_rand random_;
    int hired_ = 0;
};

}  // namespace pawl::crash
