#include <pawl/clock.hpp>

namespace pawl::inline v0 {
namespace {

class System final : public Clock {
public:
    Time now() const override {
        return std::chrono::floor<Duration>(std::chrono::system_clock::now());
    }
};

}  // namespace

const Clock& system_clock() {
    static const System clock;
    return clock;
}

}  // namespace pawl::inline v0
