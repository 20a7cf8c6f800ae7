#include "store/sql/mariadb/prepared.hpp"

#include <fmt/format.h>
#include <mysql.h>

#include <algorithm>
#include <numeric>
#include <pawl/error.hpp>

#include "store/sql/rewrite.hpp"

namespace pawl::store::sql::mariadb {
namespace {

constexpr std::size_t first_buffer = 256;

bool is_text(const Value& value) {
    return value.type == Value::Type::text || value.type == Value::Type::bytes;
}

// While this lives, statements are sent and nobody waits for the answer.
class Unanswered {
public:
    explicit Unanswered(MYSQL* link) : link_(link) { set(1); }
    Unanswered(const Unanswered&) = delete;
    Unanswered& operator=(const Unanswered&) = delete;
    ~Unanswered() { set(0); }

private:
    void set(my_bool on) { mysql_optionsv(link_, MARIADB_OPT_SKIP_READ_RESPONSE, &on); }

    MYSQL* link_;
};

int compare(const Value& a, const Value& b) {
    if (a.type != b.type) return a.type < b.type ? -1 : 1;
    if (is_text(a)) return a.view().compare(b.view());
    return a.number < b.number ? -1 : a.number > b.number;
}

void append_json(std::string& out, const Value& value) {
    switch (value.type) {
        case Value::Type::null:
            out += "null";
            break;
        case Value::Type::number:
            fmt::format_to(std::back_inserter(out), "{}", value.number);
            break;
        case Value::Type::text:
        case Value::Type::bytes:
            static constexpr char digits[] = "0123456789ABCDEF";
            out += '"';
            for (const char c : value.view()) {
                out += digits[static_cast<unsigned char>(c) >> 4];
                out += digits[static_cast<unsigned char>(c) & 15];
            }
            out += '"';
            break;
    }
}

}  // namespace

std::size_t size_of(std::span<const Value> row) {
    std::size_t size = 0;
    for (const Value& value : row)
        size += 10 + (is_text(value) ? static_cast<std::size_t>(value.number) : 0);
    return size;
}

Keys::Keys(std::span<const Value> values, std::size_t rows)
    : values_(values), columns_(values.size() / rows), order_(rows) {
    std::iota(order_.begin(), order_.end(), 0u);
    const auto row = [&](std::uint32_t i) { return values_.subspan(i * columns_, columns_); };
    std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
        const auto left = row(a), right = row(b);
        for (std::size_t c = 0; c < columns_; ++c)
            if (const int order = compare(left[c], right[c])) return order < 0;
        return a < b;
    });
}

std::vector<std::string> Keys::parts(std::size_t largest) const {
    std::vector<std::string> parts;
    std::string row;
    for (const auto i : order_) {
        row.clear();
        fmt::format_to(std::back_inserter(row), "[{}", i);
        for (const Value& value : values_.subspan(i * columns_, columns_)) {
            row += ',';
            append_json(row, value);
        }
        row += ']';
        if (row.size() + 2 > largest)
            throw Error{Code::invalid, fmt::format("a key of {} bytes is larger than the server's "
                                                   "max_allowed_packet allows",
                                                   row.size())};
        if (parts.empty() || parts.back().size() + row.size() + 2 > largest) parts.emplace_back();
        auto& part = parts.back();
        part += part.empty() ? '[' : ',';
        part += row;
    }
    for (auto& part : parts) part += ']';
    return parts;
}

/// The library wants an array for each parameter: the rows, turned by a quarter.
class Prepared::Parameters {
public:
    Parameters(std::vector<std::size_t> places, bool texts_as_bytes)
        : places_(std::move(places)),
          text_(texts_as_bytes ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING),
          columns_(places_.size()),
          binds_(places_.size()) {}

    bool take_json() const { return std::ranges::find(places_, 0u) != places_.end(); }
    MYSQL_BIND* binds() { return binds_.empty() ? nullptr : binds_.data(); }

    void set(std::span<const Value> values, std::size_t rows) {
        const std::size_t width = values.size() / rows;
        for (std::size_t at = 0; at < places_.size(); ++at) {
            columns_[at].resize(rows);
            binds_[at] = {};
            binds_[at].buffer_type = MYSQL_TYPE_NULL;
            for (std::size_t i = 0; i < rows; ++i) set(at, i, values[i * width + places_[at] - 1]);
            point(at, rows);
        }
    }

    void set_json(std::string_view json) {
        const Value value = text(json);
        for (std::size_t at = 0; at < places_.size(); ++at) {
            columns_[at].resize(1);
            binds_[at] = {};
            set(at, 0, value);
            point(at, 1);
        }
    }

private:
    struct Column {
        std::vector<std::int64_t> numbers;
        std::vector<const char*> texts;
        std::vector<unsigned long> lengths;
        std::vector<char> indicators;

        void resize(std::size_t rows) {
            numbers.resize(rows);
            texts.resize(rows);
            lengths.resize(rows);
            indicators.resize(rows);
        }
    };

    // A column has numbers, texts or bytes, and any of them may be NULL.
    void set(std::size_t at, std::size_t row, const Value& value) {
        Column& column = columns_[at];
        column.numbers[row] = value.number;
        column.texts[row] = value.data ? value.data : "";
        column.lengths[row] = is_text(value) ? static_cast<unsigned long>(value.number) : 0;
        column.indicators[row] =
            value.type == Value::Type::null ? STMT_INDICATOR_NULL : STMT_INDICATOR_NONE;
        auto& type = binds_[at].buffer_type;
        if (value.type == Value::Type::number) type = MYSQL_TYPE_LONGLONG;
        if (value.type == Value::Type::text) type = text_;
        if (value.type == Value::Type::bytes) type = MYSQL_TYPE_BLOB;
    }

    void point(std::size_t at, std::size_t rows) {
        Column& column = columns_[at];
        MYSQL_BIND& bind = binds_[at];
        bind.length = column.lengths.data();
        if (rows > 1) {
            // An array of nothing but NULL still has a type.
            if (bind.buffer_type == MYSQL_TYPE_NULL) bind.buffer_type = MYSQL_TYPE_LONGLONG;
            bind.u.indicator = column.indicators.data();
        }
        if (bind.buffer_type == MYSQL_TYPE_LONGLONG) {
            bind.buffer = column.numbers.data();
        } else if (rows > 1) {
            bind.buffer = column.texts.data();
        } else {
            bind.buffer = const_cast<char*>(column.texts[0]);
            bind.buffer_length = column.lengths[0];
        }
    }

    std::vector<std::size_t> places_;  // the parameter at each mark, from 1
    enum_field_types text_;
    std::vector<Column> columns_;
    std::vector<MYSQL_BIND> binds_;
};

/// The columns of a result, each in a buffer that grows with what it has to hold.
class Prepared::Result final : public Row {
public:
    Result(MYSQL_STMT* handle, MYSQL_RES* metadata) : handle_(handle) {
        const auto* fields = mysql_fetch_fields(metadata);
        columns_.resize(mysql_num_fields(metadata));
        binds_.resize(columns_.size());
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto& bind = binds_[i] = {};
            auto& column = columns_[i];
            bind.is_null = &column.is_null;
            bind.error = &column.is_cut;
            bind.length = &column.length;
            column.is_number = IS_NUM(fields[i].type);
            if (column.is_number) {
                bind.buffer_type = MYSQL_TYPE_LONGLONG;
                bind.buffer = &column.number;
            } else {
                bind.buffer_type = MYSQL_TYPE_BLOB;
                grow(i, first_buffer);
            }
        }
    }

    // Each execution reads into the same buffers.
    bool attach() { return mysql_stmt_bind_result(handle_, binds_.data()) == 0; }

    enum class Fetched { row, end, failure };
    Fetched fetch() {
        const int code = mysql_stmt_fetch(handle_);
        if (code == MYSQL_NO_DATA) return Fetched::end;
        if (code != 0 && code != MYSQL_DATA_TRUNCATED) return Fetched::failure;
        bool has_grown = false;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            auto& column = columns_[i];
            if (column.is_number || column.is_null || column.length <= column.buffer.size())
                continue;
            grow(i, column.length);
            has_grown = true;
            if (mysql_stmt_fetch_column(handle_, &binds_[i], static_cast<unsigned>(i), 0) != 0)
                return Fetched::failure;
        }
        if (has_grown && !attach()) return Fetched::failure;
        return Fetched::row;
    }

    bool is_null(int column) const override { return at(column).is_null; }
    std::int64_t number(int column) const override {
        return at(column).is_null ? 0 : at(column).number;
    }
    std::string_view view(int column) const override {
        const auto& found = at(column);
        return found.is_null ? std::string_view{}
                             : std::string_view{found.buffer.data(), found.length};
    }

    // The key's number comes first in the result of a statement that got many.
    void skip(int columns) { skipped_ = columns; }
    std::size_t key() const { return static_cast<std::size_t>(columns_[0].number); }

private:
    struct Column {
        std::int64_t number = 0;
        std::vector<char> buffer;
        unsigned long length = 0;
        my_bool is_null = 0;
        my_bool is_cut = 0;
        bool is_number = false;
    };

    void grow(std::size_t i, std::size_t size) {
        columns_[i].buffer.resize(size);
        binds_[i].buffer = columns_[i].buffer.data();
        binds_[i].buffer_length = size;
    }
    const Column& at(int column) const {
        return columns_[static_cast<std::size_t>(column + skipped_)];
    }

    MYSQL_STMT* handle_;
    int skipped_ = 0;
    std::vector<Column> columns_;
    std::vector<MYSQL_BIND> binds_;
};

void Prepared::Close::operator()(st_mysql_stmt* handle) const { mysql_stmt_close(handle); }

Prepared::Prepared(st_mysql* link, std::string_view sql, const PreparedOptions& options)
    : handle_(mysql_stmt_init(link)) {
    std::vector<std::size_t> places;
    const auto text =
        rewrite(sql, {.prefix = options.prefix, .mark = '?', .numbered = false}, &places);
    is_ready_ = handle_ && mysql_stmt_prepare(handle_.get(), text.data(), text.size()) == 0;
    parameters_ = std::make_unique<Parameters>(std::move(places), options.texts_as_bytes);
    takes_json_ = parameters_->take_json();
    // The server refuses arrays for an INSERT ... SELECT.
    takes_arrays_ = text.find("INSERT") == text.npos || text.find("SELECT") == text.npos;
}

// Only now, and not when it was prepared: then the server does not yet tell what RETURNING returns.
bool Prepared::open_result() {
    if (result_) return result_->attach();
    struct Free {
        void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
    };
    const std::unique_ptr<MYSQL_RES, Free> metadata{mysql_stmt_result_metadata(handle_.get())};
    if (!metadata) return true;
    result_ = std::make_unique<Result>(handle_.get(), metadata.get());
    if (takes_json_) result_->skip(1);
    return result_->attach();
}

Prepared::~Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;

const Row& Prepared::row() const { return *result_; }

std::size_t Prepared::key() const { return result_->key(); }

bool Prepared::send(std::size_t rows) {
    const auto array = static_cast<unsigned>(rows > 1 ? rows : 0);
    auto* const binds = parameters_->binds();
    return mysql_stmt_attr_set(handle_.get(), STMT_ATTR_ARRAY_SIZE, &array) == 0 &&
           (!binds || mysql_stmt_bind_param(handle_.get(), binds) == 0) &&
           mysql_stmt_execute(handle_.get()) == 0;
}

bool Prepared::note(bool done) {
    has_failed_ = !done;
    if (done && !result_)
        changed_ += static_cast<std::int64_t>(mysql_stmt_affected_rows(handle_.get()));
    return done;
}

bool Prepared::run(std::span<const Value> values, std::size_t rows) {
    changed_ = 0;
    if (takes_arrays_ || rows == 1) {
        parameters_->set(values, rows);
        return note(send(rows) && open_result());
    }
    const std::size_t columns = values.size() / rows;
    for (std::size_t i = 0; i < rows; ++i) {
        parameters_->set(values.subspan(i * columns, columns), 1);
        if (!note(send(1))) return false;
    }
    return true;
}

bool Prepared::post(std::span<const Value> values, std::size_t rows) {
    changed_ = 0;
    parameters_->set(values, rows);
    const Unanswered unanswered{handle_->mysql};
    return send(rows);
}

bool Prepared::answer() {
    return note(handle_->mysql->methods->db_read_execute_response(handle_.get()) == 0);
}

bool Prepared::run_json(std::string_view json) {
    parameters_->set_json(json);
    return note(send(1) && open_result());
}

bool Prepared::next() {
    if (!result_) return false;
    const auto fetched = result_->fetch();
    has_failed_ = fetched == Result::Fetched::failure;
    return fetched == Result::Fetched::row;
}

void Prepared::finish() { mysql_stmt_free_result(handle_.get()); }

}  // namespace pawl::store::sql::mariadb
