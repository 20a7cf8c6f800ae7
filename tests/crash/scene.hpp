/// A database, its ledger and its processes, and the proof at the end that both tell one story.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <random>

#include "conformance/temporary_directory.hpp"
#include "crash/place.hpp"
#include "crash/process.hpp"
#include "crash/shop.hpp"

namespace pawl::crash {

/// Of every random choice of a test: PAWL_SEED, or a new one, which is printed.
unsigned seed_of_this_test();
/// How long a fault scenario goes on: PAWL_SOAK_SECONDS, or this.
std::chrono::seconds fault_time(std::chrono::seconds otherwise = std::chrono::seconds{30});
/// Round after round, each with a seed of its own, until the time is over or one has failed.
void for_a_while(std::chrono::milliseconds time, const std::function<void(unsigned seed)>& round);

class Scene {
public:
    Scene(const PlaceUnderTest& place, unsigned seed)
        : place_(place.create(directory_.path())), random_(seed) {}

    struct Hiring {
        std::string role = "work";
        std::string kill_at{};  ///< POINT:N
        int hours_off = 0;
    };
    Process hire(const Hiring& hiring);

    /// Resends what has no answer, and works until nothing is left; then closes the accounts.
    void settle();
    /// Holds the journals against the ledger.
    void check();

    const Ledger& ledger() const { return ledger_; }
    std::string url() const { return place_->url(); }
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

private:
    store::conformance::TemporaryDirectory directory_;
    std::unique_ptr<Place> place_;
    Ledger ledger_{directory_.path()};
    std::minstd_rand random_;
    int hired_ = 0;
};

/// A test that runs on every store.
class CrashOn : public testing::TestWithParam<PlaceUnderTest> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    }
};

}  // namespace pawl::crash
