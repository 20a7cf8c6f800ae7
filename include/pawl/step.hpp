/// Steps of a durable function: how they are tried, what a body is told, how they fail.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/export.hpp>
#include <pawl/time.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

/// Of one step. Waits between attempts grow from `base` by doubling up to `cap`; the function is
/// suspended meanwhile. `jitter` is the share of each wait that is random.
struct StepOptions {
    int attempts = 10;  ///< in all; then the function gets a StepFailed
    Duration base = std::chrono::seconds{1};
    Duration cap = std::chrono::minutes{5};
    double jitter = 0.5;
    /// Of one attempt: then its `stop` is requested. 0: none.
    Duration deadline = std::chrono::minutes{5};
    /// The longest time between two calls of `Attempt::beat` before `stop` is requested. 0: none.
    Duration heartbeat{0};
    /// It may run again after a crash although it was finished: its record need not be durable
    /// before the next step begins, and is written with it.
    bool repeatable = false;
};

namespace detail {
/// Throws Error (invalid) for numbers that make no sense.
PAWL_API void check_options(std::string_view step, const StepOptions& options);
}  // namespace detail

/// One attempt at a step. At least once: hand `key` to whatever must not happen twice.
struct PAWL_API Attempt {
    std::string key{};  ///< the same at every attempt of this step, on every machine
    int number = 1;
    std::optional<Time> deadline{};
    /// Requested at the deadline, when the heart stands still, when another branch of an `any` was
    /// first, or when a stop of the engine is urgent.
    std::stop_token stop{};
    /// Says that it is alive, for `StepOptions::heartbeat`.
    void beat() const;

    struct Pulse {
        virtual void beat() = 0;

    protected:
        ~Pulse() = default;
    };
    Pulse* pulse = nullptr;
};

/// Thrown into the function by a step whose attempts are used up, or whose failure is permanent.
/// What it says is recorded, so a replay throws the same.
class PAWL_API StepFailed : public std::runtime_error {
public:
    StepFailed(std::string step, int attempts, std::string reason, bool permanent);
    const std::string& step() const noexcept { return step_; }
    int attempts() const noexcept { return attempts_; }
    /// What the body's exception said.
    const std::string& reason() const noexcept { return reason_; }
    bool permanent() const noexcept { return permanent_; }

private:
    std::string step_;
    std::string reason_;
    int attempts_ = 0;
    bool permanent_ = false;
};

/// Thrown into the function by a child that did not succeed.
class PAWL_API ChildFailed : public std::runtime_error {
public:
    ChildFailed(std::string type, std::string id, std::string status, std::string reason);
    const std::string& type() const noexcept { return type_; }
    const std::string& id() const noexcept { return id_; }
    const std::string& status() const noexcept { return status_; }  ///< "failed", "cancelled", ...
    const std::string& reason() const noexcept { return reason_; }

private:
    std::string type_;
    std::string id_;
    std::string status_;
    std::string reason_;
};

/// Thrown by every call of a Context once its run is cancelled. A function may clean up in memory
/// and let it pass; whoever swallows it gets it again, and the run ends as cancelled all the same.
class PAWL_API Cancelled : public std::runtime_error {
public:
    explicit Cancelled(const std::string& reason);
};

}  // namespace pawl::inline v0
