/// The seam between typed durable functions and the engine, which handles bytes only.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <pawl/error.hpp>
#include <pawl/export.hpp>
#include <pawl/step.hpp>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {
class Context;
class Transaction;
}  // namespace pawl::inline v0

namespace pawl::inline v0::detail {

/// One thing that a function waits for: what `later` makes and `all` and `any` take.
struct Branch {
    enum class Kind : std::uint8_t { step, sleep, wait, call };
    Kind kind = Kind::step;
    std::string name{};  ///< of the step or signal; of the child's type
    StepOptions options{};
    /// Of a step: its encoded result. Called on any thread, once for each attempt.
    std::function<std::string(const Attempt&)> body{};
    bool wants_attempt = true;  ///< false: the body never looks at it
    /// Of a step whose record is committed with the body's own SQL: instead of `body`, called on
    /// the function's thread, and not beside others.
    std::function<std::string(Transaction&, const Attempt&)> transaction{};
    Duration length{0};                 ///< of a sleep
    std::optional<Time> until{};        ///< of a sleep, instead
    std::optional<Duration> timeout{};  ///< of a wait
    std::string child{};                ///< id of the child
    std::string input{};                ///< of the child, encoded
};

inline Branch branch(Branch::Kind kind, std::string_view name) {
    Branch branch;
    branch.kind = kind;
    branch.name = name;
    return branch;
}

/// What became of a branch.
struct BranchEnd {
    bool ended = false;  ///< else `any` was done without it
    bool timed_out = false;
    std::string bytes{};         ///< the encoded result; empty for a sleep
    std::string signal{};        ///< of a wait: its name
    std::exception_ptr error{};  ///< StepFailed, ChildFailed
};

struct Gathered {
    std::vector<BranchEnd> ends{};
    std::size_t first = 0;  ///< of `any`: which one won
};

/// Throws the Error (codec) of a signal whose value the function can't read.
[[noreturn]] PAWL_API void fail_signal(const BranchEnd& end, const Error& why);

enum class Gathering : std::uint8_t { all, any };

/// One execution of a run, as a Context sees it. Used by the thread that runs the function.
class Execution {
public:
    virtual ~Execution() = default;

    /// Replays what is recorded, does the rest. `at_once` children or bodies at a time; 0: all.
    virtual Gathered gather(std::vector<Branch> branches, Gathering how, std::size_t at_once) = 0;
    /// Starts a child and does not wait for it.
    virtual void spawn(std::string_view type, std::string_view id, std::string input) = 0;
    virtual void set_value(std::string_view key, std::string value) = 0;
    virtual Time now() = 0;
    virtual std::uint64_t random() = 0;
    virtual Uuid uuid() = 0;
    virtual int version(std::string_view change, int newest) = 0;
    /// Registers the undo of what was done: run last first if the run fails or is cancelled.
    virtual void compensate(std::string_view name, StepOptions options,
                            std::function<void(const Attempt&)> body) = 0;
    virtual bool replaying() const = 0;
    virtual const std::string& id() const = 0;
    virtual const std::string& type() const = 0;
};

/// One durable function, without its C++ types. Thread-safe once made.
class FunctionModel {
public:
    virtual ~FunctionModel() = default;
    /// Runs it on an encoded input; the encoded result.
    virtual std::string run(Context& context, std::string_view input) = 0;
};

}  // namespace pawl::inline v0::detail
