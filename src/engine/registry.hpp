/// The workflow types that this engine knows.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <pawl/detail/model.hpp>
#include <pawl/options.hpp>
#include <string>
#include <string_view>

namespace pawl::engine {

/// Learns whether ids that are not in memory tend to be new. A right guess saves the look-up before
/// the first input of an instance; a wrong one costs a second decision, never a wrong answer.
class NewnessGuess {
public:
    bool likely_new() const { return score_.load(std::memory_order_relaxed) >= 0; }
    void was_new() const { move(score_.load(std::memory_order_relaxed) + 1); }
    void was_known() const { move(score_.load(std::memory_order_relaxed) - 2); }

private:
    void move(int to) const {
        if (to >= -8 && to <= 8) score_.store(to, std::memory_order_relaxed);
    }
    mutable std::atomic<int> score_{0};
};

struct Registered {
    std::string name;
    std::unique_ptr<detail::Model> model;
    WorkflowOptions options;
    NewnessGuess guess;
};

/// Filled before the engine works, read-only after.
class Registry {
public:
    /// A name that was not added before. Throws Error (invalid) if it is malformed.
    void add(std::string name, std::unique_ptr<detail::Model> model, WorkflowOptions options);
    /// Throws Error (unknown) that names the types there are.
    const Registered& get(std::string_view name) const;
    const Registered* find(std::string_view name) const;
    const std::map<std::string, Registered, std::less<>>& all() const { return types_; }

private:
    std::map<std::string, Registered, std::less<>> types_;
};

}  // namespace pawl::engine
