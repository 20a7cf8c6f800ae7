/// The pen of whoever holds a run: appends to its journal, and reads the mail that came for it.
#pragma once

#include <functional>
#include <limits>
#include <pawl/clock.hpp>
#include <pawl/function.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/log.hpp"
#include "base/points.hpp"
#include "base/random.hpp"
#include "base/slots.hpp"
#include "engine/committer_lanes.hpp"
#include "engine/run_journal.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// An entry of a run's journal, ready to be written.
store::Event entry_of(std::string name, std::string bytes, const Clock& clock,
                      base::Random& random);

/// Hands a Commit to the lane of its instance and waits until it is answered. `busy` and
/// `unavailable` are tried again while `patience` says so; any other error is in the answer.
store::Answer commit_and_wait(CommitterLanes& lanes, store::Commit& commit,
                              const std::function<bool()>& patience);

/// How a parent can be told that its child has ended.
enum class ParentIs : std::uint8_t {
    there,
    dead_letter,  ///< nobody counts its mail, but it reads all of it when it is retried
    gone,
};
/// What one is that has no run item.
ParentIs without_run(store::Store& store, const store::InstanceName& parent);

/// Where the journal ends that an execution knows.
struct RunPlace {
    store::Version version = 0;
    store::Head head = 0;
    std::int32_t status = 0;  ///< of the instance, as it is stored
};

/// Used by the thread that executes the run.
class RunWriter {
public:
    struct Parts {
        store::Store& store;
        base::Log& log;
        base::Slot& slot;
        CommitterLanes& lanes;
        base::Random& random;
        const Clock& clock;
        base::AtPoint at_point;
        std::size_t payload_limit = 0;
        std::int64_t journal_limit = 0;
        std::function<bool()> is_held;  ///< whether the claim may still be ours
    };
    RunWriter(Parts parts, const store::Item& item, RunJournal journal, RunPlace place);

    const RunJournal& journal() const { return journal_; }
    store::Version version() const { return version_; }

    /// Confirms, with a Commit of somebody else's, that the run is still ours.
    store::Settlement claim() const { return word_of({.verdict = store::Verdict::hold}); }

    /// Adds an entry, to be written with the next commit. Throws Error (invalid) when it, or the
    /// journal, would be too large.
    template <class Record>
    void record(const Record& record, bool repeatable = false) {
        add(Record::tag, json::encode_enveloped(record));
        journal_.fold(record, pending_.back());
        must_write_ = must_write_ || !repeatable;
    }
    /// Whether something is pending that must not come out differently after a crash.
    bool must_write() const { return must_write_; }

    enum class Written : std::uint8_t {
        yes,
        mail,  ///< no: there was mail, and it is read now
        lost,  ///< the run is not ours any more
    };
    /// Makes what is pending durable. `yes` also when mail came: it is read then.
    Written hold();
    using CommitThrough = std::function<store::Answer(const store::Commit&)>;
    /// Writes what is pending and this entry with a commit of somebody else's. The entry counts
    /// only once it is written: if `commit` throws, or the answer is not `yes`, nothing has
    /// changed.
    template <class Record>
    Written record_through(const Record& record, const CommitThrough& commit) {
        return write_through(entry(Record::tag, json::encode_enveloped(record)), commit);
    }
    /// And gives the claim back until `wake`.
    Written suspend(const store::Wake& wake, RunStatus status);
    /// And ends the run. `parent` gets to know of it, if it is still there. Throws Error (invalid)
    /// for a result that is too large; then nothing has changed.
    Written finish(const records::Finished& finished, RunStatus status);
    /// Why the last write was `lost` although the claim may still be ours; empty if it is not.
    const std::string& failure() const { return failure_; }
    /// Whether it was told by mail that nobody counted.
    bool left_mail() const { return parent_is_ == ParentIs::dead_letter; }

    /// What undoes a run is written however long its journal is.
    void lift_limit() { parts_.journal_limit = std::numeric_limits<std::int64_t>::max(); }

    /// Reads what waits in the inbox into entries that are pending.
    void read_mail();

private:
    void read_mail_later(std::int64_t mail);
    void add(const char* name, std::string bytes);
    store::Event entry(const char* name, std::string bytes);
    std::int64_t warning_limit() const { return parts_.journal_limit / 5 * 4; }
    void warn_of_limit(std::int64_t entries) const;
    Written write_through(store::Event entry, const CommitThrough& commit);
    store::Append& append_to(store::Commit& commit, RunStatus status);
    store::Settlement word_of(store::Settlement word) const;
    store::Commit commit_of(store::Settlement word, RunStatus status);
    Written write(store::Commit commit);
    store::Answer commit_away(store::Commit& commit);
    void wrote(const store::Append& append);
    bool is_known_signal(const store::InboxRow& row) const;
    Written note(const store::Answer& answer, store::Commit& commit);
    void take_back(store::Commit& commit);
    store::InstanceName parent_name() const {
        return {journal_.started().parent->type, journal_.started().parent->id};
    }
    std::optional<store::InboxRow> news_for_parent(const records::Finished& finished) const;

    Parts parts_;
    const store::InstanceName instance_;
    const store::ItemId item_;
    const store::Fence fence_;
    const store::Envelope envelope_;
    RunJournal journal_;
    store::Version version_;
    store::Head head_;
    std::int32_t status_;
    std::int64_t seen_mail_ = 0;
    bool was_lost_;  ///< with a process, since it got further last
    const bool failed_before_;
    bool warned_;  ///< of the limit, perhaps by an execution before this one
    bool must_write_ = false;
    ParentIs parent_is_ = ParentIs::there;
    std::string failure_;
    std::vector<store::Event> pending_;
    std::size_t handed_over_ = 0;      ///< so many of them to the Commit under way
    std::vector<std::int64_t> taken_;  ///< positions of mail that pending entries hold
};

}  // namespace pawl::engine
