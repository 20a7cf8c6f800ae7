// A mailer that is down: each attempt fails, the mail becomes a dead letter, and when the mailer is
// back the dead letter is retried.
#include <iostream>
#include <pawl/testing.hpp>

using namespace std::chrono_literals;

struct Signup {
    struct Register { std::string email; };
    struct Welcome {};  // the result of the effect
    using Input = std::variant<Register, Welcome>;

    struct Registered { std::string email; };
    struct Welcomed {};
    using Event = std::variant<Registered, Welcomed>;

    struct Mail { std::string to; };
    using Effect = std::variant<Mail>;

    using Decision = pawl::Decision<Signup>;

    bool welcomed = false;

    void evolve(const Registered&) {}
    void evolve(const Welcomed&) { welcomed = true; }

    Decision decide(const Register& in) const { return Decision{Registered{in.email}}.effect(Mail{in.email}); }
    Decision decide(const Welcome&) const { return Welcomed{}; }

    bool finished() const { return welcomed; }
};

int main() {
    pawl::testing::Fixture fixture;  // an engine in memory whose clock we move
    auto& engine = fixture.engine();
    bool mailer_is_up = false;

    // Three attempts, with 10 and 20 seconds between them.
    auto signups = engine.add<Signup>("signup", pawl::Handlers{
        pawl::with({.attempts = 3, .base = 10s, .jitter = 0}, [&](const Signup::Mail& e, const pawl::Delivery& d) {
            std::cout << "attempt " << d.attempt << " to mail " << e.to << '\n';
            if (!mailer_is_up) throw std::runtime_error{"connection refused"};
            return Signup::Welcome{};
        })});

    signups.send("ada", Signup::Register{"ada@example.org"});
    fixture.run_until_idle();
    std::cout << "ten seconds later\n";
    fixture.advance(10s);
    std::cout << "twenty seconds later\n";
    fixture.advance(20s);

    for (const auto& letter : engine.dead_letters()) {
        std::cout << "dead letter: " << letter.work.name << " of " << letter.work.id << ", " << letter.reason << '\n';
        for (const auto& failed : letter.history)
            std::cout << "  attempt " << failed.attempt << ": " << failed.error << '\n';
    }

    mailer_is_up = true;
    std::cout << "retried: " << engine.retry_dead_letters({.type = "signup"}) << '\n';
    fixture.run_until_idle();
    std::cout << (signups.state("ada")->welcomed ? "ada was welcomed" : "ada waits") << ", dead letters: "
              << engine.count_dead_letters() << '\n';
}
