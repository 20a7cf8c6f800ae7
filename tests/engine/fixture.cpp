#include "engine/fixture.hpp"

#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::engine_test {

std::unique_ptr<store::Store> SharedEngineTest::open_store() {
    return store::open_sqlite({.path = path(), .clock = &clock});
}

}  // namespace pawl::engine_test
