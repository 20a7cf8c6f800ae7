/// What the hand-written rivals put into their rows: the same bytes as the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace pawl::bench {

inline const std::string posted = R"({"type":"Posted","to":"Ada","weight":2})";
inline const std::string arrived = R"({"type":"Arrived"})";
inline const std::string carry = R"({"type":"Carry","to":"Ada","weight":2})";
inline const std::string state = R"({"posted":100,"arrived":false})";
inline const std::string rung = R"({"type":"Rung"})";
inline const std::string started =
    R"({"input":null,"seed":"0192f0c1-0000-7000-8000-000000000000","version":1,"parent":null,)"
    R"("restarted_from":""})";
inline const std::string stepped =
    R"({"call":1,"name":"first","attempts":1,"result":1,"error":null,"permanent":false})";
inline const std::string ended = R"({"status":"succeeded","result":3,"error":""})";
inline const std::string correlation(36, 'c');
inline const std::string note = R"({"text":"a small message","number":12345})";

inline constexpr std::int64_t claiming_session = 1;
inline constexpr std::int64_t claiming_fence = 7;
inline constexpr long snapshot_every = 100;

/// The last of them in these, or 0.
inline long last_snapshot(long sequence, int count) {
    const long last = (sequence + count - 1) / snapshot_every * snapshot_every;
    return last >= sequence ? last : 0;
}

inline std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

inline constexpr std::int64_t day = 86'400'000'000;

inline std::string uuid() {
    thread_local std::mt19937_64 random{std::random_device{}()};
    std::string out(16, '\0');
    for (int half = 0; half < 2; ++half) {
        const auto word = random();
        out.replace(half * 8, 8, reinterpret_cast<const char*>(&word), 8);
    }
    return out;
}

/// Of messages: as the engine's, each is larger than the one before.
inline std::string ordered_id() {
    std::string id = uuid();
    const auto at = static_cast<std::uint64_t>(now());
    for (int i = 0; i < 8; ++i)
        id[static_cast<std::size_t>(i)] = static_cast<char>(at >> (56 - 8 * i) & 0xff);
    return id;
}

inline std::int64_t partition_of(const std::string& key) {
    return static_cast<std::int64_t>(std::hash<std::string>{}(key) % 64);
}

}  // namespace pawl::bench
