#include "store/sql/numbers.hpp"

namespace pawl::store::sql {

void CounterRow::begin(Connection& connection) {
    changed_ = false;
    connection.query(sql_.lock, {}, [&](const Row& row) {
        for (int i = 0; i < 4; ++i) last_[i] = row.number(i);
    });
}

std::int64_t CounterRow::next(Connection& connection, Number sort) {
    if (sort != Number::session) {
        changed_ = true;
        return ++last_[static_cast<int>(sort)];
    }
    std::int64_t number = 0;
    connection.query(sql_.next_session, {}, [&](const Row& row) { number = row.number(0); });
    return number;
}

void CounterRow::end(Connection& connection) {
    if (!changed_) return;
    connection.run(sql_.set, {last_[0], last_[1], last_[2], last_[3]});
}

}  // namespace pawl::store::sql
