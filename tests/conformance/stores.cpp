#include "conformance/stores.hpp"

#include "conformance/temporary_directory.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::store::conformance {
namespace {

Database memory(const Clock& clock) {
    return {.open = [&clock] { return open_memory(clock); }, .shared = false};
}

Database sqlite(const Clock& clock) {
    const auto directory = std::make_shared<TemporaryDirectory>();
    const std::string path = directory->path() / "store.db";
    return {
        .open = [&clock, directory, path] { return open_sqlite({.path = path, .clock = &clock}); }};
}

}  // namespace

std::vector<StoreUnderTest> stores_under_test() {
    return {
        {.name = "memory", .create = memory},
        {.name = "sqlite", .create = sqlite},
    };
}

}  // namespace pawl::store::conformance
