/// The commit verb: a group in one transaction, and what to do when a part of it can't be written.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "store/sql/claim_marks.hpp"
#include "store/sql/database.hpp"
#include "store/sql/group.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/receipts.hpp"
#include "store/sql/stray_claims.hpp"

namespace pawl::store::sql {

/// Thread-safe as far as the database's leases are.
class Committing {
public:
    Committing(Database& database, const Group::Known& known, StrayClaims& strays,
               ClaimMarks& marks, Receipts& receipts)
        : database_(database), known_(known), strays_(strays), marks_(marks), receipts_(receipts) {}

    void commit(std::span<const Commit> commits, std::span<Answer> answers);

    /// For who brings a transaction of his own. One that was left by an exception is not given
    /// back.
    std::unique_ptr<Group> take_group();
    void give_back(std::unique_ptr<Group> group);
    /// When such a transaction is committed: whoever waits for work may find some.
    void written(std::span<const Commit> commits);

private:
    /// Only guards to look at: nobody needs to wait for a turn to write.
    void confirm(std::span<const Commit> commits, std::span<Answer> answers);
    /// Halves what fails until the Commit at fault stands alone. All in one transaction, so that an
    /// error that is nobody's fault still undoes everything.
    static void bisect(Group& group, Connection& connection, const Group::Run& run,
                       BrokenChains& broken);
    enum class Progress { begun, committing, committed };
    /// One group, from its first try to the answer.
    struct Sending {
        Group::Run run{};
        Progress progress = Progress::begun;
        std::optional<Receipt> receipt{};            ///< where its effects do not show it
        std::vector<std::vector<Answer>> lost = {};  ///< of the tries whose commit was sent
    };
    void write(Group& group, Sending& sending);
    /// The group in a transaction of its own. False: an earlier try was committed.
    bool run_whole(Group& group, Connection& connection, const Group::Run& run, Sending& sending);
    /// False: something was not as it was presumed, and nothing was written.
    bool write_presumed(Group& group, Sending& sending);
    void write_until_known(Group& group, const Group::Run& run);
    void disown(const Group::Run& run);

    Database& database_;
    const Group::Known known_;
    StrayClaims& strays_;
    ClaimMarks& marks_;
    Receipts& receipts_;
    std::atomic<int> wary_{0};  // groups that read first, after one that presumed wrongly
    std::mutex mutex_;          // of the groups below
    std::vector<std::unique_ptr<Group>> groups_;  // as many as there are writers at a time
};

}  // namespace pawl::store::sql
