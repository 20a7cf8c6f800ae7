#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.hpp"
#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::decode;
using json::encode;

struct Everything {
    Scalars scalars;
    Containers containers;
    Maybes maybes;
    Times times;
    Tree tree;
    Envelope envelope{{}, {"[1]"}};
    Price price;
    std::vector<Event> events;
};

Everything sample() {
    Everything all;
    all.scalars.text = "\u00e4 \"quoted\"\n";
    all.containers.lines = {{"a", 1}, {"b", 2}};
    all.containers.counts = {{"x", 1}};
    all.containers.names = {{Status::paid, "p"}};
    all.containers.by_id = {{-3, "three"}};
    all.containers.bytes = std::vector<std::byte>(5);
    all.maybes.texts = {"t", std::nullopt};
    all.maybes.last = Paid{"r"};
    all.tree.children.resize(2);
    all.envelope.payload.text = R"({"any":[1,{"thing":null}]})";
    all.events = {Placed{"s", 2}, Paid{"r"}, Expired{}, Failed<Line>{{"l", 1}, "why"}};
    return all;
}

// Whatever comes in, decoding gives a value or a codec error: anything else fails the test.
void try_to_decode(const std::string& text) {
    try {
        const auto value = decode<Everything>(text);
        const auto again = encode(value);
        EXPECT_EQ(encode(decode<Everything>(again)), again);
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::codec) << text;
        EXPECT_EQ(std::string{e.what()}.substr(0, 1), "$") << text;
    }
}

TEST(Hostile, TruncatedTextIsAlwaysAnError) {
    const auto text = encode(sample());
    for (std::size_t size = 0; size < text.size(); ++size)
        EXPECT_NE(decode_error<Everything>(text.substr(0, size)), "no error") << size;
    EXPECT_EQ(decode_error<Everything>(text), "no error");
}

TEST(Hostile, MutatedTextIsAValueOrAnError) {
    const auto text = encode(sample());
    const auto random = base::seeded_random(20240229);
    const std::string spice = "{}[]\",:0-1e.ntf\\u\xff\x80 \n";
    for (int round = 0; round < 4000; ++round) {
        auto mutated = text;
        const auto changes = 1 + random->next() % 4;
        for (std::uint64_t i = 0; i < changes; ++i) {
            const auto at = random->next() % mutated.size();
            switch (random->next() % 4) {
                case 0:
                    mutated[at] = spice[random->next() % spice.size()];
                    break;
                case 1:
                    mutated.erase(at, 1 + random->next() % 8);
                    break;
                case 2:
                    mutated.insert(at, 1, spice[random->next() % spice.size()]);
                    break;
                default:
                    mutated[at] = static_cast<char>(random->next());
            }
            if (mutated.empty()) mutated = " ";
        }
        try_to_decode(mutated);
    }
}

TEST(Hostile, SwappedValuesAreAValueOrAnError) {
    const auto text = encode(sample());
    const std::vector<std::string> values = {"null",
                                             "true",
                                             "-1",
                                             "1e308",
                                             "\"\"",
                                             "[]",
                                             "{}",
                                             "[[]]",
                                             "0.5",
                                             "\"x\"",
                                             "18446744073709551615"};
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != ':') continue;
        const auto end = text.find_first_of(",}]", at);
        for (const auto& value : values)
            try_to_decode(text.substr(0, at + 1) + value + text.substr(end));
    }
}

TEST(Hostile, WideAndDeepTextIsAnErrorInGoodTime) {
    std::string wide = "{";
    for (int i = 0; i < 100'000; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
    wide += "\"quantity\":7}";
    EXPECT_EQ(decode<Line>(wide).quantity, 7);
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += R"({"next":)";
    EXPECT_NE(decode_error<Tree>(deep), "no error");
    std::string raws = "[1";
    for (int i = 0; i < 200'000; ++i) raws += ",1";
    EXPECT_EQ(decode<std::vector<json::Raw>>(raws + "]").size(), 200'001);
}

}  // namespace
}  // namespace pawl
