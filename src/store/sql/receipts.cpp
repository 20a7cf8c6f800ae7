#include "store/sql/receipts.hpp"

#include <pawl/error.hpp>

namespace pawl::store::sql {

std::optional<std::size_t> Receipt::find(Connection& connection, Time now) const {
    if (!is_in_doubt() || !statements_->receipts) return std::nullopt;
    std::optional<std::size_t> committed;
    connection.query(statements_->receipts->find, {at_, token_},
                     [&](const Row& row) { committed = static_cast<std::size_t>(row.number(0)); });
    if (!committed && now - at_ > receipts_trusted)
        throw Error{Code::in_doubt,
                    "its first attempt is more than half an hour old, and its receipt is gone"};
    return committed;
}

void Receipt::write(Connection& connection) const {
    if (!statements_->receipts) return;
    Rows row;
    row.add({at_, token_, attempt_});
    connection.post(statements_->receipts->add, row);
}

void Receipt::confirm(Connection& connection) const {
    if (statements_->replicate) connection.run(*statements_->replicate);
}

Receipt Receipts::fresh() { return {database_.statements(), database_.now(), random_->next()}; }

}  // namespace pawl::store::sql
