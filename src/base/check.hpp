/// A bug aborts, in every build: going on with a broken invariant is how data gets lost.
#pragma once

#include <source_location>

namespace pawl::base {

[[noreturn]] void fail_check(const char* what, std::source_location where);

inline void check(bool holds, const char* what,
                  std::source_location where = std::source_location::current()) {
    if (!holds) [[unlikely]]
        fail_check(what, where);
}

}  // namespace pawl::base
