/// Numbers of new rows, taken from sequences a block at a time.
#pragma once

#include <array>
#include <chrono>
#include <mutex>

#include "store/sql/numbers.hpp"
#include "store/sql/postgres/postgres_connection.hpp"

namespace pawl::store::sql::postgres {

/// Thread-safe. What is left of a block is thrown away after a moment: an idle process must not
/// give its next instance a number that is older than what others have made since.
class Blocks {
public:
    std::int64_t next(PostgresConnection& connection, Number sort);
    void forget();

private:
    struct Block {
        std::mutex mutex;
        std::int64_t next = 0;
        std::int64_t end = 0;
        std::chrono::steady_clock::time_point taken;
    };
    std::array<Block, 6> blocks_;
};

/// Those of one store, for one transaction.
class BlockNumbers final : public Numbers {
public:
    explicit BlockNumbers(Blocks& blocks) : blocks_(blocks) {}
    std::int64_t next(Connection& connection, Number sort) override;
    void forget() override { blocks_.forget(); }

private:
    Blocks& blocks_;
};

}  // namespace pawl::store::sql::postgres
