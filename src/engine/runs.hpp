/// Runs of durable functions: started, executed, told things, waited for.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <pawl/function.hpp>
#include <pawl/options.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "engine/dispatcher.hpp"
#include "engine/functions.hpp"
#include "engine/run_execution.hpp"
#include "engine/run_waiters.hpp"
#include "engine/run_writer.hpp"
#include "engine/stop_timers.hpp"

namespace pawl::engine {

/// Thread-safe.
class Runs final : public RunSurroundings, public RunItems {
public:
    struct Parts {
        store::Store& store;
        base::Log& log;
        CommitterLanes& lanes;
        base::Random& random;
        const Clock& clock;
        Dispatcher& dispatcher;
        base::Pool& bodies;
        base::Pool& threads;  ///< that functions run on
        Session& session;
        base::Pool& callbacks;
    };
    struct Options {
        std::size_t payload_limit = 0;
        Duration transaction_limit{0};
        std::function<void(Task)> executor;
        bool executes = true;  ///< functions that it knows
        base::Slots* slots =
            nullptr;  ///< none with an executor: whoever gave it limits its threads
        /// Called when messages were committed.
        std::function<void(std::span<const store::Message>)> published;
        std::function<std::shared_ptr<void>()> keep_alive;
        // What is asked for in an engine that was not started: to hear of the ends of runs, and to
        // renew the lease while a caller executes one.
        std::function<void()> attend;
        std::function<void()> keep_lease;
        base::AtPoint at_point;
    };
    Runs(Parts parts, Options options, const Functions& functions);

    struct Starting {
        const RegisteredFunction* function = nullptr;
        std::string id{};
        std::string input{};  ///< encoded
        store::Envelope envelope{};
        std::optional<records::Parent> parent{};
        std::vector<store::Event> copied{};  ///< entries to begin with, after the first
        std::string restarted_from{};
        std::optional<Uuid> seed{};
        Duration timeout = std::chrono::seconds{30};  ///< to wait for room in the commit queue
        std::optional<store::Settlement> claim{};     ///< of the run that starts it
    };
    /// True for a new run, false if there is one of this id. Throws Error.
    bool start(Starting starting);
    /// And waits until it has ended. The caller waits anyway, so a new run is executed on its
    /// thread where that is possible. In an engine that was not started it waits for what others
    /// have to do no longer than the timeout. Throws Error.
    records::Finished start_and_wait(Starting starting);
    /// Sends mail to a run. False if it is not there or has ended.
    bool mail(const store::InstanceName& run, const char* name, std::string bytes);
    /// Ends a run whatever it does. False if it had ended. Throws Error (unknown).
    bool terminate(const store::InstanceName& run, const std::string& reason);
    /// Throws Error (unknown) if there is no run, or no such step in it.
    void restart(const RegisteredFunction& function, const std::string& id, const std::string& step,
                 const std::string& new_id);

    std::optional<records::Finished> wait(const store::InstanceName& run, Duration timeout);
    std::optional<std::string> value(const store::InstanceName& run, const std::string& key,
                                     Duration timeout);

    // For runs that a user's own threads drive.
    store::Event entry(const char* name, std::string bytes) {
        return entry_of(name, std::move(bytes), parts_.clock, parts_.random);
    }
    store::Answer commit(store::Commit commit, const std::function<bool()>& patience) {
        return commit_and_wait(parts_.lanes, commit, patience);
    }
    Uuid fresh_id() { return base::uuid7(parts_.clock.now(), parts_.random); }
    void ended(const store::InstanceName& run, const records::Finished& finished) {
        waiters_.left(run, &finished);
    }

    /// Whether the engine works: those who wait for runs get to know.
    void set_life(RunWaiters::Life life) { waiters_.set_life(life); }
    /// See RunWaiters.
    base::Pause look_for_ended(bool heard) { return waiters_.look(heard); }
    base::Pause step() { return stops_.step(); }
    void on_wanted(std::function<void()> wanted);
    /// Whether bodies can run beside their function.
    void set_threads(bool threads) { has_threads_ = threads; }

    // Of what the dispatcher has claimed.
    std::vector<std::shared_ptr<void>> prepare(const std::vector<store::Item>& items) override;
    void execute(const std::shared_ptr<Held>& held) override;

    bool start_children(const store::Item& parent, const store::Settlement& claim,
                        std::vector<NewChild> children) override;
    bool cancel_child(const store::Settlement& claim, const store::InstanceName& child,
                      const std::string& reason) override;
    bool run_beside(Task body) override;
    void journal_has_grown(const store::InstanceName& run) override { waiters_.changed(run); }
    void published(std::span<const store::Message> messages) override {
        if (options_.published) options_.published(messages);
    }
    bool is_stopping(bool is_lent) const override { return parts_.dispatcher.is_stopping(is_lent); }

private:
    struct Start;
    /// What an execution begins with.
    struct Prepared {
        RunJournal journal;
        RunPlace place;
        bool finished = false;
        std::string error;              ///< the journal can't be read
        std::shared_ptr<Start> lender;  ///< whoever waits for it executes it
    };
    using HeldPtr = std::shared_ptr<Held>;
    class StartJob;

    /// All at once, and waits for the answers.
    void start_all(std::vector<Starting> all, const std::vector<std::shared_ptr<Start>>& starts);
    bool start_one(Starting starting, const std::shared_ptr<Start>& start);
    store::Commit start_commit(const Starting& starting);
    static std::shared_ptr<Prepared> prepared(const store::InstanceName& name,
                                              const store::Loaded& loaded);
    std::shared_ptr<Prepared> prepared_alone(const store::LoadRequest& wanted);
    void perform(const HeldPtr& held, base::Slot& slot);
    void run_function(const HeldPtr& held, Prepared& prepared, base::Slot& slot);
    void conclude(const HeldPtr& held, RunExecution& execution, RunWriter& writer,
                  std::optional<std::string> result, std::string error);
    bool finish(const HeldPtr& held, RunExecution& execution, RunWriter& writer,
                records::Finished finished, RunStatus status);
    store::Fate send_mail(const store::InstanceName& run, const char* name, std::string bytes,
                          const std::optional<store::Settlement>& claim);
    void tell_of_stranger(const store::Item& parent, const NewChild& child);
    void check_may_wait(const store::InstanceName& run) const;
    void put_off(const HeldPtr& held, const std::string& why);
    void try_later(const HeldPtr& held, const std::string& why);
    void offer_again(const HeldPtr& held, const std::string& why, Duration pause);
    void say_that_mail_was_left(const store::InstanceName& run);
    void log_failed(const store::Item& item, const std::string& error) const;

    Parts parts_;
    const Options options_;
    const Functions& functions_;
    StopTimers stops_;
    RunWaiters waiters_;
    std::atomic<bool> has_threads_{false};
};

/// "succeeded", "failed", ...
const char* name(RunStatus status);

}  // namespace pawl::engine
