/// The fixture of the engine's tests: a store by URL, a clock that is moved, engines opened on it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <pawl/testing.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/temporary_directory.hpp"
#include "store/store.hpp"

namespace pawl::crash {
class Place;
}

namespace pawl::engine_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// How long a test waits for what must come soon.
inline constexpr auto patience = 20s;

/// Calls `f`, which must throw, and returns the error.
template <class F>
Error error_of(F&& f) {
    try {
        f();
    } catch (const Error& e) {
        return e;
    } catch (const std::exception& e) {
        ADD_FAILURE() << "not a pawl::Error: " << e.what();
        return {Code::misuse, e.what()};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {Code::misuse, ""};
}

/// True once `holds` does, looked at again and again; false when patience ends first.
template <class F>
bool eventually(F&& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::yield();
    }
    return true;
}

/// A value that threads change and a test waits for.
template <class T>
class Watched {
public:
    template <class F>
    void change(F&& f) {
        const std::lock_guard lock{mutex_};
        f(value_);
        changed_.notify_all();
    }
    /// True once `holds` does; false when patience ends first.
    template <class F>
    bool wait(F&& holds) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, patience, [&] { return holds(std::as_const(value_)); });
    }
    T get() const {
        const std::lock_guard lock{mutex_};
        return value_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    T value_{};
};

/// One database for the length of a test. The parameter is the name of its store.
class EngineTest : public ::testing::TestWithParam<std::string> {
protected:
    EngineTest();
    ~EngineTest() override;
    void SetUp() override;

    std::string url() const;
    /// The database below, as somebody sees it who does not know of pawl.
    const crash::Place& place() const { return *place_; }
    /// Of the file, on SQLite.
    std::filesystem::path path() const { return directory_.path() / "shop.db"; }
    /// The manual clock for everything, and a seed.
    Options options() {
        Options o;
        o.clock = &clock;
        o.test.store_clock = &clock;
        o.test.seed = 7;
        return o;
    }
    std::unique_ptr<Engine> open() { return open(options()); }
    std::unique_ptr<Engine> open(Options o) {
        return std::make_unique<Engine>(url(), std::move(o));
    }
    template <class Rep, class Period>
    void advance(Engine& engine, std::chrono::duration<Rep, Period> d) {
        clock.advance(d);
        engine.run_until_idle();
    }

    ManualClock clock;

private:
    store::conformance::TemporaryDirectory directory_;
    std::unique_ptr<crash::Place> place_;  // none in memory
};

/// Tests that open the database again, or twice: not in memory.
class SharedEngineTest : public EngineTest {
protected:
    /// The store below the engines, to write what no engine would.
    std::unique_ptr<store::Store> open_store(
        std::function<void(std::string_view point)> at_point = {});
};

inline auto every_store() { return ::testing::Values("memory", "sqlite", "postgres", "mariadb"); }
inline auto shared_stores() { return ::testing::Values("sqlite", "postgres", "mariadb"); }
inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

inline std::vector<std::string> names_of(const std::vector<JournalEntry>& journal) {
    std::vector<std::string> names;
    for (const auto& entry : journal) names.push_back(entry.name);
    return names;
}

}  // namespace pawl::engine_test
