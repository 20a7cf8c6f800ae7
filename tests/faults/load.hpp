/// Processes that send and work while a server suffers, and a look at what a caller sees of it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <pawl/pawl.hpp>
#include <string>
#include <thread>
#include <vector>

#include "crash/scene.hpp"
#include "faults/server.hpp"

namespace pawl::faults {

/// How long a fault lasts.
void pass(std::chrono::milliseconds time);

/// Two processes that work and one that sends. They are never replaced: what they do not do by
/// themselves is not done.
class Load {
public:
    explicit Load(crash::Scene& scene);

    /// Whether something new is answered and performed in time, by all who were hired.
    bool goes_on();
    /// Ends the processes, resends what has no answer, and holds the journals against the ledger.
    void settle_and_check();

private:
    crash::Scene& scene_;
    std::vector<crash::Process> crew_;
};

/// An engine in the test's own process whose inputs are sent one after the other, on a thread, and
/// never twice: what each send ended with.
class Caller {
public:
    struct Call {
        std::chrono::steady_clock::duration took{};
        std::optional<Code> code;  ///< none: it was accepted
        std::string message;
    };

    explicit Caller(const std::string& url, Duration timeout = std::chrono::seconds{30});
    ~Caller();

    /// Until a send is accepted that began after this call. False at the deadline.
    bool gets_through(std::chrono::milliseconds deadline);
    std::vector<Call> failures() const;
    /// The longest call that failed.
    std::chrono::milliseconds longest() const;
    /// Stops to send; then what was accepted is there once, and what failed at most once.
    void check();

private:
    void run();

    const Duration timeout_;
    Engine engine_;
    mutable std::mutex mutex_;
    std::vector<Call> calls_;
    std::vector<std::string> accepted_;
    std::vector<std::string> failed_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

/// A test that runs on every server.
class FaultsOn : public testing::TestWithParam<ServerUnderTest> {
protected:
    void SetUp() override {
        if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
    }
};

}  // namespace pawl::faults
