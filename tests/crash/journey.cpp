#include "crash/journey.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "crash/shop.hpp"

namespace pawl::crash {
namespace {

Options with_lease(Options options) {
    options.lease = lease;
    options.workers = 3;
    options.max_bodies = 8;
    return options;
}

const StepOptions patient{.attempts = endless,
                          .base = std::chrono::milliseconds{2},
                          .cap = std::chrono::milliseconds{20}};

}  // namespace

Travel::Travel(const std::string& url, const Ledger& ledger, Options options, unsigned seed)
    : ledger_(ledger),
      seed_(seed),
      engine_(url, with_lease(std::move(options))),
      legs_(engine_.add("leg",
                        [this](Context& ctx, const std::string& from) {
                            return ctx.step("walk", patient, [&](const Attempt& attempt) {
                                return from + perform(ctx, "walk", attempt);
                            });
                        })),
      journeys_(engine_.add("journey",
                            [this](Context& ctx, const Trip& trip) { return go(ctx, trip); })) {}

std::string Travel::perform(const Context& ctx, const std::string& what, const Attempt& attempt) {
    static std::atomic<int> count{0};
    static thread_local std::minstd_rand random{seed_};
    const auto token = fmt::format("{}-{}", ::getpid(), ++count);
    ledger_.note(Performed{attempt.key, attempt.number, ctx.type(), ctx.id(), what + " " + token});
    if (random() % 10 == 0) throw std::runtime_error{"by chance"};
    return token;
}

std::string Travel::go(Context& ctx, const Trip& trip) {
    const auto step = [&](const char* name) {
        return [this, &ctx, name](const Attempt& attempt) { return perform(ctx, name, attempt); };
    };
    const auto packed = ctx.step("pack", patient, step("pack"));
    ctx.compensate("unpack", patient,
                   [&](const Attempt& attempt) { perform(ctx, "unpack", attempt); });
    const auto id = ctx.uuid().text();
    ctx.set("packed", packed);
    ctx.all(ctx.later("left", patient, step("left")), ctx.later("right", patient, step("right")));
    if (trip.nap > 0) ctx.sleep(std::chrono::milliseconds{trip.nap});
    const auto word = ctx.wait<std::string>("word", std::chrono::milliseconds{30});
    std::vector<Later<std::string>> legs;
    for (int i = 0; i < trip.legs; ++i)
        legs.push_back(ctx.later_call(legs_, fmt::format("{}-leg-{}", ctx.id(), i), packed));
    for (const auto& leg : ctx.all(std::move(legs)))
        if (!leg.starts_with(packed)) ledger_.note_wrong("a leg of another journey: " + leg);
    if (trip.fails) ctx.step("fall", {.attempts = 1}, [] { throw Permanent{"it fails"}; });
    ctx.step("arrive", patient, step("arrive"));
    return packed + " " + id + word.value_or("");
}

void Travel::begin(const std::string& id, const Trip& trip) {
    ledger_.note(Sent{id, "journey", id, json::encode(trip)});
    for (;;) {
        try {
            auto run = journeys_.start(id, trip);
            if (trip.nap % 2 == 0) run.signal("word", std::string{"word of "} + id);
            return;
        } catch (const Error& e) {
            if (e.code() == Code::unknown) return;  // it has ended already
            if (e.retryable() || e.code() == Code::in_doubt) continue;
            ledger_.note_wrong(fmt::format("start of {}: {}", id, e.what()));
            throw;
        }
    }
}

Trip Travel::make_up(std::minstd_rand& random) const {
    return {.legs = 1 + static_cast<int>(random() % 3),
            .nap = static_cast<int>(random() % 40),
            .fails = random() % 5 == 0};
}

}  // namespace pawl::crash
