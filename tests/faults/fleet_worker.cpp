// One process of a fleet: it performs what its role knows, and notes who it was.
//   fleet_worker URL DIRECTORY NAME ROLE
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>

#include "crash/ledger.hpp"
#include "faults/fleet.hpp"

namespace {

using namespace pawl::faults;
using pawl::Delivery;
using pawl::Handlers;

class FleetWorker {
public:
    FleetWorker(const char* url, const char* directory, std::string name)
        : ledger_(directory), name_(std::move(name)), engine_(url, {.lease = fleet_lease}) {}

    void run(const std::string& role) {
        const auto deliver = [this](const Parcel::Deliver&, const Delivery& d) { note(d); };
        const auto insure = [this](const Parcel::Insure&, const Delivery& d) { note(d); };
        const auto check = [this](const meter::Check& e, const Delivery& d) {
            note(d);
            return meter::Confirm{e.amount};
        };
        if (role == "all") {
            engine_.add<Parcel>("parcel", Handlers{deliver, insure});
        } else if (role == "plain") {
            engine_.add<PlainParcel>("parcel", Handlers{deliver});
        } else if (role == "hang") {
            engine_.add<PlainParcel>("parcel",
                                     Handlers{[this](const Parcel::Deliver&, const Delivery& d) {
                                         note(d);
                                         ::pause();
                                     }});
        } else if (role == "old-meter") {
            engine_.add<OldMeter>("meter", Handlers{check}, meter_options);
        } else if (role == "new-meter") {
            engine_.add<NewMeter>("meter", Handlers{check}, meter_options);
        } else {
            throw std::invalid_argument{"no role " + role};
        }
        engine_.start();
        ::pause();
    }

private:
    void note(const Delivery& d) {
        ledger_.note(pawl::crash::Performed{d.key, d.attempt, d.type, d.id, name_});
    }

    pawl::crash::Ledger ledger_;
    std::string name_;
    pawl::Engine engine_;
};

}  // namespace

int main(int argc, char** argv) try {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that ends early leaves nobody behind
    if (argc != 5) throw std::invalid_argument{"fleet_worker URL DIRECTORY NAME ROLE"};
    FleetWorker{argv[1], argv[2], argv[3]}.run(argv[4]);
} catch (const std::exception& e) {
    std::cerr << "fleet_worker: " << e.what() << '\n';
    return 1;
}
