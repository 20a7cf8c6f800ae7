#include "base/uuid.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/sha1.hpp"

namespace pawl::base {
namespace {

std::string hex(const std::array<std::uint8_t, 20>& digest) {
    std::string out;
    for (const auto byte : digest) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

TEST(Sha1, MatchesThePublishedVectors) {
    EXPECT_EQ(hex(sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hex(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(Uuid, Version5MatchesThePublishedVector) {
    const Uuid dns = Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8").value();
    EXPECT_EQ(uuid5(dns, "www.example.com").text(), "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

TEST(Uuid, Version7CarriesTheTimeAndNeverRepeats) {
    const auto random = seeded_random(1);
    const Time now{std::chrono::milliseconds{0x017f22e279b0}};
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) {
        const auto text = uuid7(now, *random).text();
        EXPECT_EQ(text.substr(0, 15), "017f22e2-79b0-7");
        EXPECT_NE(std::string{"89ab"}.find(text[19]), std::string::npos);
        EXPECT_TRUE(seen.insert(text).second);
    }
}

TEST(Uuid, TextAndParseAreInverse) {
    const auto random = seeded_random(2);
    const Uuid id = uuid7(Time{}, *random);
    EXPECT_EQ(Uuid::parse(id.text()), id);
    EXPECT_FALSE(Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c"));
    EXPECT_FALSE(Uuid::parse("6ba7b810+9dad-11d1-80b4-00c04fd430c8"));
    EXPECT_FALSE(Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430g8"));
}

TEST(IdempotencyKey, IsStableAndTellsThePartsApart) {
    const auto key =
        idempotency_key({.process = "p", .step = "s", .recipient = "r", .version = "1"});
    EXPECT_EQ(key,
              idempotency_key({.process = "p", .step = "s", .recipient = "r", .version = "1"}));
    EXPECT_NE(key,
              idempotency_key({.process = "ps", .step = "", .recipient = "r", .version = "1"}));
    EXPECT_EQ(key.text()[14], '5');
}

}  // namespace
}  // namespace pawl::base
