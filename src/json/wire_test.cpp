#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "json/samples.hpp"

namespace pawl {
namespace {

using namespace samples;
using json::encode;

Scalars scalars() {
    return {true,
            -128,
            255,
            -32768,
            4294967295,
            9223372036854775807,
            18446744073709551615U,
            0.1F,
            1e-7,
            "\u00e4\n\"",
            Status::paid};
}

Containers containers() {
    Containers x;
    x.lines = {{"book", 2}, {"pen", 1}};
    x.flags = {true, false};
    x.three = {1, 2, 3};
    x.queue = {"first", "second"};
    x.ids = {3, 1, 2};
    x.counts = {{"b", 2}, {"a", 1}};
    x.names = {{Status::lost, "gone"}, {Status::paid, "done"}};
    x.by_id = {{-7, "minus seven"}};
    x.pair = {1, "one"};
    x.tuple = {true, 2.0, {"pen", 1}};
    x.bytes = {std::byte{0}, std::byte{1}, std::byte{255}, std::byte{128}};
    return x;
}

Times times() {
    using namespace std::chrono;
    const sys_days day{year{2024} / 2 / 29};
    return {day + 3723s + 4us, day + 5ns, day, 90s, 7us, 24h};
}

Tree tree() {
    Tree root{"root", {}, nullptr};
    root.children.push_back({"child", {}, nullptr});
    root.next = std::make_unique<Tree>();
    return root;
}

std::string wire() {
    std::ostringstream out;
    out << "Scalars " << encode(scalars()) << '\n';
    out << "Containers " << encode(containers()) << '\n';
    out << "Maybes.empty " << encode(Maybes{}) << '\n';
    out << "Maybes.full "
        << encode(Maybes{5, Line{"pen", 1}, {"x", std::nullopt}, Placed{"pen", 1}, {}}) << '\n';
    out << "Times " << encode(times()) << '\n';
    out << "Tree " << encode(tree()) << '\n';
    out << "Envelope " << encode(Envelope{Uuid{{1, 2, 3}}, {R"({"any": 1.50})"}}) << '\n';
    out << "Price " << encode(Price{Money{250}, {Money{1}}}) << '\n';
    out << "Event.Placed " << encode(Event{Placed{"pen", 1}}) << '\n';
    out << "Event.Paid " << encode(Event{Paid{"r-1"}}) << '\n';
    out << "Event.Expired " << encode(Event{Expired{}}) << '\n';
    out << "Event.Failed " << encode(Event{Failed<Line>{{"pen", 1}, "lost"}}) << '\n';
    return out.str();
}

// Journals are read for years. If this fails, the wire format has changed: either that was a
// mistake, or old journals must still be readable and the golden file is changed with care.
TEST(Wire, IsWhatItWas) {
    std::ifstream file{PAWL_GOLDEN "/wire.txt"};
    std::ostringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(wire(), golden.str());
}

}  // namespace
}  // namespace pawl
