#include "store/sql/sqlite/sqlite_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <pawl/error.hpp>
#include <utility>

#include "store/sql/sqlite/sqlite_statements.hpp"

namespace pawl::store::sql::sqlite {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::chrono::milliseconds look_while_listening{50};
constexpr std::chrono::milliseconds look_when_deaf{2};

class File {
public:
    explicit File(int number) : number_(number) {}
    ~File() {
        if (number_ >= 0) ::close(number_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }

private:
    int number_;
};

class SqliteWatch final : public Watch {
public:
    SqliteWatch(ConnectionOptions options, const std::string& turn_path)
        : connection_(std::move(options)),
          interruption_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
          bell_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        if (!interruption_.is_open())
            throw Error{Code::unavailable, fmt::format("no more files can be opened: {}; raise the "
                                                       "limit of open files",
                                                       std::strerror(errno))};
        hears_ = bell_.is_open() &&
                 ::inotify_add_watch(bell_.number(), turn_path.c_str(), IN_MODIFY) >= 0;
        connection_.configure(only_read);
        connection_.configure(small_cache);
        version_ = look();
    }

    bool wait(Duration timeout) override {
        const auto deadline = Steady::now() + timeout;
        while (true) {
            const auto version = look();
            if (std::exchange(version_, version) != version) return true;
            const auto left = deadline - Steady::now();
            if (left <= Steady::duration::zero()) return false;
            const Steady::duration pause = hears_ ? look_while_listening : look_when_deaf;
            switch (listen(std::min(left, pause))) {
                case Heard::bell:
                    version_ = look();
                    return true;
                case Heard::interruption:
                    return false;
                case Heard::nothing:
                    break;
            }
        }
    }

    void interrupt() override {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(interruption_.number(), &one, sizeof one);
    }

private:
    enum class Heard { nothing, bell, interruption };

    // Changes whenever another connection has committed.
    std::int64_t look() {
        std::int64_t version = 0;
        connection_.query(data_version, {}, [&](const Row& row) { version = row.number(0); });
        return version;
    }

    Heard listen(Steady::duration pause) {
        std::array<pollfd, 2> files{
            {{interruption_.number(), POLLIN, 0}, {hears_ ? bell_.number() : -1, POLLIN, 0}}};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(pause).count();
        if (::poll(files.data(), files.size(), static_cast<int>(ms)) <= 0) return Heard::nothing;
        if (files[0].revents != 0) {
            drain(interruption_);
            return Heard::interruption;
        }
        drain(bell_);
        return Heard::bell;
    }

    static void drain(const File& file) {
        std::array<char, 4096> heard;
        while (::read(file.number(), heard.data(), heard.size()) > 0) {
        }
    }

    SqliteConnection connection_;
    File interruption_;
    File bell_;
    bool hears_ = false;
    std::int64_t version_ = 0;
};

}  // namespace

std::unique_ptr<Watch> make_watch(ConnectionOptions connection, const std::string& turn_path) {
    return std::make_unique<SqliteWatch>(std::move(connection), turn_path);
}

}  // namespace pawl::store::sql::sqlite
