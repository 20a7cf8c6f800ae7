// A saga: a trip is booked as a whole or not at all. Each booking registers how it is undone; when a
// later one fails for good, or somebody cancels the trip, what was booked is undone, last first.
#include <cstdio>
#include <map>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
using namespace std::chrono_literals;

struct Trip { std::string traveller; std::string city; };

// The world around the function: it drops what it has seen, by the key.
std::string book(const char* what, const Trip& trip, const std::string& key) {
    if (std::string_view{what} == "hotel" && trip.city == "Atlantis")
        throw pawl::Permanent("there is no hotel in Atlantis");
    static std::map<std::string, std::string> bookings;
    auto& booking = bookings[key];
    if (booking.empty()) {
        booking = what + std::string{" in "} + trip.city;
        std::printf("book a %s for %s\n", booking.c_str(), trip.traveller.c_str());
    }
    return booking;
}
void give_back(const std::string& booking) { std::printf("give back the %s\n", booking.c_str()); }

// [saga]
std::vector<std::string> book_trip(pawl::Context& ctx, const Trip& trip) {
    std::vector<std::string> bookings;
    for (const char* what : {"flight", "hotel", "car"}) {
        auto booking = ctx.step(what, [&](const pawl::Attempt& a) { return book(what, trip, a.key); });
        // Run when this function has ended and its locals are gone: it holds what it needs.
        ctx.compensate(std::string{"return "} + what, [booking] { give_back(booking); });
        bookings.push_back(booking);
    }
    ctx.wait<bool>("paid");
    return bookings;
}
// [/saga]

void show(const pawl::Run<std::vector<std::string>>& run) {
    try {
        if (auto bookings = run.result(0s))
            std::printf("run \"%s\" has %zu bookings\n", run.id().c_str(), bookings->size());
    } catch (const pawl::RunFailed& e) {
        std::printf("%s\n", e.what());
    }
}

int main() {
    pawl::testing::Fixture world;
    auto trips = world.engine().add("trip", book_trip);

    auto good = trips.start("t-1", Trip{"ada", "Paris"});
    auto bad = trips.start("t-2", Trip{"bob", "Atlantis"});
    world.run_until_idle();
    good.signal("paid", true);
    world.run_until_idle();
    show(good);
    show(bad);

    // [cancel]
    auto unwanted = trips.start("t-3", Trip{"eve", "Rome"});
    world.run_until_idle();
    unwanted.cancel("changed her mind");
    world.run_until_idle();
    // [/cancel]
    show(unwanted);
}
