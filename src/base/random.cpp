#include "base/random.hpp"

#include <array>
#include <bit>
#include <random>

namespace pawl::base {
namespace {

// splitmix64: tiny, well mixed, and its whole state is one word.
class SplitMix final : public Random {
public:
    explicit SplitMix(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() override {
        const std::lock_guard lock{mutex_};
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

private:
    std::mutex mutex_;
    std::uint64_t state_;
};

// xoshiro256** seeded with 256 bits from the system: a system call for every id would show.
class System final : public Random {
public:
    System() {
        std::random_device device;
        for (auto& word : state_) word = (std::uint64_t{device()} << 32) | device();
    }

    std::uint64_t next() override {
        const std::lock_guard lock{mutex_};
        auto& s = state_;
        const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
        const std::uint64_t t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = std::rotl(s[3], 45);
        return result;
    }

private:
    std::mutex mutex_;
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace

std::unique_ptr<Random> system_random() { return std::make_unique<System>(); }
std::unique_ptr<Random> seeded_random(std::uint64_t seed) {
    return std::make_unique<SplitMix>(seed);
}

}  // namespace pawl::base
