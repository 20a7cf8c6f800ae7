// What is sent to PostgreSQL: the types that statements name, and values in its binary format.
#include "store/sql/postgres/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <pawl/error.hpp>

namespace pawl::store::sql::postgres {
namespace {

using testing::ElementsAre;
using namespace std::string_literals;

TEST(Signatures, AreReadFromTheCasts) {
    const auto scalars = read_signature("SELECT $2::bigint, $1::text WHERE $2 > $3::smallint");
    EXPECT_THAT(scalars.types, ElementsAre(Type::text, Type::bigint, Type::smallint));
    EXPECT_FALSE(scalars.bulk);
    const auto arrays = read_signature("SELECT * FROM unnest($1::bytea[], $2::integer[])");
    EXPECT_THAT(arrays.types, ElementsAre(Type::bytea, Type::integer));
    EXPECT_TRUE(arrays.bulk);
    EXPECT_THAT(read_signature("SELECT $2::bigint").types, ElementsAre(Type::none, Type::bigint))
        << "one that is never used has no type";
}

TEST(Signatures, TellWhetherRowsFitAPlainerStatement) {
    const auto whole = read_signature("SELECT $2::bigint, $3::text, $4::text");
    const auto plain = read_signature("SELECT $2::bigint, $4::text");
    const Value unused{7};
    const auto fit = [&](const std::vector<Value>& values) { return fits(whole, plain, values); };
    EXPECT_TRUE(fit({unused, 1, Value{}, text("t"), unused, 2, Value{}, Value{}}));
    EXPECT_FALSE(fit({unused, 1, Value{}, text("t"), unused, 2, text("t"), Value{}}))
        << "one row has what the plain one leaves out";
}

class Encoding : public testing::Test {
protected:
    void encode(const char* sql, const std::vector<Value>& values, std::size_t rows = 1) {
        parameters.encode(read_signature(sql), values, rows);
    }
    std::optional<std::string> sent(int at) const {
        if (!parameters.pointers()[at]) return std::nullopt;
        EXPECT_EQ(parameters.formats()[at], 1);
        return std::string(parameters.pointers()[at],
                           static_cast<std::size_t>(parameters.lengths()[at]));
    }

    Parameters parameters;
};

TEST_F(Encoding, OfSingleValues) {
    encode("SELECT $1::bigint, $2::integer, $3::smallint, $4::text, $5::bytea, $6::text",
           {Value{-2}, Value{258}, Value{-1}, text("über"), bytes("a\0b"s), Value{}});
    EXPECT_EQ(parameters.count(), 6);
    EXPECT_EQ(sent(0), "\xff\xff\xff\xff\xff\xff\xff\xfe"s);
    EXPECT_EQ(sent(1), "\0\0\1\2"s);
    EXPECT_EQ(sent(2), "\xff\xff"s);
    EXPECT_EQ(sent(3), "über"s);
    EXPECT_EQ(sent(4), "a\0b"s);
    EXPECT_EQ(sent(5), std::nullopt);
}

TEST_F(Encoding, OfAColumnEach) {
    encode("SELECT * FROM unnest($1::smallint[], $2::text[], $3::bigint[])",
           {Value{1}, text("x"), Value{}, Value{2}, Value{}, Value{}}, 2);
    const auto head = [](char type) {
        return "\0\0\0\1"s                   // one dimension
               + "\0\0\0\1"s                 // with nulls
               + "\0\0\0"s + type            // of this type
               + "\0\0\0\2"s + "\0\0\0\1"s;  // two, from 1 on
    };
    EXPECT_EQ(sent(0), head(21) + "\0\0\0\2\0\1"s + "\0\0\0\2\0\2"s);
    EXPECT_EQ(sent(1), head(25) + "\0\0\0\1x"s + "\xff\xff\xff\xff"s);
    EXPECT_EQ(sent(2), std::nullopt) << "a column of nulls costs nothing";
}

TEST_F(Encoding, RefusesANumberThatItsColumnCantHold) {
    const auto refused = [&](const char* sql, std::int64_t number) {
        try {
            encode(sql, {Value{number}});
        } catch (const Error& error) {
            return error.code() == Code::invalid;
        }
        return false;
    };
    EXPECT_FALSE(refused("SELECT $1::smallint", -32768));
    EXPECT_TRUE(refused("SELECT $1::smallint", -32769));
    EXPECT_FALSE(refused("SELECT $1::integer", std::numeric_limits<std::int32_t>::max()));
    EXPECT_TRUE(refused("SELECT $1::integer", std::int64_t{1} << 31));
    EXPECT_FALSE(refused("SELECT $1::bigint", std::numeric_limits<std::int64_t>::min()));
}

}  // namespace
}  // namespace pawl::store::sql::postgres
