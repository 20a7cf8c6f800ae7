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
        case Number::session:
            return "session_block";
        case Number::position:
        case Number::inbox:
            break;  // the server gives them
    }
    return nullptr;
}

}  // namespace

// Nobody waits for the answer with the mutex: it may come only when a row is free that another
// thread has locked, who needs a number to go on. Of two that ask at a time the later block stays,
// so that the numbers of one transaction never fall.
std::int64_t Blocks::next(PostgresConnection& connection, Number sort) {
    auto& block = blocks_[static_cast<std::size_t>(sort)];
    const auto now = std::chrono::steady_clock::now();
    {
        const std::lock_guard lock{block.mutex};
        if (block.next != block.end && now - block.taken <= lifetime) return block.next++;
    }
    const auto sequence = connection.qualified(sequence_of(sort));
    std::int64_t first = 0;
    connection.query(next_block, {text(sequence)}, [&](const Row& row) { first = row.number(0); });
    const std::lock_guard lock{block.mutex};
    if (first < block.next && block.taken > now) return first;
    block.next = first + 1;
    block.end = first + block_size;
    block.taken = std::chrono::steady_clock::now();
    return first;
}

void Blocks::forget() {
    for (auto& block : blocks_) {
        const std::lock_guard lock{block.mutex};
        block.end = block.next;
    }
}

std::int64_t BlockNumbers::next(Connection& connection, Number sort) {
    if (sequence_of(sort) == nullptr) return 0;
    return blocks_.next(static_cast<PostgresConnection&>(connection), sort);
}

}  // namespace pawl::store::sql::postgres
