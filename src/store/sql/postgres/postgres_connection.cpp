#include "store/sql/postgres/postgres_connection.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>
#include <utility>

#include "store/sql/postgres/joined_statements.hpp"
#include "store/sql/postgres/plain_statements.hpp"
#include "store/sql/postgres/postgres_statements.hpp"
#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::postgres {
namespace {

class PostgresRow final : public Row {
public:
    PostgresRow(const PGresult* result, int first) : result_(result), first_(first) {}

    bool is_null(int column) const override { return PQgetisnull(result_, row, first_ + column); }
    std::int64_t number(int column) const override { return integer(first_ + column); }
    std::string_view view(int column) const override {
        const int at = first_ + column;
        return {PQgetvalue(result_, row, at),
                static_cast<std::size_t>(PQgetlength(result_, row, at))};
    }
    std::int64_t key() const { return integer(0); }

    int row = 0;

private:
    std::int64_t integer(int column) const {
        const int length = PQgetlength(result_, row, column);
        const auto* data = reinterpret_cast<const unsigned char*>(PQgetvalue(result_, row, column));
        if (length == 0) return 0;
        base::check(length <= 8, "a number has at most eight bytes");
        // The sign is in the first byte.
        auto number = static_cast<std::uint64_t>(data[0] >= 0x80 ? -1 : 0);
        for (int i = 0; i < length; ++i) number = number << 8 | data[i];
        return static_cast<std::int64_t>(number);
    }

    const PGresult* result_;
    int first_;
};

}  // namespace

PostgresConnection::PostgresConnection(ConnectionOptions options)
    : options_(std::move(options)), link_(options_.link), prefix_('"' + options_.schema + "\".") {
    if (options_.pooler || options_.users) return;
    send_settings(false);
    send(warm_memory);
    finish();
}

PostgresConnection::PostgresConnection(PGconn* lent, const std::string& schema)
    : options_{.schema = schema, .pooler = true, .lent = true},
      link_(lent),
      prefix_('"' + schema + "\"."),
      stage_(Stage::begun) {}

std::string PostgresConnection::qualified(std::string_view name) const {
    return prefix_ + std::string{name};
}

void PostgresConnection::send_settings(bool local) {
    const auto statement_timeout = Link::milliseconds_of(options_.link.statement_timeout);
    const auto idle = Link::milliseconds_of(idle_timeout());
    const Value values[] = {text(statement_timeout), text(idle), text(local ? "true" : "false")};
    send(settings, values, 1, {});
}

PostgresConnection::Prepared& PostgresConnection::prepared(Statement statement) {
    auto& cached = cache_[statement.text];
    if (!cached.sql.empty()) return cached;
    cached.can_join = can_join(statement.text);
    for (const auto& form : plain_forms)
        if (std::string_view{form.of.text} == statement.text) {
            cached.plain = &prepared(form.plain);
            cached.plain->can_join = cached.can_join;
        }
    return made(cached, "pawl", rewrite(statement.text, {.prefix = prefix_, .mark = '$'}));
}

// The plainest form of it that these rows fit into.
PostgresConnection::Prepared& PostgresConnection::prepared(Statement statement,
                                                           std::span<const Value> values) {
    auto& known = prepared(statement);
    if (!known.plain || !fits(known.signature, known.plain->signature, values)) return known;
    return *known.plain;
}

PostgresConnection::Prepared& PostgresConnection::made(Prepared& fresh, const char* sort,
                                                       std::string sql) {
    fresh.sql = std::move(sql);
    fresh.signature = read_signature(fresh.sql);
    for (const Type type : fresh.signature.types)
        fresh.types.push_back(number_of(type, fresh.signature.bulk));
    fresh.name = fmt::format("{}{}", sort, ++made_);
    return fresh;
}

PostgresConnection::Prepared& PostgresConnection::joined(std::span<Posted> all) {
    std::vector<const Prepared*> parts;
    for (const auto& posted : all) parts.push_back(posted.prepared);
    auto& cached = joined_[parts];
    if (!cached.sql.empty()) return cached;
    std::vector<std::string_view> texts;
    for (const auto* part : parts) texts.push_back(part->sql);
    return made(cached, "pawl_group", join_statements(texts));
}

void PostgresConnection::send(Statement statement, std::span<const Value> values, std::size_t rows,
                              Awaited answer) {
    auto& known = prepared(statement, values);
    parameters_.encode(known.signature, values, rows);
    answer.text = statement.text;
    answer.bulk = known.signature.bulk;
    send(known, parameters_, answer);
}

void PostgresConnection::send(Prepared& known, const Parameters& parameters,
                              const Awaited& answer) {
    if (is_lost()) throw_failure(link_.place(), {"", "the connection is closed", answer.text});
    PGconn* const to = link_.handle();
    if (options_.pooler) {
        link_.check_sent(
            PQsendQueryParams(to, known.sql.c_str(), parameters.count(), known.types.data(),
                              parameters.pointers(), parameters.lengths(), parameters.formats(), 1),
            answer.text);
        awaited_.push_back(answer);
        return;
    }
    if (known.state == Prepared::State::unknown) {
        link_.check_sent(PQsendPrepare(to, known.name.c_str(), known.sql.c_str(),
                                       parameters.count(), known.types.data()),
                         answer.text);
        known.state = Prepared::State::sent;
        awaited_.push_back({.prepared = &known, .text = answer.text});
    }
    link_.check_sent(
        PQsendQueryPrepared(to, known.name.c_str(), parameters.count(), parameters.pointers(),
                            parameters.lengths(), parameters.formats(), 1),
        answer.text);
    awaited_.push_back(answer);
}

void PostgresConnection::finish() {
    link_.sync();
    awaited_.push_back({});
    take_answers();
}

void PostgresConnection::take_answers() {
    const auto deadline = link_.deadline();
    Failure failure;
    bool complete = false;
    // Whoever leaves here early leaves answers behind that nobody could tell apart.
    struct Ending {
        PostgresConnection& connection;
        bool& complete;
        ~Ending() {
            connection.awaited_.clear();
            if (!complete) connection.broken_ = true;
        }
    } const ending{*this, complete};
    for (const auto& awaited : awaited_) take_results(awaited, deadline, failure);
    complete = true;
    if (failure.message.empty()) return;
    // One that is lent is given up by its owner.
    if (ends_connection(failure)) broken_ = !options_.lent;
    held_up_ = was_out_of_time(failure);
    throw_failure(link_.place(), failure);
}

void PostgresConnection::take_results(const Awaited& awaited, Link::Deadline deadline,
                                      Failure& failure) {
    const bool is_end = awaited.text == nullptr;
    // What fails at the end of a pipeline is the commit of what was not committed in it.
    const char* const what = is_end ? postgres::commit.text : awaited.text;
    bool good = false;
    bool failed = false;
    for (;;) {
        const Result result = link_.receive(deadline, what);
        if (!result) {
            // A failure there is a result of its own, and the end comes behind it.
            if (is_end && std::exchange(failed, false)) continue;
            break;
        }
        switch (PQresultStatus(result.get())) {
            case PGRES_PIPELINE_SYNC:
                if (is_end) return;
                throw_failure(link_.place(), {"", "an answer is missing", what});
            case PGRES_TUPLES_OK: {
                good = true;
                if (awaited.users) read_users_result(result.get(), *awaited.users);
                if (!awaited.sink) break;
                PostgresRow row{result.get(), awaited.bulk ? 1 : 0};
                const int rows = PQntuples(result.get());
                for (; row.row < rows; ++row.row)
                    (*awaited.sink)(awaited.bulk ? static_cast<std::size_t>(row.key() - 1) : 0,
                                    row);
                break;
            }
            case PGRES_COMMAND_OK: {
                good = true;
                const char* const count = PQcmdTuples(result.get());
                if (awaited.changed && *count != '\0')
                    *awaited.changed = std::strtoll(count, nullptr, 10);
                // The server answers so where it had rolled back before.
                if (awaited.text == postgres::commit.text && !awaited.prepared &&
                    std::string_view{PQcmdStatus(result.get())} != "COMMIT" &&
                    failure.message.empty())
                    failure = {"40001", "the transaction was rolled back", awaited.text};
                break;
            }
            case PGRES_PIPELINE_ABORTED:
                break;
            default: {
                failed = true;
                if (!failure.message.empty()) break;
                const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
                failure = {state ? state : "", PQresultErrorMessage(result.get()), what,
                           awaited.users != nullptr};
                if (failure.message.empty()) failure.message = PQerrorMessage(link_.handle());
            }
        }
    }
    if (awaited.prepared)
        awaited.prepared->state = good ? Prepared::State::known : Prepared::State::unknown;
    if (PQstatus(link_.handle()) == CONNECTION_BAD) {
        // The server's last words say more than the end of the line.
        if (failure.message.empty()) failure.message = PQerrorMessage(link_.handle());
        throw_failure(link_.place(), {"", failure.message, what});
    }
    if (is_end) throw_failure(link_.place(), {"", "the end of the answers is missing", what});
}

std::int64_t PostgresConnection::run_rows(Statement statement, std::span<const Value> values,
                                          std::size_t rows) {
    std::int64_t changed = 0;
    send_begin();
    send(statement, values, rows, {.changed = &changed});
    finish();
    return changed;
}

void PostgresConnection::query_rows(Statement statement, std::span<const Value> values,
                                    std::size_t rows, Sink sink) {
    send_begin();
    send(statement, values, rows, {.sink = &sink});
    finish();
}

// Goes out with what follows: a transaction that has come to the server in part and is then cut off
// keeps its locks there, and many small parts cost the server more. What begins a transaction waits
// here, so that it can be joined.
void PostgresConnection::post_rows(Statement statement, std::span<const Value> values,
                                   std::size_t rows) {
    if (stage_ != Stage::wanted || users_limit_) {
        send_begin();
        return send(statement, values, rows, {});
    }
    if (posted_count_ == posted_.size()) posted_.emplace_back();
    auto& posted = posted_[posted_count_];
    posted.prepared = &prepared(statement, values);
    posted.text = statement.text;
    posted.parameters->encode(posted.prepared->signature, values, rows);
    ++posted_count_;
}

void PostgresConnection::send_posted() {
    const std::span all{posted_.data(), std::exchange(posted_count_, 0)};
    for (std::size_t begin = 0; begin < all.size();) {
        std::size_t end = begin + 1;
        while (end < all.size() && all[begin].prepared->can_join && all[end].prepared->can_join)
            ++end;
        send_joined(all.subspan(begin, end - begin));
        begin = end;
    }
}

void PostgresConnection::send_joined(std::span<Posted> all) {
    auto& first = all.front();
    if (all.size() == 1) return send(*first.prepared, *first.parameters, {.text = first.text});
    parameters_.clear();
    for (const auto& posted : all) parameters_.append(*posted.parameters);
    send(joined(all), parameters_, {.text = first.text});
}

// Goes with the first statement, so that it costs no round trip of its own.
void PostgresConnection::begin(Access access) {
    base::check(stage_ == Stage::none, "transactions do not nest");
    stage_ = Stage::wanted;
    access_ = access;
    users_limit_.reset();
}

void PostgresConnection::send_begin() {
    if (stage_ != Stage::wanted) return;
    stage_ = Stage::begun;
    send(access_ == Access::write ? begin_write : begin_read);
    if (users_limit_)
        send_users_settings();
    else if (options_.pooler)
        send_settings(true);
    send_posted();
}

void PostgresConnection::commit() {
    if (stage_ == Stage::wanted && posted_count_ == 0) {
        stage_ = Stage::none;
        return;
    }
    // What is sent at once is a transaction by itself: the server begins it with the first
    // statement and commits it at the end of the pipeline.
    if (stage_ == Stage::wanted && !options_.pooler) {
        stage_ = Stage::none;
        send_posted();
        return finish();
    }
    send_begin();
    send(postgres::commit);
    // A pooler hands the server to somebody else with the first transaction's end that it sees:
    // what was sent behind that end is then answered to a stranger, and the stranger's answers to
    // us.
    if (access_ == Access::read && !options_.pooler) {
        // Nobody waits for the end of a transaction that only read; the next one takes the answer.
        link_.sync();
        awaited_.push_back({});
        stage_ = Stage::none;
        return link_.flush_now();
    }
    finish();
    stage_ = Stage::none;
}

void PostgresConnection::rollback() noexcept {
    const bool begun = stage_ == Stage::begun;
    stage_ = Stage::none;
    posted_count_ = 0;
    if (!begun || is_lost()) return;
    try {
        // What was posted and failed is answered here too, and was told before.
        if (!awaited_.empty()) {
            link_.sync();
            awaited_.push_back({});
            try {
                take_answers();
            } catch (const Error&) {
                if (is_lost()) return;
            }
        }
        send(postgres::rollback);
        finish();
    } catch (const Error&) {
        broken_ = true;
    }
}

void PostgresConnection::reach(std::string_view point) {
    if (!options_.at_point) return;
    link_.flush_now();
    options_.at_point(point);
}

void PostgresConnection::clear_the_way() noexcept {
    if (!std::exchange(held_up_, false) || is_lost()) return;
    try {
        const auto idle = std::chrono::ceil<std::chrono::milliseconds>(idle_timeout()).count();
        query(end_stalled, {std::int64_t{idle}, text(options_.schema)}, [](const Row&) {});
    } catch (const Error&) {
        held_up_ = false;  // the next who waits tries it again
    }
}

void PostgresConnection::set_savepoint() {
    send_begin();
    send(postgres::set_savepoint);
}

void PostgresConnection::release_savepoint() {
    send(postgres::release_savepoint);
    finish();
}

void PostgresConnection::rollback_to_savepoint() {
    send(postgres::rollback_to_savepoint);
    finish();
}

void PostgresConnection::run_script(std::string_view script) {
    for (const auto& part : split_script(rewrite(script, {.prefix = prefix_, .mark = '$'}))) {
        send_begin();
        link_.check_sent(PQsendQueryParams(link_.handle(), part.c_str(), 0, nullptr, nullptr,
                                           nullptr, nullptr, 1),
                         "migration");
        awaited_.push_back({.text = "migration"});
        finish();
    }
}

}  // namespace pawl::store::sql::postgres
