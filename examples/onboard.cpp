// A durable function: ordinary code whose finished steps are remembered. It sleeps for days and
// waits for people without holding a thread; kill it anywhere, and it goes on where it was.
#include <cstdio>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
using namespace std::chrono_literals;

struct Signup { std::string email; };
struct Confirmed { std::string by; };
struct Account { std::string id; int quota = 0; std::string region; bool confirmed = false; };

// The world around the function.
std::string create_account(const std::string& email) {
    std::printf("create an account for %s\n", email.c_str());
    return "acc-" + email.substr(0, 3);
}
void mail(const std::string& to, const std::string& text) {
    static int mails = 0;
    if (++mails == 1) throw std::runtime_error("the mail server is down");
    std::printf("mail to %s: %s\n", to.c_str(), text.c_str());
}
int quota_of(const std::string& id) { return static_cast<int>(id.size()) * 100; }
std::string region_of(const std::string& email) { return email.ends_with(".org") ? "eu" : "us"; }

// [function]
Account onboard(pawl::Context& ctx, const Signup& in) {
    auto id = ctx.step("create", [&] { return create_account(in.email); });
    ctx.step("welcome", {.attempts = 5}, [&] { mail(in.email, "Welcome!"); });
    auto [quota, region] = ctx.all(ctx.later("quota", [&] { return quota_of(id); }),
                                   ctx.later("region", [&] { return region_of(in.email); }));
    ctx.sleep(72h);
    auto confirmed = ctx.wait<Confirmed>("confirmed", 24h);
    if (!confirmed) ctx.step("remind", [&] { mail(in.email, "Still there?"); });
    return {id, quota, region, confirmed.has_value()};
}
// [/function]

int main() {
    // An engine whose clock we move; a real program has pawl::Engine engine{"sqlite:app.db"}.
    pawl::testing::Fixture world;
    auto& engine = world.engine();
    // [run]
    auto onboarding = engine.add("onboard", onboard);
    auto ada = onboarding.start("ada", Signup{"ada@example.org"});  // durable when it returns
    // [/run]
    auto bob = onboarding.start("bob", Signup{"bob@example.com"});
    world.advance(73h);
    ada.signal("confirmed", Confirmed{"ada"});
    world.advance(25h);
    for (const auto& run : {ada, bob})
        if (auto account = run.result(0s))
            std::printf("%s: %s, quota %d, region %s, %s\n", run.id().c_str(), account->id.c_str(),
                        account->quota, account->region.c_str(),
                        account->confirmed ? "confirmed" : "not confirmed");
}
