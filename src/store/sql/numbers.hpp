/// Where new rows get their numbers from: each is given once.
#pragma once

#include <cstdint>

#include "store/sql/connection.hpp"
#include "store/sql/statements.hpp"

namespace pawl::store::sql {

enum class Number : std::uint8_t { instance, position, item, inbox, session };

/// Used by one transaction at a time.
class Numbers {
public:
    virtual ~Numbers() = default;
    /// Before the first number of a group, inside its transaction.
    virtual void begin(Connection&) {}
    virtual std::int64_t next(Connection& connection, Number sort) = 0;
    /// Nothing that was taken before is used any more: another server may have given it to others.
    virtual void forget() {}
    /// After the last write of the group.
    virtual void end(Connection&) {}
};

/// One row that is read and written once per group: for databases where writers take turns anyway.
class CounterRow final : public Numbers {
public:
    explicit CounterRow(const CounterStatements& sql) : sql_(sql) {}

    void begin(Connection& connection) override;
    std::int64_t next(Connection& connection, Number sort) override;
    void end(Connection& connection) override;

private:
    const CounterStatements& sql_;
    std::int64_t last_[4] = {};
    bool changed_ = false;
};

}  // namespace pawl::store::sql
