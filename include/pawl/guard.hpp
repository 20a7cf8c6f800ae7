/// Steps for programs with threads or an event loop of their own: acquired, done by you, recorded.
#pragma once

#include <memory>
#include <optional>
#include <pawl/context.hpp>
#include <pawl/error.hpp>
#include <pawl/export.hpp>
#include <pawl/function.hpp>
#include <pawl/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::inline v0 {

class Engine;

namespace detail {

/// A run that was opened, without its types. Thread-safe; every word throws Error (misuse) once
/// somebody else has opened the run, or it has ended.
class PAWL_API OpenedRun {
public:
    virtual ~OpenedRun() = default;

    struct Opening {
        std::string_view type{};
        std::string_view id{};
        std::string input{};  ///< encoded
        StartOptions options{};
    };
    static std::shared_ptr<OpenedRun> open(Engine& engine, Opening opening);

    struct Acquired {
        std::string key{};
        int attempt = 1;
        std::optional<std::string> result{};  ///< encoded; absent: it is yours to execute
    };
    virtual Acquired acquire(const std::string& step) = 0;
    /// Of a step that was acquired and has no result.
    virtual void release(const std::string& step) noexcept = 0;
    virtual void succeed(const std::string& step, std::string result) = 0;
    virtual void fail(const std::string& step, std::string_view error) = 0;

    virtual void finish(std::string result) = 0;
    virtual void fail_run(std::string_view reason) = 0;
    virtual bool finished() const = 0;
    virtual const std::string& id() const = 0;
    virtual std::string input() const = 0;
};

}  // namespace detail

/// The recorded result of a step, or the right to execute it: acquired from an OpenRun, whose other
/// guards may be used by other threads at the same time. Movable. If it is destroyed without a
/// word, nothing is recorded and the step can be acquired again.
template <class R>
class StepGuard {
public:
    StepGuard(StepGuard&& other) noexcept
        : run_(std::move(other.run_)),
          name_(std::move(other.name_)),
          acquired_(std::move(other.acquired_)) {}
    StepGuard& operator=(StepGuard&& other) noexcept {
        std::swap(run_, other.run_);
        std::swap(name_, other.name_);
        std::swap(acquired_, other.acquired_);
        return *this;
    }
    ~StepGuard() {
        if (run_ && !done()) run_->release(name_);
    }

    /// Whether there is a result: then it must not be executed.
    bool done() const { return acquired_.result.has_value(); }
    /// Of a step that is done. Throws Error (misuse) if it is not.
    R result() const {
        if (!done()) throw Error{Code::misuse, "step \"" + name_ + "\" has no result yet"};
        if constexpr (!std::is_void_v<R>) return json::decode<R>(*acquired_.result);
    }
    /// For whatever must not happen twice: the same at every attempt, on every machine.
    const std::string& key() const { return acquired_.key; }
    /// 1, and one more for every failure that was recorded.
    int attempt() const { return acquired_.attempt; }

    /// Records the result, durably. If it throws Error because the store can't be reached, the
    /// guard is as before and may be asked again.
    void succeed(const detail::Value<R>& value = {}) {
        check_unspoken();
        auto bytes = std::is_void_v<R> ? std::string{"null"} : json::encode(value);
        run_->succeed(name_, bytes);
        acquired_.result = std::move(bytes);
    }
    /// Records that this attempt failed, and why. The guard is used up: acquire the step again for
    /// the next attempt.
    void fail(std::string_view why) {
        check_unspoken();
        run_->fail(name_, why);
        run_ = nullptr;
    }

private:
    template <class I, class O>
    friend class OpenRun;
    StepGuard(std::shared_ptr<detail::OpenedRun> run, std::string name,
              detail::OpenedRun::Acquired acquired)
        : run_(std::move(run)), name_(std::move(name)), acquired_(std::move(acquired)) {}
    void check_unspoken() const {
        if (!run_ || done())
            throw Error{Code::misuse, "step \"" + name_ +
                                          "\" has its word: it succeeded or failed before, or its "
                                          "guard was moved from"};
    }

    std::shared_ptr<detail::OpenedRun> run_;
    std::string name_;
    detail::OpenedRun::Acquired acquired_;
};

/// A run that this program drives, until somebody else opens it. Copies are the same one; valid
/// while its engine lives. Thread-safe. Every word throws Error (misuse) once the run was opened by
/// somebody else or ended from outside; what was recorded before stays.
template <class In, class Out>
class OpenRun {
public:
    const std::string& id() const { return run_->id(); }
    /// What it was first opened with.
    In input() const { return json::decode<In>(run_->input()); }
    /// Whether it had a result, or had failed, when it was opened, or has by now.
    bool finished() const { return run_->finished(); }

    /// Its recorded result, or the right to execute this step. Throws Error (misuse) if it is
    /// acquired already and not done, or not done and the run has ended.
    template <class R = void>
    StepGuard<R> acquire(std::string_view step) const {
        static_assert(std::is_void_v<R> || json::travels<detail::Value<R>>,
                      "pawl: a step's result is of a type that can't travel as JSON");
        std::string name{step};
        auto acquired = run_->acquire(name);
        return StepGuard<R>{run_, std::move(name), std::move(acquired)};
    }

    /// Ends the run with its result.
    void finish(const detail::Value<Out>& result = {}) const {
        run_->finish(std::is_void_v<Out> ? std::string{"null"} : json::encode(result));
    }
    /// Ends it without one.
    void fail(std::string_view reason) const { run_->fail_run(reason); }

private:
    template <class I, class O>
    friend class Steps;
    explicit OpenRun(std::shared_ptr<detail::OpenedRun> run) : run_(std::move(run)) {}

    std::shared_ptr<detail::OpenedRun> run_;
};

/// A typed handle to runs whose steps this program acquires and does. Cheap to copy; valid while
/// its engine lives.
template <class In, class Out>
class Steps {
public:
    /// Starts a run, durably, or takes over the one that is there: whoever opened it before loses
    /// it. One that has ended is opened for reading. Throws Error (misuse) if the id belongs to
    /// something that was not opened in this way.
    OpenRun<In, Out> open(std::string_view id, const In& input = {},
                          StartOptions options = {}) const {
        return OpenRun<In, Out>{detail::OpenedRun::open(
            *engine_, {name_, id, json::encode(input), std::move(options)})};
    }
    /// The run of this id for onlookers, whether or not it is there. Signals and the like are
    /// refused (misuse): nobody would read them. `terminate` works, and takes it from its opener.
    Run<Out> run(std::string_view id) const {
        return Run<Out>{detail::RunHandle{*engine_, name_, std::string{id}}};
    }
    /// Of this type; `query.type` is set for you.
    RunList runs(RunQuery query = {}) const {
        query.type = name_;
        return detail::RunHandle::list(*engine_, query);
    }
    const std::string& name() const { return name_; }

private:
    friend class Engine;
    Steps(Engine& engine, std::string name) : engine_(&engine), name_(std::move(name)) {}

    Engine* engine_;
    std::string name_;
};

}  // namespace pawl::inline v0
