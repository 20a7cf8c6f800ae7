/// Handles to durable functions and to their runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <pawl/context.hpp>
#include <pawl/error.hpp>
#include <pawl/export.hpp>
#include <pawl/inspect.hpp>
#include <pawl/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

class Engine;

/// Of one durable function.
struct FunctionOptions {
    /// Of its code. A run stays with the version it was started with: while processes of two
    /// versions run side by side, each finishes its own.
    int version = 1;
    /// This process also executes runs of versions from here on (`Context::version` tells them
    /// apart). 0: only `version`.
    int oldest = 0;
    /// Entries in the journal of one run, at most; a warning is logged at four fifths of it.
    std::int64_t journal_limit = 100'000;
    /// Executed by this process at a time; 0: as many as there is room for.
    int at_once = 0;
};

/// Of one start.
struct StartOptions {
    std::string correlation{};
    std::string conversation{};
    std::string tenant{};
    std::string trace{};
    Duration timeout = std::chrono::seconds{30};
};

/// What a run is doing. The numbers are stored and never change.
enum class RunStatus : std::uint8_t {
    pending = 1,  ///< started; no process has claimed it yet
    running = 2,  ///< a process executes it, or will as soon as one has room
    waiting = 3,  ///< for a time, a signal or a child; it holds no thread
    retrying =
        4,  ///< an attempt at a step, or at the run itself, failed; the next one is due later
    paused = 5,
    succeeded = 6,
    failed = 7,
    cancelled = 8,
    terminated = 9,
};

/// Whether it is over.
constexpr bool finished(RunStatus status) { return status >= RunStatus::succeeded; }

/// Thrown when the result is asked of a run that ended without one.
class PAWL_API RunFailed : public std::runtime_error {
public:
    RunFailed(RunStatus status, std::string id, const std::string& reason);
    RunStatus status() const noexcept { return status_; }
    const std::string& id() const noexcept { return id_; }
    const std::string& reason() const noexcept { return reason_; }

private:
    RunStatus status_;
    std::string id_;
    std::string reason_;
};

/// One run in a list.
struct RunSummary {
    std::string type{};
    std::string id{};
    RunStatus status = RunStatus::pending;
    std::int64_t entries = 0;  ///< in its journal
    std::string tenant{};
    /// The error of a failed, cancelled, terminated or retrying run.
    std::string last_error{};
    /// Attempts begun, of the run or of the step that it retries; 0 while it waits.
    int attempt = 0;
    /// When it resumes by itself; absent: now, on a signal, or never.
    std::optional<Time> next_at{};
    std::string held_by{};  ///< the process that executes it, "host:pid"; empty: none does
    Time started_at{};
    Time updated_at{};
    std::optional<Time> finished_at{};
};

struct RunQuery {
    std::string type{};
    std::string id_prefix{};
    std::vector<RunStatus> statuses{};  ///< any of these; empty: all
    std::string tenant{};
    std::optional<Time> started_from{};
    std::optional<Time> started_before{};
    std::string cursor{};  ///< `next` of the page before
    std::size_t limit = 100;
};

/// On PostgreSQL, two runs that different processes started within a second are in either order.
struct RunList {
    std::vector<RunSummary> runs{};  ///< oldest first
    std::string next{};              ///< empty: this was the last page
};

/// What the journal knows of one step.
struct StepSummary {
    std::string name{};
    int call = 0;  ///< which call of the function it was, from 1; 0: it was acquired by name
    int attempts = 0;
    bool finished = false;
    std::optional<std::string> result{};  ///< JSON
    std::string error{};                  ///< of the last attempt that failed
    std::optional<Time> finished_at{};
};

namespace detail {

/// A run's handle without its types: the verbs as the engine has them.
class PAWL_API RunHandle {
public:
    RunHandle(Engine& engine, std::string type, std::string id)
        : engine_(&engine), type_(std::move(type)), id_(std::move(id)) {}

    struct Start {
        std::string_view type{};
        std::string_view id{};
        std::string input{};  ///< encoded
        StartOptions options{};
    };
    static RunHandle start(Engine& engine, Start start);
    /// The encoded result. Throws RunFailed.
    static std::string start_and_wait(Engine& engine, Start start);
    static RunList list(Engine& engine, const RunQuery& query);

    const std::string& id() const { return id_; }
    /// The encoded result, absent when `timeout` passes first. Throws RunFailed.
    std::optional<std::string> result(Duration timeout) const;
    void signal(std::string_view name, std::string value) const;
    void cancel(std::string_view reason) const;
    void pause() const;
    void resume() const;
    void terminate(std::string_view reason) const;
    RunHandle restart_from(std::string_view step, std::string_view new_id) const;
    RunStatus status() const;
    std::optional<std::string> value(std::string_view key, Duration timeout) const;
    std::vector<StepSummary> steps() const;
    std::vector<JournalEntry> journal(std::int64_t after, std::size_t limit) const;
    std::string export_journal() const;

private:
    void mail(const char* name, std::string bytes) const;
    void check_executed() const;

    Engine* engine_;
    std::string type_;
    std::string id_;
};

}  // namespace detail

/// One run, from any process. Cheap to copy; valid while its engine lives. Every verb that asks for
/// a run that is not there throws pawl::Error (unknown).
template <class Out>
class Run {
public:
    const std::string& id() const { return handle_.id(); }

    /// The result, once it is there; absent when `timeout` passes first. Woken, not polled. Throws
    /// RunFailed if the run failed, was cancelled or terminated.
    template <class Rep, class Period>
    std::optional<detail::Value<Out>> result(std::chrono::duration<Rep, Period> timeout) const {
        auto bytes = handle_.result(duration(timeout));
        if (!bytes) return std::nullopt;
        return decoded(*bytes);
    }
    /// The same, however long it takes. Throws pawl::Error (unavailable) once the engine is
    /// stopped, unless the run has ended: nobody here would hear of it.
    Out result() const {
        auto bytes = handle_.result(Duration::max());
        if constexpr (!std::is_void_v<Out>) return json::decode<Out>(bytes.value());
    }

    /// Sends a value that the function waits for by name, or will wait for. Without a value, it is
    /// for a `wait<void>`.
    template <class T>
    void signal(std::string_view name, const T& value) const {
        handle_.signal(name, detail::encoded_value(value));
    }
    void signal(std::string_view name) const { handle_.signal(name, "null"); }

    /// Asks it to end: it gets a Cancelled at its next call of the context, its registered
    /// compensations are run, its children are cancelled too.
    void cancel(std::string_view reason = "") const { handle_.cancel(reason); }
    /// It goes on after `resume`; a step that is running is finished first.
    void pause() const { handle_.pause(); }
    void resume() const { handle_.resume(); }
    /// Ends it at once, whatever it is doing and whether or not any process knows its code: nothing
    /// is compensated, and what it is doing is not recorded any more.
    void terminate(std::string_view reason = "") const { handle_.terminate(reason); }
    /// A new run with the same input and everything that was recorded before the first call of this
    /// step; it does this step and what follows anew. An `any` with this step is decided anew, too.
    Run restart_from(std::string_view step, std::string_view new_id) const {
        return Run{handle_.restart_from(step, new_id)};
    }

    RunStatus status() const { return handle_.status(); }
    /// What the function set last under this key; absent if it has not.
    template <class T>
    std::optional<T> value(std::string_view key) const {
        return value<T>(key, std::chrono::seconds{0});
    }
    /// The same, waiting for it up to `timeout`.
    template <class T, class Rep, class Period>
    std::optional<T> value(std::string_view key, std::chrono::duration<Rep, Period> timeout) const {
        auto bytes = handle_.value(key, duration(timeout));
        if (!bytes) return std::nullopt;
        return json::decode<T>(*bytes);
    }
    /// Its steps in the order in which they were recorded.
    std::vector<StepSummary> steps() const { return handle_.steps(); }
    std::vector<JournalEntry> journal(std::int64_t after = 0, std::size_t limit = 1000) const {
        return handle_.journal(after, limit);
    }
    /// The whole journal as lines of JSON, for `pawl::testing::replay`.
    std::string export_journal() const { return handle_.export_journal(); }

private:
    template <class I, class O>
    friend class Function;
    template <class I, class O>
    friend class Steps;
    explicit Run(detail::RunHandle handle) : handle_(std::move(handle)) {}
    static detail::Value<Out> decoded(const std::string& bytes) {
        if constexpr (std::is_void_v<Out>)
            return {};
        else
            return json::decode<Out>(bytes);
    }
    detail::RunHandle handle_;
};

/// A typed handle to one durable function of an engine. Cheap to copy; valid while its engine
/// lives.
template <class In, class Out>
class Function {
public:
    using Input = In;
    using Output = Out;

    /// Starts a run, durably. If there is one of this id already, it is returned as it is.
    Run<Out> start(std::string_view id, const In& input = {}, StartOptions options = {}) const {
        return Run<Out>{detail::RunHandle::start(
            *engine_, {name_, id, json::encode(input), std::move(options)})};
    }
    /// Starts it, or finds it, and waits for its result. A new run is executed on the calling
    /// thread, as far as it gets without a suspension: it waits anyway.
    Out start_and_wait(std::string_view id, const In& input = {}, StartOptions options = {}) const {
        auto bytes = detail::RunHandle::start_and_wait(
            *engine_, {name_, id, json::encode(input), std::move(options)});
        if constexpr (!std::is_void_v<Out>) return json::decode<Out>(bytes);
    }
    /// The run of this id, whether or not it is there.
    Run<Out> run(std::string_view id) const {
        return Run<Out>{detail::RunHandle{*engine_, name_, std::string{id}}};
    }
    /// Of this function; `query.type` is set for you.
    RunList runs(RunQuery query = {}) const {
        query.type = name_;
        return detail::RunHandle::list(*engine_, query);
    }
    const std::string& name() const { return name_; }

private:
    friend class Engine;
    Function(Engine& engine, std::string name) : engine_(&engine), name_(std::move(name)) {}

    Engine* engine_;
    std::string name_;
};

}  // namespace pawl::inline v0
