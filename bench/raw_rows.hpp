/// What the hand-written rivals put into their rows: the same bytes as the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>

namespace pawl::bench {

inline constexpr const char* posted = R"({"type":"Posted","to":"Ada","weight":2})";
inline constexpr const char* carry = R"({"type":"Carry","to":"Ada","weight":2})";

inline std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

inline std::string uuid() {
    thread_local std::mt19937_64 random{std::random_device{}()};
    std::string out(16, '\0');
    for (int half = 0; half < 2; ++half) {
        const auto word = random();
        out.replace(half * 8, 8, reinterpret_cast<const char*>(&word), 8);
    }
    return out;
}

}  // namespace pawl::bench
