// Stands in for the whole folder when pawl is built without MariaDB.
#include <pawl/error.hpp>

#include "store/sql/mariadb/mariadb_store.hpp"

namespace pawl::store {

std::unique_ptr<Store> open_mariadb(const MariadbOptions&) {
    throw Error{Code::invalid,
                "this pawl was built without MariaDB: build it with -DPAWL_MARIADB=ON"};
}

}  // namespace pawl::store
