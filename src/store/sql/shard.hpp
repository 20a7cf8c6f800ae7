/// Where an instance's work belongs when processes share it out: a number that never changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::store::sql {

inline constexpr std::uint32_t shards = 1024;

/// FNV-1a of the type, a zero byte and the id. Stored in work rows: it is part of the schema.
constexpr std::int64_t shard_of(std::string_view type, std::string_view id) {
    std::uint32_t hash = 2166136261u;
    const auto mix = [&](std::string_view s) {
        for (const char c : s) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    };
    mix(type);
    hash *= 16777619u;
    mix(id);
    return hash % shards;
}

}  // namespace pawl::store::sql
