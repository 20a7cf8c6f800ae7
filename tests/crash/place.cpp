#include "crash/place.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace pawl::crash {
namespace {

class File final : public Place {
public:
    explicit File(const std::filesystem::path& directory) : path_(directory / "shop.db") {}

    std::string url() const override { return "sqlite:" + path_.string(); }

    std::string ask(const std::string& sql) const override {
        sqlite3* raw = nullptr;
        EXPECT_EQ(sqlite3_open(path_.c_str(), &raw), SQLITE_OK);
        const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> file{raw, sqlite3_close};
        std::string found;
        const auto take = [](void* out, int, char** values, char**) {
            *static_cast<std::string*>(out) = values[0] ? values[0] : "";
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(raw, sql.c_str(), take, &found, nullptr), SQLITE_OK) << sql;
        return found;
    }

    std::string damage() const override {
        const auto said = ask("PRAGMA integrity_check");
        return said == "ok" ? "" : said;
    }

private:
    std::filesystem::path path_;
};

}  // namespace

std::vector<PlaceUnderTest> places_under_test() {
    return {{.name = "sqlite",
             .create = [](const auto& directory) { return std::make_unique<File>(directory); }}};
}

}  // namespace pawl::crash
