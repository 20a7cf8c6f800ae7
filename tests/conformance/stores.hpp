/// The stores that every conformance test runs against. A store is added in stores.cpp.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <pawl/clock.hpp>
#include <string>
#include <vector>

#include "base/points.hpp"
#include "store/store.hpp"

namespace pawl::store::conformance {

/// One database, empty at first. It is gone with the last copy of `open` and the last store.
struct Database {
    /// A handle to it, as another process would have.
    std::function<std::unique_ptr<Store>()> open;
    /// The same, with this called at the points inside of its transactions. Not there in memory.
    std::function<std::unique_ptr<Store>(base::AtPoint)> hooked = {};
    /// There can be a second handle, and the contents outlive the first. Not so in memory.
    bool shared = true;
};

struct StoreUnderTest {
    std::string name{};  ///< letters and digits: it becomes part of the tests' names
    std::function<Database(const Clock& clock)> create{};
    std::string missing{};  ///< why it can't be tested on this machine; empty if it can
};

std::vector<StoreUnderTest> stores_under_test();

inline std::ostream& operator<<(std::ostream& out, const StoreUnderTest& store) {
    return out << store.name;
}

}  // namespace pawl::store::conformance
