// A transaction that came to the server in part, and whose process is never heard of again: the
// server keeps its locks, until those who wait for them see to it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "conformance/builders.hpp"
#include "conformance/postgres_schema.hpp"

namespace pawl::store::sql::postgres {
namespace {

using namespace std::chrono_literals;
using conformance::on;
using conformance::order;
using conformance::PostgresSchema;

/// Begins a transaction and sends one statement of it, without the end of what it sends.
class HalfSent {
public:
    explicit HalfSent(const std::string& statement)
        : connection_(PQconnectdb(parse_postgres_url(PostgresSchema::url()).conninfo.c_str())) {
        EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK);
        EXPECT_EQ(PQenterPipelineMode(connection_.get()), 1);
        for (const auto& sql : {std::string{"BEGIN"}, statement}) {
            EXPECT_EQ(PQsendQueryParams(connection_.get(), sql.c_str(), 0, nullptr, nullptr,
                                        nullptr, nullptr, 0),
                      1);
            EXPECT_EQ(PQsendFlushRequest(connection_.get()), 1);
            // An answer and the end of the answer.
            const Result first{PQgetResult(connection_.get())};
            EXPECT_NE(PQresultStatus(first.get()), PGRES_FATAL_ERROR)
                << PQerrorMessage(connection_.get());
            EXPECT_FALSE(Result{PQgetResult(connection_.get())});
        }
    }
    bool is_alive() const {
        pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
        return ::poll(&socket, 1, 0) == 0;  // the server has nothing to say, not even the end
    }

private:
    struct Finish {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    std::unique_ptr<PGconn, Finish> connection_;
};

class PostgresStalling : public testing::Test {
protected:
    void SetUp() override {
        if (PostgresSchema::url().empty())
            GTEST_SKIP() << "PAWL_TEST_POSTGRES names no server: run ./dev test";
        auto options = schema.options();
        options.statement_timeout = 300ms;
        store = open_postgres(options);
        ASSERT_TRUE(appends(0));
    }

    bool appends(std::int64_t version) {
        const std::vector<Commit> group{on(order("1"), version).event("Placed").build()};
        std::vector<Answer> answers(1);
        try {
            store->commit(group, answers);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), Code::busy) << error.what();
            return false;
        }
        EXPECT_EQ(answers[0].fate, Fate::committed);
        return true;
    }
    std::string locking() const {
        return fmt::format("UPDATE {}.instance SET version = version", schema.name());
    }

    PostgresSchema schema;
    std::unique_ptr<Store> store;
};

TEST_F(PostgresStalling, InTheMiddleOfATransactionIsEndedByThoseWhoWait) {
    const HalfSent stalled{locking()};
    EXPECT_FALSE(appends(1)) << "it does not hold what it should";
    int tries = 1;
    while (tries < 100 && !appends(1)) ++tries;
    EXPECT_LT(tries, 100);
    EXPECT_FALSE(stalled.is_alive());
}

TEST_F(PostgresStalling, LeavesAloneWhoeverOnlyReads) {
    const HalfSent reader{fmt::format("SELECT * FROM {}.instance", schema.name())};
    const HalfSent stalled{locking()};
    for (int i = 0; i < 100 && !appends(1); ++i) continue;
    EXPECT_FALSE(stalled.is_alive());
    EXPECT_TRUE(reader.is_alive());
}

}  // namespace
}  // namespace pawl::store::sql::postgres
