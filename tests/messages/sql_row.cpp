// expect: pawl: a row of SQL is a plain struct, or one value, of integers
#include <pawl/transaction.hpp>

struct Account {
    int id = 0;
    std::vector<int> entries;
};

void read(pawl::Transaction& tx) { tx.query<Account>("SELECT id, entries FROM account"); }
