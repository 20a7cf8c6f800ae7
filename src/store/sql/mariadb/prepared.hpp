/// One prepared statement: its parameters, for one row or for many, and its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql/connection.hpp"
#include "store/sql/value.hpp"

struct st_mysql;
struct st_mysql_stmt;

namespace pawl::store::sql::mariadb {

/// The parameter $0: all rows as JSON, in the order of their values.
class Keys {
public:
    Keys(std::span<const Value> values, std::size_t rows);

    /// Parts of at most this many bytes each; throws `invalid` for a row that is larger alone.
    std::vector<std::string> parts(std::size_t largest) const;

private:
    std::span<const Value> values_;
    std::size_t columns_;
    std::vector<std::uint32_t> order_;
};

/// Bytes that a row of parameters takes on the wire, at most.
std::size_t size_of(std::span<const Value> row);

struct PreparedOptions {
    std::string prefix;  ///< of tables
    bool texts_as_bytes = false;
};

/// A failure of the library is left in `handle()`, and told by `false`.
class Prepared {
public:
    Prepared(st_mysql* link, std::string_view sql, const PreparedOptions& options);
    ~Prepared();
    Prepared(Prepared&&) noexcept;
    Prepared& operator=(Prepared&&) noexcept;

    /// False if the server could not prepare it.
    bool is_ready() const { return is_ready_; }
    bool takes_json() const { return takes_json_; }
    st_mysql_stmt* handle() const { return handle_.get(); }

    /// Once for each row, in one round trip where the server can.
    bool run(std::span<const Value> values, std::size_t rows);
    bool run_json(std::string_view json);
    /// Sends what `run` would, without waiting; the answers are read with `answer`, in the order in
    /// which the connection's statements were sent. Only if it takes arrays, or for one row.
    bool post(std::span<const Value> values, std::size_t rows);
    bool answer();
    bool takes_arrays() const { return takes_arrays_; }
    /// Rows that the last run changed, in all.
    std::int64_t changed() const { return changed_; }

    /// The rows of the last run. `next` is false at the end and after a failure, which
    /// `has_failed` tells apart. `finish` drops what was not read.
    const Row& row() const;
    std::size_t key() const;  ///< to which the row belongs, after run_json
    bool next();
    bool has_failed() const { return has_failed_; }
    void finish();

private:
    class Parameters;
    class Result;
    struct Close {
        void operator()(st_mysql_stmt* handle) const;
    };

    bool send(std::size_t rows);
    bool note(bool done);
    bool open_result();

    std::unique_ptr<st_mysql_stmt, Close> handle_;
    bool is_ready_ = false;
    bool takes_json_ = false;
    bool takes_arrays_ = true;
    bool has_failed_ = false;
    std::int64_t changed_ = 0;
    std::unique_ptr<Parameters> parameters_;
    std::unique_ptr<Result> result_;
};

}  // namespace pawl::store::sql::mariadb
