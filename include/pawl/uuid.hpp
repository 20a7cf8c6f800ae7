/// A 128-bit id, and the deterministic key that makes a repeated delivery recognisable.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <pawl/export.hpp>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

struct PAWL_API Uuid {
    std::array<std::uint8_t, 16> bytes{};

    /// "0192f0c1-..." in 36 lower-case characters.
    std::string text() const;
    static std::optional<Uuid> parse(std::string_view text);

    bool is_nil() const { return *this == Uuid{}; }
    friend auto operator<=>(const Uuid&, const Uuid&) = default;
    friend bool operator==(const Uuid&, const Uuid&) = default;
};

/// What names one delivery of one step of one process to one recipient.
struct IdempotencyParts {
    std::string_view process{};
    std::string_view step{};
    std::string_view recipient{};
    std::string_view version{};
};

/// The same parts give the same UUIDv5 on every machine, so that a receiver can drop a repetition.
PAWL_API Uuid idempotency_key(const IdempotencyParts& parts);

}  // namespace pawl::inline v0
