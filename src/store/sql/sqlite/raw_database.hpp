/// A SQLite file as a user's own program would use it: for tests that stand outside the store.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace pawl::store::sql::sqlite {

class RawDatabase {
public:
    explicit RawDatabase(const std::string& path) {
        if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK)
            throw std::runtime_error{sqlite3_errmsg(database_)};
    }
    ~RawDatabase() { sqlite3_close(database_); }
    RawDatabase(const RawDatabase&) = delete;
    RawDatabase& operator=(const RawDatabase&) = delete;

    /// Every column of every row, a line for each row.
    std::string run(const std::string& sql) {
        std::string out;
        const auto collect = [](void* text, int columns, char** values, char**) {
            for (int i = 0; i < columns; ++i)
                *static_cast<std::string*>(text) +=
                    std::string{values[i] ? values[i] : "NULL"} + (i + 1 < columns ? "|" : "\n");
            return 0;
        };
        char* error = nullptr;
        if (sqlite3_exec(database_, sql.c_str(), collect, &out, &error) != SQLITE_OK) {
            const std::string message = error ? error : "?";
            sqlite3_free(error);
            throw std::runtime_error{message};
        }
        return out;
    }

private:
    sqlite3* database_ = nullptr;
};

}  // namespace pawl::store::sql::sqlite
