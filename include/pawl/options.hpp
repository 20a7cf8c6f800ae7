/// The settings of an engine and of what is sent through it. Every field has a default.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <pawl/clock.hpp>
#include <pawl/log.hpp>
#include <pawl/policy.hpp>
#include <pawl/task.hpp>
#include <pawl/time.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

/// Hooks for tests; see <pawl/testing.hpp>.
struct TestHooks {
    /// Replaces the clock by which the store decides what is due.
    const Clock* store_clock = nullptr;
    /// Called at every named point between two writes: a crash test ends the process there.
    std::function<void(std::string_view point)> at_point{};
    /// A seed for every random choice of the engine; 0 takes the system's.
    unsigned long long seed = 0;
};

struct Options {
    /// Threads that run effect handlers. Ignored with an executor.
    int workers = 16;
    /// Takes each handler call, to run it on a pool or loop of your own. It must run every task.
    std::function<void(Task)> executor{};
    /// Called with every line of log, from any thread. Without it pawl prints nothing.
    std::function<void(const LogRecord&)> log{};
    /// The process's own clock. Its `now` is only the time part of ids: what is due is decided by
    /// the store's clock. Its `elapsed` measures leases and timeouts.
    const Clock* clock = nullptr;
    /// Of pawl's tables.
    std::string prefix = "pawl_";
    /// How long claims survive a process that went silent.
    Duration lease = std::chrono::seconds{15};
    /// Items claimed by this process at a time, running or about to run. 0: it only sends.
    std::size_t claims = 256;
    /// Bodies of durable functions and of their steps that run at a time on pawl's threads. A run
    /// that waits for a commit, or that the caller of `start_and_wait` executes, does not count.
    /// There are up to four times as many threads. 0: this process executes no functions. Steps
    /// beside each other run on the workers.
    std::size_t max_bodies = 64;
    /// Number of processes that an item or a message may end while it runs alone, before it is
    /// buried.
    int losses = 3;
    /// Instances whose state is kept in memory.
    std::size_t cached_instances = 10'000;
    /// Inputs waiting to be committed, at most. Then `send` waits up to its timeout.
    std::size_t queue = 16'384;
    /// Inputs that wait in the inbox of one type, at most. Then `post`, and `send` and `start` in a
    /// transaction of yours, are refused (busy). 0: no limit.
    std::size_t inbox_limit = 100'000;
    /// Largest payload in bytes of one event, effect, timer or snapshot.
    std::size_t payload_limit = 1024 * 1024;
    /// How long a transaction with SQL of your own may take (`Context::transaction`). Others wait
    /// for its locks, and on SQLite for its turn to write, also to renew their leases.
    Duration transaction_limit = std::chrono::seconds{5};
    /// How long an input id is remembered; longer while older inputs wait in an inbox.
    Duration input_id_retention = std::chrono::hours{24 * 7};
    /// How long it is remembered that an item's input was rejected or came after the finish, and
    /// dead messages that nothing is to be done about any more.
    Duration ending_retention = std::chrono::hours{24 * 7};
    /// How long dead letters are kept. Without a value: until they are retried or discarded.
    std::optional<Duration> dead_letter_retention{};
    /// How long finished instances are kept, with their journals; longer while an effect or a dead
    /// letter of theirs is left. Their ids are then free again. Without a value: for ever.
    std::optional<Duration> finished_retention{};
    /// How long the destructor waits for handlers that are running.
    Duration stop_deadline = std::chrono::seconds{30};
    TestHooks test{};
};

/// Of one workflow type.
struct WorkflowOptions {
    /// For timers; effects have the policy of their handler (`pawl::with`).
    Policy timers{};
    /// For effects whose handler has no policy of its own.
    Policy effects{};
    /// A snapshot is written after this many events.
    int snapshot_every = 100;
};

/// Of one input.
struct SendOptions {
    /// Applied at most once per instance, also after a restart. Empty: a resend is a new input.
    std::string input_id{};
    std::string correlation{};  ///< empty: the id of the first event
    std::string conversation{};
    std::string tenant{};
    std::string trace{};  ///< W3C traceparent
    Duration timeout = std::chrono::seconds{30};
    /// Of an input that is JSON (`Engine::send`): fields that its type does not have are ignored,
    /// instead of refused. Has no meaning for typed inputs.
    bool lenient = false;
};

}  // namespace pawl::inline v0
