#include "store/sql/postgres/blocks.hpp"

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr std::chrono::seconds lifetime{1};

const char* sequence_of(Number sort) {
    switch (sort) {
        case Number::instance:
            return "instance_block";
        case Number::item:
            return "item_block";
        case Number::inbox:
            return "inbox_block";
        case Number::message:
            return "message_block";
        case Number::session:
            return "session_block";
        case Number::position:
            break;  // the server gives them
    }
    return nullptr;
}

}  // namespace

std::int64_t Blocks::next(PostgresConnection& connection, Number sort) {
    auto& block = blocks_[static_cast<std::size_t>(sort)];
    const std::lock_guard lock{block.mutex};
    const auto now = std::chrono::steady_clock::now();
    if (block.next == block.end || now - block.taken > lifetime) {
        const auto sequence = connection.qualified(sequence_of(sort));
        connection.query(next_block, {text(sequence)},
                         [&](const Row& row) { block.next = row.number(0); });
        block.end = block.next + postgres::block;
        block.taken = now;
    }
    return block.next++;
}

std::int64_t BlockNumbers::next(Connection& connection, Number sort) {
    if (sort == Number::position) return 0;
    return blocks_.next(static_cast<PostgresConnection&>(connection), sort);
}

}  // namespace pawl::store::sql::postgres
