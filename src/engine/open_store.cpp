#include "engine/open_store.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/url.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::engine {

std::unique_ptr<store::Store> open_store(std::string_view url, const Options& options) {
    const auto parsed = base::parse_url(url);
    const Clock* clock = options.test.store_clock;
    if (parsed.scheme == "memory") return store::open_memory(clock ? *clock : system_clock());
    throw Error{Code::invalid,
                fmt::format("store URL \"{}\": there is no store \"{}\"; there are sqlite "
                            "and memory",
                            url, parsed.scheme)};
}

}  // namespace pawl::engine
