#include "base/moment.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

constexpr Time leap{Duration{1'709'208'000'000'000}};

TEST(Lengths, ThatAreTooLongAreTheLongest) {
    using namespace std::chrono;
    EXPECT_EQ(duration(hours::max()), Duration::max());
    EXPECT_EQ(duration(seconds::max()), Duration::max());
    EXPECT_EQ(duration(hours::min()), Duration::min());
    EXPECT_EQ(duration(std::chrono::duration<double>::max()), Duration::max());
    EXPECT_EQ(duration(Duration::max()), Duration::max());
    EXPECT_EQ(duration(nanoseconds{1}), Duration{1}) << "nothing comes early";
    EXPECT_EQ(duration(hours{24 * 365 * 100}), hours{24 * 365 * 100});
}

TEST(Moment, IsWrittenAndReadBack) {
    EXPECT_EQ(time_text(leap), "2024-02-29T12:00:00.000000Z");
    EXPECT_EQ(parse_time("2024-02-29T12:00:00.000000Z"), leap);
    const Time before{Duration{-1}};
    EXPECT_EQ(time_text(before), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(parse_time(*time_text(before)), before);
    EXPECT_EQ(time_text(Time::max()), std::nullopt);
}

TEST(Moment, IsReadAsDatabasesWriteIt) {
    EXPECT_EQ(parse_time("2024-02-29 12:00:00"), leap);
    EXPECT_EQ(parse_time("2024-02-29 12:00:00.25"), leap + Duration{250'000});
    EXPECT_EQ(parse_time("2024-02-29 13:00:00+01"), leap);
    EXPECT_EQ(parse_time("2024-02-29 06:30:00-05:30"), leap);
    EXPECT_EQ(parse_time("2024-02-29 12:00:00.0000019Z"), leap + Duration{1});
}

TEST(Moment, IsRefusedWhereItIsNone) {
    for (const char* bad :
         {"", "2024-02-30 12:00:00", "2024-02-29", "infinity", "2024-02-29 24:00:00",
          "2024-02-29 12:00:00+1", "2024-02-29 12:00:00+01:", "2024-02-29 12:00:00 BC",
          "2024-02-29 12:00:00.", "0000-00-00 00:00:00"})
        EXPECT_EQ(parse_time(bad), std::nullopt) << bad;
    EXPECT_FALSE(parse_wire_moment("2024-02-29 12:00:00Z"));
    EXPECT_FALSE(parse_wire_moment("2024-02-29T12:00:00"));
}

}  // namespace
}  // namespace pawl::base
