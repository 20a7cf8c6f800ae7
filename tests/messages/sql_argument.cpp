// expect: pawl: an argument of SQL is a number, a bool, a text
#include <pawl/transaction.hpp>

void write(pawl::Transaction& tx) { tx.exec("UPDATE account SET grade = $1", 'a'); }
