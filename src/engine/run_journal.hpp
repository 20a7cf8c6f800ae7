/// The journal of one run in memory: what each call of the function has come to so far.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/run_records.hpp"
#include "store/values.hpp"

namespace pawl::engine {

/// What the journal knows of one call of the context.
struct RecordedCall {
    enum class Kind : std::uint8_t { none, step, sleep, wait, child, value, now, change };
    Kind kind = Kind::none;
    std::string name;  ///< of the step, signal, value or change; type of the child

    bool ended = false;
    std::string result;                ///< encoded
    std::optional<std::string> error;  ///< of a step or child that failed
    std::string status;                ///< of a child that ended
    bool permanent = false;
    int attempts = 0;  ///< of a step: those that failed, or all when it ended
    std::string last_error;
    std::optional<Time> due;  ///< the next attempt, or the end of a sleep or of patience
    int signal = 0;           ///< of a wait that ended: which of its name; 0: none came
    Time at{};                ///< of now
    int version = 0;          ///< of a change
    std::string child;        ///< id
    bool waited_for = false;
    bool started = false;  ///< the child is known to be there
};

/// "step", "sleep", ...
const char* name(RecordedCall::Kind kind);

/// Folds entries one after the other. Not thread-safe.
class RunJournal {
public:
    /// Throws Error (codec) for an entry that it can't read; entries of the user's are passed over.
    void fold(const store::Event& event);
    /// The same for an entry that was just made of `record`, and need not be read.
    template <class Record>
    void fold(const Record& record, const store::Event& event) {
        if constexpr (std::is_same_v<Record, records::Step>)
            fold_step(record);
        else
            fold(event);
    }

    /// What is recorded of this call, or nullptr.
    const RecordedCall* find(int call) const;
    int last_call() const { return last_call_; }

    const records::Started& started() const { return started_; }
    const std::optional<records::Finished>& finished() const { return finished_; }
    const std::optional<records::Compensating>& compensating() const { return compensating_; }
    bool cancel_requested() const { return cancel_.has_value(); }
    const std::string& cancel_reason() const { return *cancel_; }
    bool paused() const { return paused_; }

    /// The encoded signal number `number` (from 1) of this name, or nullptr while it has not come.
    const std::string* signal(const std::string& name, int number) const;
    bool has_signal(const Uuid& id) const { return signal_ids_.contains(id); }
    /// How many signals of this name were received by waits.
    int received(const std::string& name) const;
    /// Which branch of the `any` that began with this call was first.
    std::optional<int> winner(int call) const;
    /// Whether those who were not need not be asked again to end.
    bool losers_cancelled(int call) const { return losers_cancelled_.contains(call); }
    const std::unordered_map<int, RecordedCall>& calls() const { return calls_; }

private:
    using Folds = std::unordered_map<std::string_view, void (*)(RunJournal&, const store::Event&)>;
    static const Folds folds_;  ///< by the name of the entry
    void fold_step(records::Step step);
    RecordedCall& call(int number, RecordedCall::Kind kind, const std::string& name);

    records::Started started_;
    std::unordered_map<int, RecordedCall> calls_;
    int last_call_ = 0;
    std::map<std::string, std::vector<std::string>> signals_;
    std::set<Uuid> signal_ids_;
    std::map<std::string, int> received_;
    std::unordered_map<int, int> winners_;
    std::set<int> losers_cancelled_;
    std::optional<std::string> cancel_;
    bool paused_ = false;
    std::optional<records::Compensating> compensating_;
    std::optional<records::Finished> finished_;
};

}  // namespace pawl::engine
