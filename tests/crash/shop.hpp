/// An engine on a scene's database with the scene's workflows, as every process of it has one.
#pragma once

#include <pawl/pawl.hpp>
#include <random>
#include <string>

#include "crash/ledger.hpp"

namespace pawl::crash {

/// Short, so that a scene need not wait for the dead.
inline constexpr Duration lease = std::chrono::milliseconds{500};
/// Never reached by chance: in these scenes processes are killed all the time.
inline constexpr int endless = 1'000'000;

struct ShopOptions {
    std::string url{};
    Options engine{};
    bool handlers = true;  ///< performs effects, if it is started
    bool failures = true;  ///< one handler call in ten fails
    int losses = endless;  ///< by whose kills is not known
    unsigned seed = 1;
};

class Shop {
public:
    Shop(ShopOptions options, const Ledger& ledger);

    Engine& engine() { return engine_; }
    /// Sends it until there is an answer, and notes that.
    OutcomeRecord send(const Sent& sent);

private:
    void perform(const Delivery& delivery, const std::string& what);
    void add_workflows();

    ShopOptions options_;
    const Ledger& ledger_;
    Engine engine_;
};

/// Makes inputs up, from a seed.
class Customer {
public:
    Customer(std::string name, unsigned seed) : name_(std::move(name)), random_(seed) {}

    Sent next();
    bool chance(int in_a_hundred) { return pick(100) < in_a_hundred; }

private:
    int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

    std::string name_;
    std::minstd_rand random_;
    int count_ = 0;
};

}  // namespace pawl::crash
