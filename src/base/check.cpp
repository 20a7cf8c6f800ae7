#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace pawl::base {

void fail_check(const char* what, std::source_location where) {
    std::fprintf(stderr, "pawl: broken invariant at %s:%u: %s\n", where.file_name(), where.line(),
                 what);
    std::abort();
}

}  // namespace pawl::base
