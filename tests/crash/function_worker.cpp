// A process to be killed: it starts durable functions and executes them.
//   function_worker URL DIRECTORY NAME SEED [POINT:N [stop]]
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <iostream>

#include "crash/journey.hpp"

int main(int argc, char** argv) try {
    using namespace pawl::crash;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that ends early leaves nobody behind
    if (argc < 5)
        throw std::invalid_argument{"function_worker URL DIRECTORY NAME SEED [POINT:N [stop]]"};
    const Ledger ledger{argv[2]};
    const auto seed = static_cast<unsigned>(std::stoul(argv[4]));
    const std::string kill_at = argc > 5 ? argv[5] : "none:0";
    const auto point = kill_at.substr(0, kill_at.rfind(':'));
    const int hit = std::stoi(kill_at.substr(kill_at.rfind(':') + 1));
    const int signal = argc > 6 ? SIGSTOP : SIGKILL;  // a stopped one is sent on by the test
    std::atomic<int> hits{0};
    pawl::Options options;
    options.test.at_point = [&](std::string_view reached) {
        if (reached != point || ++hits != hit) return;
        ledger.note_end(std::string{reached});
        ::raise(signal);
    };
    Travel travel{argv[1], ledger, options, seed};
    travel.engine().start();
    std::minstd_rand random{seed};
    for (int i = 1;; ++i) {
        const auto id = fmt::format("{}-{}", argv[3], i);
        travel.begin(id, travel.make_up(random));
        // A few at a time.
        if (i % 4 != 0) continue;
        try {
            (void)travel.journeys().run(id).result(std::chrono::seconds{5});
        } catch (const pawl::RunFailed&) {
        }
    }
} catch (const std::exception& e) {
    std::cerr << "function_worker: " << e.what() << '\n';
    return 1;
}
