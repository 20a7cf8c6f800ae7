#include "store/sql/sqlite/checkpointer.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <functional>

#include "conformance/temporary_directory.hpp"
#include "store/sql/sqlite/raw_database.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using namespace std::chrono_literals;

// SQLite's own file layer, except that something can be done where a copier has read the header of
// the log and not yet looked at how much of it is copied.
class Interposed {
public:
    Interposed() {
        real_ = sqlite3_vfs_find(nullptr);
        shim_ = *real_;
        shim_.zName = "interposed";
        shim_.szOsFile = sizeof(File);
        shim_.xOpen = open;
        sqlite3_vfs_register(&shim_, 1);
    }
    ~Interposed() {
        sqlite3_vfs_register(real_, 1);
        sqlite3_vfs_unregister(&shim_);
    }
    static inline std::function<void()> meanwhile;

private:
    struct File {
        sqlite3_file base;
        sqlite3_file* real;
    };
    static sqlite3_file* of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
    template <auto method>
    struct Forward;
    template <class R, class... A, R (*sqlite3_io_methods::*method)(sqlite3_file*, A...)>
    struct Forward<method> {
        static R call(sqlite3_file* file, A... arguments) {
            return (of(file)->pMethods->*method)(of(file), arguments...);
        }
    };
    static int close(sqlite3_file* file) {
        const int result = of(file)->pMethods->xClose(of(file));
        std::free(of(file));
        return result;
    }
    static int unfetch(sqlite3_file* file, sqlite3_int64 offset, void* page) {
        if (page == nullptr && meanwhile) std::exchange(meanwhile, nullptr)();
        return of(file)->pMethods->xUnfetch(of(file), offset, page);
    }
    static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
        using M = sqlite3_io_methods;
        static const M methods{.iVersion = 3,
                               .xClose = close,
                               .xRead = Forward<&M::xRead>::call,
                               .xWrite = Forward<&M::xWrite>::call,
                               .xTruncate = Forward<&M::xTruncate>::call,
                               .xSync = Forward<&M::xSync>::call,
                               .xFileSize = Forward<&M::xFileSize>::call,
                               .xLock = Forward<&M::xLock>::call,
                               .xUnlock = Forward<&M::xUnlock>::call,
                               .xCheckReservedLock = Forward<&M::xCheckReservedLock>::call,
                               .xFileControl = Forward<&M::xFileControl>::call,
                               .xSectorSize = Forward<&M::xSectorSize>::call,
                               .xDeviceCharacteristics = Forward<&M::xDeviceCharacteristics>::call,
                               .xShmMap = Forward<&M::xShmMap>::call,
                               .xShmLock = Forward<&M::xShmLock>::call,
                               .xShmBarrier = Forward<&M::xShmBarrier>::call,
                               .xShmUnmap = Forward<&M::xShmUnmap>::call,
                               .xFetch = Forward<&M::xFetch>::call,
                               .xUnfetch = unfetch};
        auto* const own = reinterpret_cast<File*>(file);
        own->real =
            static_cast<sqlite3_file*>(std::calloc(1, static_cast<std::size_t>(real_->szOsFile)));
        const int result = real_->xOpen(real_, name, own->real, flags, out);
        own->base.pMethods = result == SQLITE_OK ? &methods : nullptr;
        if (result != SQLITE_OK) std::free(own->real);
        return result;
    }

    static inline sqlite3_vfs* real_ = nullptr;
    sqlite3_vfs shim_{};
};

TEST(Checkpointer, LosesNothingWhenTheLogBeginsAnewUnderItsEyes) {
    const conformance::TemporaryDirectory directory;
    const std::string path = directory.path() / "log.db";
    RawDatabase writer{path};
    RawDatabase other{path};
    writer.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)");
    const auto write = [&](int count) {
        for (int i = 0; i < count; ++i) writer.run("INSERT INTO t VALUES (randomblob(3000))");
    };
    WriteTurn turn{directory.path() / "turn", 10s};
    {
        const Interposed interposed;
        constexpr LogBounds bounds{.copy = 8, .restart = 16};
        Checkpointer checkpointer{{.path = path}, turn, bounds};
        write(200);
        other.run("SELECT count(*) FROM t; PRAGMA wal_checkpoint(PASSIVE)");  // all is copied
        Interposed::meanwhile = [&] { write(1); };  // which begins the log anew
        checkpointer.committed(2 * bounds.restart);
        checkpointer.let_catch_up();
        ASSERT_FALSE(Interposed::meanwhile) << "the place was not reached";
    }
    write(300);  // as many pages as the old log had, and more
    other.run("PRAGMA wal_checkpoint(TRUNCATE)");
    EXPECT_EQ(RawDatabase{path}.run("PRAGMA integrity_check(1); SELECT count(*) FROM t"),
              "ok\n501\n");
}

}  // namespace
}  // namespace pawl::store::sql::sqlite
