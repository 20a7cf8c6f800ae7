#include "store/sql/committing.hpp"

#include <algorithm>
#include <pawl/error.hpp>

#include "base/points.hpp"

namespace pawl::store::sql {
namespace {

namespace points = base::points;

bool writes_nothing(const Commit& commit) {
    return commit.settlements.empty() && commit.inbox.empty() && commit.messages.empty() &&
           (!commit.append || commit.append->events.empty());
}

// Whether the rows are at fault, and not the disk, the lock or the connection.
bool is_about_a_commit(const Error& error) { return error.code() == Code::invalid; }

}  // namespace

void Committing::commit(std::span<const Commit> commits, std::span<Answer> answers) {
    base::check(commits.size() == answers.size(), "there is an answer for every Commit");
    if (std::ranges::all_of(commits, writes_nothing)) return confirm(commits, answers);
    {
        const auto connection = database_.write(Purpose::group);
        const std::lock_guard lock{mutex_};
        group_.words().forget();  // of a group that ended in an exception
        const Group::Run run{.commits = commits, .answers = answers, .now = database_.now()};
        bool at_fault = false;
        try {
            Transaction transaction{*connection, Access::write};
            connection->reach(points::group_begun);
            BrokenChains broken;
            group_.apply(*connection, run, broken);
            transaction.commit();
            connection->reach(points::group_committed);
        } catch (const Error& error) {
            group_.words().forget();
            if (!is_about_a_commit(error)) throw;
            at_fault = true;
        }
        if (at_fault) {
            Transaction transaction{*connection, Access::write};
            BrokenChains broken;
            bisect(*connection, run, broken);
            transaction.commit();
        }
        group_.words().keep();
    }
    database_.announce();
}

void Committing::confirm(std::span<const Commit> commits, std::span<Answer> answers) {
    const auto connection = database_.read();
    Transaction transaction{*connection, Access::read};
    Group group{database_.statements(), interned_};
    BrokenChains broken;
    group.apply(
        *connection,
        {.commits = commits, .answers = answers, .now = database_.now(), .access = Access::read},
        broken);
    transaction.commit();
    group.words().keep();
}

void Committing::bisect(Connection& connection, const Group::Run& run, BrokenChains& broken) {
    BrokenChains broken_so_far = broken;
    connection.set_savepoint();
    try {
        group_.apply(connection, run, broken);
        connection.release_savepoint();
        return;
    } catch (const Error& error) {
        group_.words().forget();
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
    bisect(connection, part, broken);
    part.commits = run.commits.subspan(half);
    part.answers = run.answers.subspan(half);
    bisect(connection, part, broken);
}

}  // namespace pawl::store::sql
