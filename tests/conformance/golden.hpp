/// What a schema is compared with, so that no change of it goes unseen.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace pawl::store::conformance {

/// `name` is that of a file in tests/golden.
inline void expect_golden(const std::string& schema, const std::string& name) {
    const std::string path = PAWL_GOLDEN "/" + name;
    std::ifstream file{path, std::ios::binary};
    std::ostringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(schema, golden.str()) << "if the change is meant, write the schema above to " << path;
}

}  // namespace pawl::store::conformance
