#include "store/sql/postgres/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "store/constraint.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

enum class Sort { error, collision, constraint, lost };

struct Diagnosis {
    std::string_view state;  // the code, or the class it begins with
    Sort sort;
    Code code;
    const char* advice;
};

// The first that fits counts.
constexpr Diagnosis diagnoses[] = {
    {"40001", Sort::collision, Code::busy, "other transactions are in the way; try again"},
    {"40P01", Sort::collision, Code::busy, "other transactions are in the way; try again"},
    {"23505", Sort::collision, Code::busy, "another process wrote the same row first; try again"},
    {"22012", Sort::collision, Code::busy, "another process was faster; try again"},
    {"0A000", Sort::lost, Code::unavailable, "the tables were changed; try again"},
    {"40003", Sort::lost, Code::unavailable, "the result of the commit is unknown; try again"},
    {"08", Sort::lost, Code::unavailable, "see to the server and the network and try again"},
    {"57P01", Sort::lost, Code::unavailable, "the server ended the connection; try again"},
    {"57P02", Sort::lost, Code::unavailable, "the server crashed and restarts; try again"},
    {"57P03", Sort::error, Code::unavailable, "the server is starting or recovering; try again"},
    {"57P05", Sort::lost, Code::unavailable, "the connection was idle for too long; try again"},
    {"25P03", Sort::lost, Code::unavailable, "this process was too slow; try again"},
    {"57014", Sort::error, Code::busy,
     "it took too long: see what the server waits for, or raise "
     "statement_timeout in the store URL"},
    {"55P03", Sort::error, Code::busy, "a lock was not free in time; try again"},
    {"25006", Sort::error, Code::unavailable,
     "the server only reads: it is a standby or is set to; name the primary, or all servers with "
     "target_session_attrs=read-write"},
    {"53300", Sort::error, Code::busy,
     "the server has no free connection: raise its max_connections or lower pool in the store URL"},
    {"53100", Sort::error, Code::unavailable, "the server's disk is full; make room and try again"},
    {"53", Sort::error, Code::unavailable, "the server lacks resources; see to it and try again"},
    {"58", Sort::error, Code::unavailable,
     "the server can't use its disk; see to it and try again"},
    {"26000", Sort::lost, Code::unavailable,
     "the statement was not prepared here: behind a transaction pooler, add pooler=yes to the "
     "store URL"},
    {"42P05", Sort::lost, Code::unavailable,
     "the statement was prepared by somebody else: behind a transaction pooler, add pooler=yes to "
     "the store URL"},
    {"42501", Sort::error, Code::unavailable, "grant the role what it needs"},
    {"42", Sort::error, Code::corrupt,
     "the tables are not pawl's, or not migrated; run the migrations or give another schema"},
    {"3F000", Sort::error, Code::corrupt, "the schema is not there; run the migrations"},
    {"3D000", Sort::error, Code::unavailable, "make the database, or name another"},
    {"28", Sort::error, Code::unavailable, "see to the user, the password and pg_hba.conf"},
    {"XX001", Sort::error, Code::corrupt, "the data is damaged; restore it from a backup"},
    {"XX002", Sort::error, Code::corrupt, "an index is damaged; rebuild it"},
    {"22", Sort::error, Code::invalid, "the database refused this row"},
    {"23", Sort::error, Code::invalid, "the database refused this row"},
    {"54", Sort::error, Code::invalid, "the database refused this row"},
};

// Of the user's own SQL: what is about a row or a statement is nobody's race and not our tables'.
constexpr std::string_view users_fault[] = {"22", "42", "0A", "2B", "2F", "38", "39", "3F", "54"};

Diagnosis diagnose(const Failure& failure) {
    const std::string_view state = failure.state;
    if (state.empty())
        return {state, Sort::lost, Code::unavailable, "see to the server and the network"};
    const auto is_of = [&](std::string_view start) { return state.starts_with(start); };
    // What is checked at the end of a transaction is never ours: a constraint of the user's. A
    // trigger refuses what it does not like with RAISE.
    const bool deferred = failure.at == commit.text && is_of("23");
    if (deferred || (failure.users && (is_of("23") || is_of("P0"))))
        return {state, Sort::constraint, Code::invalid, "the database refused it"};
    if (failure.users && state != "42501" && std::ranges::any_of(users_fault, is_of))
        return {state, Sort::error, Code::invalid, "the database refused it"};
    if (failure.users && was_out_of_time(failure))
        return {state, Sort::error, Code::busy,
                "the transaction took too long: see Options::transaction_limit"};
    // In recovery the server does not support (0A000) the beginning of a transaction that writes.
    if (is_of("0A000") && failure.at == begin_write.text) return diagnose({"25006", "", ""});
    for (const auto& diagnosis : diagnoses)
        if (state.starts_with(diagnosis.state)) return diagnosis;
    return {state, Sort::error, Code::unavailable, "see the server's log"};
}

}  // namespace

bool was_out_of_time(const Failure& failure) { return failure.state == "57014"; }

bool ends_connection(const Failure& failure) {
    const auto diagnosis = diagnose(failure);
    return diagnosis.sort == Sort::lost || diagnosis.state == "25006";
}

void throw_failure(const std::string& place, const Failure& failure) {
    const auto diagnosis = diagnose(failure);
    std::string_view reason{failure.message};
    while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' '))
        reason.remove_suffix(1);
    std::string_view at{failure.at};
    while (!at.empty() && (at.front() == ' ' || at.front() == '\n')) at.remove_prefix(1);
    const auto message = fmt::format(
        "PostgreSQL {}: {}{}{}: {}", place, reason,
        failure.state.empty() ? "" : fmt::format(" (code {})", failure.state),
        at.empty() ? "" : fmt::format(" at \"{}\"", at.substr(0, 60)), diagnosis.advice);
    switch (diagnosis.sort) {
        case Sort::collision:
            throw Collision{diagnosis.code, message};
        case Sort::constraint:
            throw ConstraintViolated{diagnosis.code, message};
        case Sort::lost:
            throw LostConnection{diagnosis.code, message};
        case Sort::error:
            throw Error{diagnosis.code, message};
    }
    throw Error{diagnosis.code, message};
}

}  // namespace pawl::store::sql::postgres
