/// The durable function of most scenarios: three steps that do nothing.
#pragma once

#include <pawl/pawl.hpp>

namespace pawl::bench {

inline int three_steps(Context& ctx) {
    const int a = ctx.step("first", [] { return 1; });
    const int b = ctx.step("second", [&] { return a + 1; });
    return ctx.step("third", [&] { return b + 1; });
}

}  // namespace pawl::bench
