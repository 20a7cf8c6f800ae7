// A user's program: calls into the library and catches what it throws.
#include <cstdio>
#include <pawl/error.hpp>
#include <pawl/uuid.hpp>

int main() {
    const auto key = pawl::idempotency_key(
        {.process = "order/o-1", .step = "ship", .recipient = "carrier", .version = "1"});
    try {
        throw pawl::Error::in_doubt("the store did not answer", "i-1");
    } catch (const pawl::Error& error) {
        std::printf("%s %s %s\n", key.text().c_str(), pawl::name(error.code()),
                    error.input_id().c_str());
    }
}
