#include "store/sql/sqlite/opening.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <pawl/error.hpp>
#include <sstream>
#include <thread>

#include "conformance/golden.hpp"
#include "conformance/temporary_directory.hpp"
#include "store/sql/sqlite/migrations.hpp"
#include "store/sql/sqlite/raw_database.hpp"
#include "store/sql/sqlite/sqlite_store.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using conformance::TemporaryDirectory;

std::string contents(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

class Opening : public testing::Test {
protected:
    // The refusal's code and message; an opened store fails the test.
    Error refusal(const SqliteOptions& options) {
        try {
            open_sqlite(options);
        } catch (const Error& error) {
            return error;
        }
        ADD_FAILURE() << options.path << " was opened";
        return {Code::misuse, ""};
    }
    void expect_refused_untouched(const SqliteOptions& options, Code code,
                                  const std::string& part_of_message) {
        const std::string before = contents(options.path);
        const Error error = refusal(options);
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string{error.what()}.find(part_of_message), std::string::npos)
            << error.what();
        EXPECT_EQ(contents(options.path), before);
        EXPECT_NE(std::string{error.what()}.find(options.path), std::string::npos);
        EXPECT_FALSE(std::filesystem::exists(options.path + "-turn"));
    }

    TemporaryDirectory directory_;
    const std::string path_ = directory_.path() / "store.db";
};

TEST_F(Opening, RefusesAFileThatIsNoDatabase) {
    std::ofstream{path_} << std::string(8192, 'x');
    expect_refused_untouched({.path = path_}, Code::corrupt, "not a SQLite database");
}

TEST_F(Opening, RefusesADamagedFile) {
    {
        open_sqlite({.path = path_});
    }
    std::filesystem::remove(path_ + "-turn");
    std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(100);
    file << std::string(3000, '\x5a');
    file.close();
    const std::string before = contents(path_);
    EXPECT_EQ(refusal({.path = path_}).code(), Code::corrupt);
    EXPECT_EQ(contents(path_), before);
}

TEST_F(Opening, RefusesTheFileOfAnotherApplicationUnlessItIsAdopted) {
    RawDatabase{path_}.run("PRAGMA application_id = 77; CREATE TABLE theirs (x)");
    expect_refused_untouched({.path = path_}, Code::corrupt, "another application");
    {
        open_sqlite({.path = path_, .adopt = true});
    }
    EXPECT_EQ(RawDatabase{path_}.run("PRAGMA application_id"), "77\n");
    EXPECT_NO_THROW(open_sqlite({.path = path_}));
}

TEST_F(Opening, RefusesTablesThatOnlyLookLikeOurs) {
    RawDatabase{path_}.run("CREATE TABLE pawl_meta (colour)");
    expect_refused_untouched({.path = path_}, Code::corrupt, "are not pawl's");
    EXPECT_NO_THROW(open_sqlite({.path = path_, .prefix = "other_"}));
}

TEST_F(Opening, RefusesASchemaWhoseMinimumReaderIsNewer) {
    {
        open_sqlite({.path = path_});
    }
    RawDatabase{path_}.run("UPDATE pawl_meta SET schema_version = 99, minimum_reader = 98");
    std::filesystem::remove(path_ + "-turn");
    expect_refused_untouched({.path = path_}, Code::corrupt, "use a newer pawl");
    RawDatabase{path_}.run("UPDATE pawl_meta SET minimum_reader = 1");
    EXPECT_NO_THROW(open_sqlite({.path = path_}));
    EXPECT_EQ(RawDatabase{path_}.run("SELECT schema_version FROM pawl_meta"), "99\n");
}

TEST_F(Opening, RefusesAMissingDirectoryABadPrefixAndADirectory) {
    EXPECT_EQ(refusal({.path = directory_.path() / "no" / "store.db"}).code(), Code::unavailable);
    EXPECT_EQ(refusal({.path = directory_.path()}).code(), Code::unavailable);
    EXPECT_EQ(refusal({.path = path_, .prefix = "a; DROP"}).code(), Code::invalid);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

// The superuser may write everything, so another one tries.
Code refusal_of_another_user(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(100);
        try {
            open_sqlite({.path = path});
        } catch (const Error& error) {
            ::_exit(static_cast<int>(error.code()));
        }
        ::_exit(101);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return static_cast<Code>(WEXITSTATUS(status));
}

TEST_F(Opening, RefusesAReadOnlyFileAndAReadOnlyDirectory) {
    {
        open_sqlite({.path = path_});
    }
    ::chmod(path_.c_str(), 0444);
    ::chmod(directory_.path().c_str(), 0777);
    EXPECT_EQ(refusal_of_another_user(path_), Code::unavailable);
    ::chmod(path_.c_str(), 0666);
    ::chmod((path_ + "-turn").c_str(), 0666);
    ::chmod(directory_.path().c_str(), 0555);
    EXPECT_EQ(refusal_of_another_user(path_), Code::unavailable);
    EXPECT_EQ(refusal_of_another_user(directory_.path() / "new.db"), Code::unavailable);
    ::chmod(directory_.path().c_str(), 0755);
}

TEST_F(Opening, RefusesAFullDisk) {
    const std::string disk = directory_.path() / "disk";
    std::filesystem::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "a small disk can't be mounted here";
    EXPECT_EQ(refusal({.path = disk + "/store.db"}).code(), Code::unavailable);
    ::umount(disk.c_str());
}

TEST_F(Opening, KeepsTheUsersTablesInTheSameFile) {
    RawDatabase{path_}.run("CREATE TABLE account (id, cents); INSERT INTO account VALUES (1, 5)");
    {
        open_sqlite({.path = path_});
    }
    RawDatabase raw{path_};
    EXPECT_EQ(raw.run("SELECT * FROM account"), "1|5\n");
    EXPECT_EQ(raw.run("PRAGMA application_id"), "0\n");
}

TEST_F(Opening, MarksAFileOfItsOwnAndUsesThePrefix) {
    {
        open_sqlite({.path = path_, .prefix = "shop_"});
    }
    RawDatabase raw{path_};
    EXPECT_EQ(raw.run("PRAGMA application_id"), std::to_string(0x7061776c) + "\n");
    EXPECT_EQ(raw.run("SELECT count(*) FROM sqlite_master WHERE name LIKE 'pawl%'"), "0\n");
    EXPECT_EQ(raw.run("SELECT schema_version FROM shop_meta"), "1\n");
}

TEST_F(Opening, MakesTheSchemaOnceHoweverManyProcessesTry) {
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            try {
                open_sqlite({.path = path_, .busy_deadline = std::chrono::seconds{60}});
            } catch (const std::exception& error) {
                std::fprintf(stderr, "%s\n", error.what());
                ::_exit(1);
            }
            ::_exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(RawDatabase{path_}.run("SELECT count(*) FROM pawl_counter"), "1\n");
}

TEST(Migrations, AreNumberedWithoutGaps) {
    int expected = 0;
    for (const auto& migration : migrations()) EXPECT_EQ(migration.number, ++expected);
    EXPECT_GE(expected, 1);
}

TEST_F(Opening, MakesTheSchemaOfTheGoldenFile) {
    {
        open_sqlite({.path = path_});
    }
    const std::string schema = RawDatabase{path_}.run(
        "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name");
    conformance::expect_golden(schema, "sqlite_schema.sql");
}

}  // namespace
}  // namespace pawl::store::sql::sqlite
