/// One execution of a run: replays what its journal holds, does what it does not.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <pawl/context.hpp>
#include <pawl/detail/execution.hpp>
#include <pawl/error.hpp>
#include <pawl/options.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "base/latch.hpp"
#include "base/log.hpp"
#include "base/pool.hpp"
#include "base/threads.hpp"
#include "engine/body_crew.hpp"
#include "engine/outgoing.hpp"
#include "engine/run_writer.hpp"
#include "engine/stop_timers.hpp"

namespace pawl::engine {

/// What an execution asks of the engine around it.
class RunSurroundings {
public:
    struct NewChild {
        std::string type;
        std::string id;
        std::string input;
        int call = 0;  ///< of the parent; 0: nobody waits for it
    };
    /// Starts them, or finds that they are there; all at once. Each start confirms `claim`, the
    /// parent's, in the same Commit. False: the claim is lost, and what was not started before
    /// will not be. Throws Error.
    virtual bool start_children(const store::Item& parent, const store::Settlement& claim,
                                std::vector<NewChild> children) = 0;
    /// Asks a run to end; nothing if it has. False: the parent's `claim` is lost, and nobody was
    /// asked.
    virtual bool cancel_child(const store::Settlement& claim, const store::InstanceName& child,
                              const std::string& reason) = 0;
    /// Runs a body beside the others; false: there are no threads for it, call it yourself.
    virtual bool run_beside(Task body) = 0;
    /// Something that others may wait for was committed to it.
    virtual void journal_has_grown(const store::InstanceName& run) = 0;
    /// Messages were committed.
    virtual void published(std::span<const store::Message> messages) = 0;
    /// Whether the engine wants to stop: a run is given back at its next boundary. `is_lent`: it is
    /// executed by the caller who waits for it.
    virtual bool is_stopping(bool is_lent) const = 0;

protected:
    ~RunSurroundings() = default;
};

/// How an execution leaves the user's function. Not a std::exception: handlers for those must not
/// take it for an error of theirs.
struct Unwinding {};

class RunExecution final : public detail::Execution {
public:
    struct Parts {
        store::Store& store;
        base::Log& log;
        base::Random& random;
        StopTimers& stops;
        RunSurroundings& surroundings;
        std::function<bool()> is_held{};  ///< whether the claim is certainly still ours
        Duration transaction_limit{0};
        OutgoingBuffer::Options outgoing{};
        base::AtPoint at_point{};
        std::stop_token stop{};    ///< of the claim: asked when the engine's patience ends
        bool is_lent = false;      ///< the caller who waits for it executes it
        bool replay_only = false;  ///< it ends where the journal does
    };
    RunExecution(Parts parts, RunWriter& writer, const store::Item& item);

    /// How the function came to its end.
    enum class Flow : std::uint8_t {
        running,
        suspended,   ///< given back until something happens
        lost,        ///< not ours any more
        mismatched,  ///< the journal is not of this code: `mismatch`
        cancelled,
        undoing,  ///< it had ended before, and is being undone
    };
    Flow flow() const { return flow_; }
    const std::string& mismatch() const { return mismatch_; }

    /// After the function has ended: throws Unwinding (mismatched) if the journal goes on.
    void check_end();
    /// Runs what is registered to undo the run, last first. Unwinds like the function.
    void run_compensations(const std::string& status, const std::string& error);
    /// What of it could not be undone.
    const std::vector<std::string>& not_undone() const { return not_undone_; }
    void cancel_children(const std::string& reason);
    /// Gives the run back as it is. `why`: empty if it is somebody else's.
    [[noreturn]] void lose(std::string why);
    [[noreturn]] void lose() { lose(writer_.failure()); }
    /// Of one that was lost: why, although it may still be ours; empty if it is somebody else's.
    const std::string& failure() const { return failure_; }

    detail::Gathered gather(std::vector<detail::Branch> branches, detail::Gathering how,
                            std::size_t at_once) override;
    void spawn(std::string_view type, std::string_view id, std::string input) override;
    void set_value(std::string_view key, std::string value) override;
    Time now() override;
    std::uint64_t random() override;
    Uuid uuid() override;
    int version(std::string_view change, int newest) override;
    void compensate(std::string_view name, StepOptions options,
                    std::function<void(const Attempt&)> body) override;
    bool replaying() const override { return calls_ < writer_.journal().last_call(); }
    const std::string& id() const override { return item_.instance.id; }
    const std::string& type() const override { return item_.instance.type; }

private:
    struct Waiting {
        detail::Branch branch;
        int call = 0;
        detail::BranchEnd end;
        enum class State : std::uint8_t { ended, ready, waiting, unstarted } state = State::ready;
        std::optional<Time> due;  ///< while it waits
        std::stop_source stop{std::nostopstate};
    };
    using Waits = std::vector<Waiting>;
    struct Undo {
        std::string name;
        StepOptions options;
        std::function<void(const Attempt&)> body;
    };

    // A store that can't be reached is no failure of the function's: the run is given back.
    template <class F>
    auto guarded(F&& f) -> decltype(f()) {
        try {
            return f();
        } catch (const Error& e) {
            if (!e.retryable() && e.code() != Code::in_doubt) throw;
            lose(e.what());
        }
    }
    void spawn_once(std::string_view type, std::string_view id, std::string input);
    void start_children(std::vector<RunSurroundings::NewChild> children);
    void cancel_child(const RecordedCall& child, const std::string& reason);
    void set_value_once(std::string_view key, std::string value);
    detail::Gathered gather_once(std::vector<detail::Branch> branches, detail::Gathering how,
                                 std::size_t at_once);

    // What every call begins with, and what may end it.
    void enter();
    [[noreturn]] void unwind(Flow flow);
    [[noreturn]] void leave(RunWriter::Written written);
    [[noreturn]] void fail_mismatch(const std::string& what);
    int next_call(RecordedCall::Kind kind, std::string_view name, std::string_view child = {});
    void check_recorded(int call, RecordedCall::Kind kind, std::string_view name,
                        std::string_view child = {});
    bool is_child(const RecordedCall& recorded, std::string_view child) const;
    void begin_anew();
    void check_held();
    void boundary();
    void make_durable();

    // Branches.
    detail::Gathered gathered(Waits& waits);
    void look_at(Waiting& wait, Time now);
    void look_at_step(Waiting& wait, const RecordedCall* recorded, Time now);
    void look_at_sleep(Waiting& wait, const RecordedCall* recorded, Time now);
    void look_at_wait(Waiting& wait, const RecordedCall* recorded, Time now);
    void look_at_call(Waiting& wait, const RecordedCall* recorded);
    bool start_some(Waits& waits, std::size_t at_once);
    void suspend_until(const Waits& waits, detail::Gathering how, std::size_t at_once);
    void run_all(Waits& waits, std::size_t at_once);
    detail::Gathered run_any(Waits& waits);
    void end_any(Waits& waits, std::size_t first);
    void cancel_losers(const Waits& waits);

    // Bodies.
    void run_ready(Waits& waits, detail::Gathering how, std::size_t at_once);
    std::shared_ptr<BodyCrew> crew_of(Waits& waits, const std::vector<std::size_t>& ready);
    void run_together(Waits& waits, const std::vector<std::size_t>& ready, std::size_t at_once);
    bool is_over(Waits& waits, const std::vector<std::size_t>& running);
    Ran run_body(Waiting& wait, int attempts);
    Ran call_body(const Waiting& wait, const Attempt& attempt);
    void conclude(Waiting& wait, Ran ran);
    void log_failed(const StepOptions& options, const records::AttemptFailed& failed,
                    std::optional<Duration> pause);
    void run_transaction(Waiting& wait);
    bool try_transaction(Waiting& wait, Ran& ran);
    void run_until_first(Waits& waits, const std::vector<std::size_t>& ready);
    std::string key_of(const std::string& name, int call) const;

    Parts parts_;
    RunWriter& writer_;
    const store::Item& item_;
    const base::OwnThread thread_;
    Flow flow_ = Flow::running;
    std::string mismatch_;
    std::string failure_;
    const std::string* in_body_ = nullptr;  ///< the step whose body runs on the function's thread
    bool bodies_run_ = false;  ///< beside this thread, of an `any`: the run can't be given back
    int calls_ = 0;
    std::uint64_t randoms_ = 0;
    bool compensating_ = false;
    std::vector<Undo> undos_;
    std::vector<std::string> not_undone_;
};

}  // namespace pawl::engine
