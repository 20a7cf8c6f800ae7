#include "conformance/stores.hpp"

#include "store/memory/memory_store.hpp"

namespace pawl::store::conformance {
namespace {

Database memory(const Clock& clock) {
    return {.open = [&clock] { return open_memory(clock); }, .shared = false};
}

}  // namespace

std::vector<StoreUnderTest> stores_under_test() {
    return {
        {.name = "memory", .create = memory},
    };
}

}  // namespace pawl::store::conformance
