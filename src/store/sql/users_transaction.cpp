#include "store/sql/users_transaction.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/points.hpp"
#include "base/waits.hpp"
#include "store/constraint.hpp"

namespace pawl::store::sql {
namespace {

namespace points = base::points;
using Steady = std::chrono::steady_clock;

}  // namespace

UsersTransaction::UsersTransaction(Parts parts, Duration limit)
    : parts_(parts),
      limit_(limit),
      words_(parts.interned, parts.database.statements()),
      held_(new Held{parts.database.write(Purpose::users)}) {
    // From here on others wait for it.
    deadline_ = Steady::now() + limit;
    held_->lease->begin_users(limit);
    parts_.open.add(thread_);
}

UsersTransaction::~UsersTransaction() { end(); }

void UsersTransaction::end() noexcept {
    if (!held_) return;
    held_->lease->rollback();  // nothing, if it is committed
    held_.reset();
    parts_.open.remove(thread_);
}

void UsersTransaction::give_up(const Error& error) {
    may_be_repeated_ = dynamic_cast<const Collision*>(&error) != nullptr ||
                       dynamic_cast<const LostConnection*>(&error) != nullptr;
    if (dynamic_cast<const ConstraintViolated*>(&error))
        fail(ConstraintViolated{error.code(), error.what()});
    fail(Error{error.code(), error.what()});
}

template <class E>
void UsersTransaction::fail(E error) {
    failure_ = std::make_exception_ptr(error);
    throw error;
}

void UsersTransaction::check_usable() {
    if (failure_) std::rethrow_exception(failure_);
    if (!held_) throw Error{Code::misuse, "the transaction is over"};
    if (Steady::now() <= deadline_) return;
    fail(Error{Code::busy,
               fmt::format("the transaction took longer than {} ms: do less in it, or raise "
                           "Options::transaction_limit",
                           limit_ / std::chrono::milliseconds{1})});
}

detail::SqlResult UsersTransaction::run(std::string_view sql,
                                        const std::vector<detail::SqlValue>& values) {
    check_usable();
    try {
        return held_->lease->run_users(sql, values);
    } catch (const Error& error) {
        give_up(error);
    }
}

bool UsersTransaction::is_first(const detail::OnceKey& once, Duration window) {
    check_usable();
    if (window <= Duration::zero())
        throw Error{Code::invalid,
                    fmt::format("what is done once for \"{}\" would be forgotten at once: give it "
                                "a window that is longer than nothing",
                                once.id)};
    try {
        Connection& connection = *held_->lease;
        const Time now = parts_.database.now();
        words_.begin(connection);
        Rows keys;
        keys.add({words_.name(connection, once.scope), bytes(once.id), now,
                  now + base::at_most_for_ever(window), bytes(once.token)});
        bool is_first = false;
        connection.query(parts_.database.statements().once.take, keys,
                         [&](std::size_t, const Row& row) {
                             is_first = row.view(0) == bytes(once.token).view();
                         });
        return is_first;
    } catch (const Error& error) {
        give_up(error);
    }
}

Loaded UsersTransaction::hold(const LoadRequest& request) {
    check_usable();
    try {
        return parts_.reading.hold(*held_->lease, request);
    } catch (const Error& error) {
        give_up(error);
    }
}

Answer UsersTransaction::commit(const Commit& commit, const Advance* advance) {
    struct Ending {
        UsersTransaction& transaction;
        ~Ending() { transaction.end(); }
    } const ending{*this};
    check_usable();
    try {
        return apply(commit, advance);
    } catch (const LostConnection& error) {
        if (!is_committing_) give_up(error);
        fail(Error{Code::in_doubt,
                   fmt::format("the connection was lost while a transaction was committed, and "
                               "whether it was is not known: {}",
                               error.what())});
    } catch (const Error& error) {
        give_up(error);
    }
}

Answer UsersTransaction::apply(const Commit& commit, const Advance* advance) {
    Connection& connection = *held_->lease;
    connection.end_users();
    auto group = parts_.committing.take_group();
    group->words().forget();  // of a group that ended in an exception
    Answer answer;
    BrokenChains broken;
    group->apply(connection,
                 {.commits = {&commit, 1}, .answers = {&answer, 1}, .now = parts_.database.now()},
                 broken);
    if (answer.fate != Fate::committed) return answer;
    if (advance && !parts_.delivering.advance_in(connection, *advance)) {
        answer.fate = Fate::fence_lost;
        return answer;
    }
    is_committing_ = true;
    connection.commit();
    connection.reach(points::group_committed);
    words_.keep();
    group->words().keep();
    group->remember_refs();
    parts_.committing.give_back(std::move(group));
    parts_.committing.written({&commit, 1});
    return answer;
}

}  // namespace pawl::store::sql
