#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <pawl/error.hpp>

#include "conformance/generator.hpp"
#include "conformance/store_test.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::store::conformance {
namespace {

constexpr int operations = 400;
constexpr int operations_between_looks = 50;

std::string answer_of(const Operation& operation, Subject& subject) {
    try {
        return operation.run(subject);
    } catch (const Error& e) {
        return fmt::format("throws {}", name(e.code()));
    }
}

struct Difference {
    std::string where;
    std::string expected;
    std::string found;
};

// The first line of `text` that is not the same in `other`: contents are long.
std::string first_other_line(const std::string& text, const std::string& other) {
    const auto differs = std::ranges::mismatch(text, other).in1 - text.begin();
    const auto before = text.rfind('\n', std::max<std::ptrdiff_t>(differs, 1) - 1);
    const auto begin = before == text.npos ? 0 : before + 1;
    return text.substr(begin, text.find('\n', differs) - begin);
}

// Runs the operations of one seed against memory and against `other`.
class Comparison {
public:
    Comparison(std::uint64_t seed, ManualClock& clock, Store& other)
        : reference_(open_memory(clock)),
          expected_{*reference_},
          found_{other},
          generator_(seed, *reference_, clock) {}

    std::optional<Difference> run() {
        for (int i = 1; i <= operations; ++i) {
            const Operation operation = generator_.next();
            const auto expected = answer_of(operation, expected_);
            const auto found = answer_of(operation, found_);
            answers_ += expected;
            const auto where = fmt::format("operation {}: {}", i, operation.text);
            if (expected != found) return Difference{where, expected, found};
            if (i % operations_between_looks == 0 || i == operations)
                if (auto difference = look(where)) return difference;
        }
        return std::nullopt;
    }

    /// Everything the reference answered, and what it holds now.
    std::string told() const { return answers_ + describe_contents(expected_); }

private:
    std::optional<Difference> look(const std::string& where) {
        auto expected = describe_contents(expected_);
        auto found = describe_contents(found_);
        if (expected == found) return std::nullopt;
        return Difference{"the contents after " + where, expected, found};
    }

    std::unique_ptr<Store> reference_;
    Subject expected_;
    Subject found_;
    Generator generator_;
    std::string answers_;
};

// Together they reach every corner.
constexpr std::uint64_t known_seeds[]{1, 2, 3, 4, 5, 8, 9, 13, 24};

std::vector<std::uint64_t> seeds() {
    if (const char* given = std::getenv("PAWL_SEED")) return {std::strtoull(given, nullptr, 10)};
    std::vector<std::uint64_t> some{std::begin(known_seeds), std::end(known_seeds)};
    some.push_back(base::system_random()->next());  // and one that nobody has tried
    return some;
}

class Differential : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Stores, Differential, testing::ValuesIn(stores_under_test()),
                         name_of_store);

TEST_P(Differential, AnswersLikeMemory) {
    for (const auto seed : seeds()) {
        ManualClock time;
        const Database fresh = GetParam().create(time);
        const auto other = fresh.open();
        const auto difference = Comparison{seed, time, *other}.run();
        if (!difference) continue;
        const auto& [where, expected, found] = *difference;
        FAIL() << GetParam().name << " differs from memory at " << where
               << "\n  memory: " << first_other_line(expected, found) << "\n  " << GetParam().name
               << ": " << first_other_line(found, expected)
               << "\nrun it again with PAWL_SEED=" << seed;
    }
}

TEST(DifferentialTest, NoticesAStoreWhoseClockIsWrong) {
    ManualClock time;
    ManualClock ahead{time.now() + 1us};
    const auto other = open_memory(ahead);
    EXPECT_TRUE((Comparison{1, time, *other}.run()));
}

TEST(DifferentialTest, ReachesEveryCorner) {
    std::string told;
    for (const auto seed : known_seeds) {
        ManualClock time;
        const auto other = open_memory(time);
        Comparison comparison{seed, time, *other};
        EXPECT_FALSE(comparison.run());
        told += comparison.told();
    }
    for (const auto fate : {Fate::committed, Fate::stale, Fate::duplicate, Fate::unique_key_taken,
                            Fate::fence_lost, Fate::mail_waits, Fate::no_run})
        EXPECT_NE(told.find(fmt::format("fate={} ", static_cast<int>(fate))), told.npos)
            << static_cast<int>(fate);
    for (const std::string corner : {"throws unknown",
                                     "lost=true",
                                     "losses=1/0",
                                     "losses=3/1",
                                     "snapshot ",
                                     "dead ",
                                     "ending ",
                                     "message ",
                                     " none",
                                     "1 of 2",
                                     "true",
                                     "false",
                                     "more\n",
                                     "holder=1",
                                     "mail=2",
                                     "mail=1/1",
                                     "mail=1/3",
                                     "status=3",
                                     "due=253402300799000000",
                                     "tail "})
        EXPECT_NE(told.find(corner), told.npos) << corner;
}

}  // namespace
}  // namespace pawl::store::conformance
