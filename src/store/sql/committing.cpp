#include "store/sql/committing.hpp"

#include <algorithm>
#include <pawl/error.hpp>

#include "base/points.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

namespace points = base::points;

// Whoever has lost a race is likely to lose the next one.
constexpr int groups_to_be_wary = 4;
// What is due later than this is found by whoever looks by himself.
constexpr Duration worth_knowing = std::chrono::seconds{1};

bool writes_nothing(const Commit& commit) {
    return commit.settlements.empty() && commit.inbox.empty() && commit.messages.empty() &&
           (!commit.append || (commit.append->events.empty() && !changes_status(*commit.append)));
}

// Mail makes an item due now, as a put does; only who names a time may name one that has passed.
bool puts_before(const Commit& commit, Time now) {
    const auto suspends = [&](const Settlement& settlement) {
        return settlement.verdict == Verdict::suspend && settlement.wake.at &&
               *settlement.wake.at < now;
    };
    return std::ranges::any_of(commit.settlements, suspends) ||
           (commit.append && std::ranges::any_of(commit.append->puts, [&](const Put& put) {
                return put.at && *put.at < now;
            }));
}

// Whether another process has something to do because of it, or may be waiting for it. Most Commits
// are of no interest to anybody: what they release is claimed already.
bool concerns_others(const Commit& commit, Time now) {
    if (!commit.inbox.empty() || !commit.messages.empty()) return true;
    for (const auto& settlement : commit.settlements) {
        if (settlement.verdict == Verdict::retry) return true;
        if (settlement.verdict == Verdict::suspend && settlement.wake.at &&
            *settlement.wake.at - now < worth_knowing)
            return true;
    }
    if (!commit.append) return false;
    const Append& append = *commit.append;
    return (append.finished && append.status != 0) ||
           std::ranges::any_of(append.puts, [](const Put& put) { return !put.born_claimed; });
}

// Whether the database shows afterwards that it was committed: by the id of an event, or because
// the items that it settles are gone. Whoever holds a claim may confirm that as often as he likes.
bool shows_its_commit(const Commit& commit) {
    if (commit.append && !commit.append->events.empty()) return true;
    const auto shows = [](const Settlement& settlement) {
        return settlement.verdict != Verdict::retry && settlement.verdict != Verdict::suspend;
    };
    return commit.inbox.empty() && commit.messages.empty() &&
           std::ranges::all_of(commit.settlements, shows);
}

// Whether the rows are at fault, and not the disk, the lock or the connection.
bool is_about_a_commit(const Error& error) { return error.code() == Code::invalid; }

}  // namespace

void Committing::commit(std::span<const Commit> commits, std::span<Answer> answers) {
    base::check(commits.size() == answers.size(), "there is an answer for every Commit");
    if (std::ranges::all_of(commits, writes_nothing)) return confirm(commits, answers);
    auto group = take_group();
    write_until_known(*group, {.commits = commits, .answers = answers});
    give_back(std::move(group));
    written(commits);
}

void Committing::written(std::span<const Commit> commits) {
    const Time now = database_.now();
    if (std::ranges::any_of(commits, [&](const Commit& c) { return puts_before(c, now); }))
        marks_.forget();
    if (std::ranges::none_of(commits, [&](const Commit& c) { return concerns_others(c, now); }))
        return;
    if (std::ranges::all_of(commits, only_publishes))
        database_.announce_unnumbered();
    else
        database_.announce();
}

// The connection may be lost while the database commits. Then only the database knows, and it is
// asked by sending the same again: all of the group, with its receipt.
void Committing::write_until_known(Group& group, const Group::Run& run) {
    Sending sending{.run = run};
    if (!std::ranges::all_of(run.commits, shows_its_commit)) sending.receipt = receipts_.fresh();
    for (Tries tries;;) {
        try {
            return write(group, sending);
        } catch (const Error& error) {
            if (sending.progress == Progress::committing && is_lost(error)) {
                sending.run.resent = true;
                if (sending.receipt) sending.receipt->lose_answer();
                sending.lost.emplace_back(run.answers.begin(), run.answers.end());
            }
            group.forget_numbers();
            if (tries.again(error)) continue;
            if (!sending.run.resent) throw;
            disown(run);
            fail_in_doubt(error);
        }
    }
}

// The caller will not learn which of these items the commit claimed: the session's next claim
// releases them.
void Committing::disown(const Group::Run& run) {
    for (const auto& commit : run.commits)
        if (commit.append)
            for (const auto& put : commit.append->puts)
                if (put.born_claimed) strays_.add(*put.born_claimed);
}

void Committing::write(Group& group, Sending& sending) {
    auto& progress = sending.progress;
    progress = Progress::begun;
    if (!sending.run.resent && wary_.fetch_sub(1) <= 0) {
        wary_ = 0;
        if (group.can_presume(sending.run.commits) && write_presumed(group, sending)) return;
    }
    progress = Progress::begun;
    const auto connection = database_.write(Purpose::group);
    group.words().forget();  // of a group that ended in an exception
    Group::Run run = sending.run;
    // With a receipt nothing of it is there, or it is not written again.
    if (sending.receipt) run.resent = false;
    run.now = database_.now();
    bool at_fault = false;
    try {
        if (!run_whole(group, *connection, run, sending)) return;
    } catch (const Error& error) {
        group.words().forget();
        if (!is_about_a_commit(error)) throw;
        at_fault = true;
    }
    if (at_fault) {
        progress = Progress::begun;
        Transaction transaction{*connection, Access::write};
        BrokenChains broken;
        bisect(group, *connection, run, broken);
        if (sending.receipt) sending.receipt->write(*connection);
        progress = Progress::committing;
        transaction.commit();
        connection->reach(points::group_committed);
    }
    progress = Progress::committed;
    group.words().keep();
    // What it knows after a bisection is of the last part, which may have been undone.
    if (!at_fault) group.remember_refs();
}

bool Committing::run_whole(Group& group, Connection& connection, const Group::Run& run,
                           Sending& sending) {
    Transaction transaction{connection, Access::write};
    connection.reach(points::group_begun);
    if (sending.receipt) {
        if (const auto done = sending.receipt->find(connection, database_.now())) {
            std::ranges::copy(sending.lost.at(*done), run.answers.begin());
            sending.receipt->confirm(connection);
            transaction.commit();
            return false;
        }
    }
    BrokenChains broken;
    group.apply(connection, run, broken);
    if (sending.receipt) sending.receipt->write(connection);
    sending.progress = Progress::committing;
    transaction.commit();
    connection.reach(points::group_committed);
    return true;
}

bool Committing::write_presumed(Group& group, Sending& sending) {
    const auto connection = database_.write(Purpose::group);
    group.words().forget();
    Group::Run run = sending.run;
    run.now = database_.now();
    run.presumed = true;
    try {
        run_whole(group, *connection, run, sending);
    } catch (const Error& error) {
        group.words().forget();
        // Whether it was a guard or a row, the longer way finds out which.
        const bool collided = dynamic_cast<const Collision*>(&error) != nullptr;
        if (!collided && !is_about_a_commit(error)) throw;
        wary_ = groups_to_be_wary;
        return false;
    }
    sending.progress = Progress::committed;
    group.words().keep();
    group.remember_refs();
    return true;
}

std::unique_ptr<Group> Committing::take_group() {
    {
        const std::lock_guard lock{mutex_};
        if (!groups_.empty()) {
            auto group = std::move(groups_.back());
            groups_.pop_back();
            return group;
        }
    }
    return std::make_unique<Group>(database_, known_);
}

void Committing::give_back(std::unique_ptr<Group> group) {
    const std::lock_guard lock{mutex_};
    groups_.push_back(std::move(group));
}

void Committing::confirm(std::span<const Commit> commits, std::span<Answer> answers) {
    auto group = take_group();
    in_read(database_, [&](Connection& connection) {
        group->words().forget();
        BrokenChains broken;
        group->apply(connection,
                     {.commits = commits,
                      .answers = answers,
                      .now = database_.now(),
                      .access = Access::read},
                     broken);
        return true;
    });
    group->words().keep();
    give_back(std::move(group));
}

void Committing::bisect(Group& group, Connection& connection, const Group::Run& run,
                        BrokenChains& broken) {
    BrokenChains broken_so_far = broken;
    connection.set_savepoint();
    try {
        group.apply(connection, run, broken);
        connection.release_savepoint();
        return;
    } catch (const Error& error) {
        group.words().forget();
        if (!is_about_a_commit(error)) throw;
        connection.rollback_to_savepoint();
        connection.release_savepoint();
        broken = std::move(broken_so_far);
        if (run.commits.size() == 1) {
            run.answers[0] = {
                .fate = Fate::failed, .at = run.now, .error = std::current_exception()};
            if (run.commits[0].append) broken.insert(run.commits[0].append->instance);
            return;
        }
    }
    const auto half = run.commits.size() / 2;
    Group::Run part = run;
    part.commits = run.commits.first(half);
    part.answers = run.answers.first(half);
    bisect(group, connection, part, broken);
    part.commits = run.commits.subspan(half);
    part.answers = run.answers.subspan(half);
    bisect(group, connection, part, broken);
}

}  // namespace pawl::store::sql
