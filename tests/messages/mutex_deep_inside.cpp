// expect: this type can't travel: make it a plain struct
// expect: cannot_travel.*mutex.*Guarded
#include <mutex>
#include <pawl/json.hpp>
#include <vector>

struct Guarded {
    std::mutex mutex;
};
struct Placed {
    std::vector<std::unique_ptr<Guarded>> guarded;
};
using Event = std::variant<Placed>;

void write(const Event& event) { pawl::json::encode(event); }
