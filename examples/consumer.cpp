// A consumer of somebody else's messages, on SQLite. Their broker delivers at least once: some come
// twice, some again because we failed in the middle. Each is booked once.
#include <filesystem>
#include <iostream>
#include <pawl/pawl.hpp>
#include <unistd.h>

struct Payment { std::string message_id; std::string customer; std::int64_t cents = 0; };

// Delivers what was not confirmed again, and some of the rest, too.
class Broker {
public:
    template <class Consume>
    void deliver(Consume&& consume) {
        for (auto payment = payments_.begin(); payment != payments_.end();) {
            try {
                consume(*payment);
                ++payment;
            } catch (const std::exception& e) {
                std::cout << "  " << payment->message_id << " is not confirmed: " << e.what() << '\n';
            }
        }
    }

private:
    std::vector<Payment> payments_{{"m-1", "ada", 100}, {"m-2", "bob", 250}, {"m-1", "ada", 100},
                                   {"m-3", "ada", 50},  {"m-2", "bob", 250}, {"m-2", "bob", 250}};
};

int main() {
    auto folder = std::filesystem::temp_directory_path() / ("consumer-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    {
        pawl::Engine engine{"sqlite:" + (folder / "billing.db").string()};
        {
            auto tx = engine.begin();
            tx.exec("CREATE TABLE account (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)");
            tx.exec("INSERT INTO account VALUES ('ada', 0), ('bob', 0)");
            tx.commit();
        }
        std::cout << "the broker delivers:\n";
        bool fails = true;
        Broker{}.deliver([&](const Payment& payment) {
            // [once]
            bool booked = engine.once("billing", payment.message_id, [&](pawl::Transaction& tx) {
                tx.exec("UPDATE account SET cents = cents + $1 WHERE id = $2", payment.cents,
                        payment.customer);
                if (payment.message_id == "m-3" && std::exchange(fails, false))
                    throw std::runtime_error{"the power went"};  // nothing of it is remembered
            });
            // [/once]
            std::cout << "  " << payment.message_id << (booked ? " is booked\n" : " was booked before\n");
        });
        std::cout << "the accounts:\n";
        auto tx = engine.begin();
        struct Account { std::string id; std::int64_t cents; };
        for (const auto& a : tx.query<Account>("SELECT id, cents FROM account ORDER BY id"))
            std::cout << "  " << a.id << " has " << a.cents << '\n';
    }
    std::filesystem::remove_all(folder);
}
