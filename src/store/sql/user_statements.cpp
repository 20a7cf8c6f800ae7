#include "store/sql/user_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

namespace pawl::store::sql {
namespace {

constexpr std::size_t shown = 60;

// Of every database. What is committed on the way would not be rolled back with the rest.
constexpr std::string_view controls[] = {"BEGIN",     "START",   "COMMIT",  "END", "ROLLBACK",
                                         "SAVEPOINT", "RELEASE", "PREPARE", "XA",  "ABORT"};

void check_arguments(const UserStatement& statement, std::string_view sql, std::size_t arguments) {
    std::vector<bool> used(arguments);
    for (const auto place : statement.places) {
        if (place == 0)
            throw Error{Code::invalid, fmt::format("\"{}\" has a parameter $0: the first is $1",
                                                   beginning_of(sql))};
        if (place > arguments)
            throw Error{
                Code::invalid,
                fmt::format("\"{}\" has a parameter ${}, and was given {} argument{}",
                            beginning_of(sql), place, arguments, arguments == 1 ? "" : "s")};
        used[place - 1] = true;
    }
    const auto unused = std::ranges::find(used, false);
    if (unused != used.end())
        throw Error{Code::invalid,
                    fmt::format("\"{}\" was given {} argument{}, and has no parameter ${}",
                                beginning_of(sql), arguments, arguments == 1 ? "" : "s",
                                unused - used.begin() + 1)};
}

}  // namespace

std::string beginning_of(std::string_view sql) {
    sql.remove_prefix(std::min(sql.find_first_not_of(" \t\r\n"), sql.size()));
    return std::string{sql.substr(0, shown)};
}

UserStatement read_user_statement(std::string_view sql, std::size_t arguments,
                                  const Dialect& dialect) {
    UserStatement statement;
    statement.words = first_words(sql, dialect.quoting, 2);
    if (sql.find('\0') != sql.npos || statement.words.empty())
        throw Error{Code::invalid, fmt::format("\"{}\" is no statement", beginning_of(sql))};
    if (std::ranges::count(controls, statement.words.front()) > 0)
        throw Error{Code::misuse, fmt::format("\"{}\" in a transaction: pawl begins and ends it",
                                              beginning_of(sql))};
    statement.text = rewrite(sql, dialect, &statement.places);
    check_arguments(statement, sql, arguments);
    return statement;
}

}  // namespace pawl::store::sql
