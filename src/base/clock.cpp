#include <ctime>
#include <pawl/clock.hpp>

namespace pawl::inline v0 {
namespace {

class System final : public Clock {
public:
    Time now() const override {
        return std::chrono::floor<Duration>(std::chrono::system_clock::now());
    }
    Duration elapsed() const override {
        timespec t{};
        clock_gettime(CLOCK_BOOTTIME, &t);
        return std::chrono::floor<Duration>(std::chrono::seconds{t.tv_sec} +
                                            std::chrono::nanoseconds{t.tv_nsec});
    }
};

}  // namespace

const Clock& system_clock() {
    static const System clock;
    return clock;
}

}  // namespace pawl::inline v0
