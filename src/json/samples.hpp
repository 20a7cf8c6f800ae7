/// Types that the tests of the codec share, and how they look at errors.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <pawl/error.hpp>
#include <pawl/json.hpp>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::samples {

enum class Status { fresh, placed, paid = 7, lost = -1 };

struct Line {
    std::string sku;
    int quantity = 1;
    friend bool operator==(const Line&, const Line&) = default;
};

struct Placed {
    std::string sku;
    int quantity = 1;
    friend bool operator==(const Placed&, const Placed&) = default;
};
struct Paid {
    static constexpr auto tag = "order.paid.v1";
    std::string receipt;
    friend bool operator==(const Paid&, const Paid&) = default;
};
struct Expired {
    friend bool operator==(const Expired&, const Expired&) = default;
};
template <class T>
struct Failed {
    T what;
    std::string reason;
    friend bool operator==(const Failed&, const Failed&) = default;
};
using Event = std::variant<Placed, Paid, Expired, Failed<Line>>;

struct Scalars {
    bool yes = false;
    std::int8_t tiny = 0;
    std::uint8_t small = 0;
    std::int16_t middle = 0;
    std::uint32_t large = 0;
    std::int64_t signed_max = 0;
    std::uint64_t unsigned_max = 0;
    float single = 0;
    double real = 0;
    std::string text;
    Status status{};
    friend bool operator==(const Scalars&, const Scalars&) = default;
};

struct Containers {
    std::vector<Line> lines;
    std::vector<bool> flags;
    std::array<int, 3> three{};
    std::deque<std::string> queue;
    std::set<int> ids;
    std::map<std::string, int> counts;
    std::map<Status, std::string> names;
    std::unordered_map<std::int64_t, std::string> by_id;
    std::pair<int, std::string> pair;
    std::tuple<bool, double, Line> tuple;
    std::vector<std::byte> bytes;
    std::array<std::byte, 2> two_bytes{};
    friend bool operator==(const Containers&, const Containers&) = default;
};

struct Maybes {
    std::optional<int> number;
    std::optional<Line> line;
    std::vector<std::optional<std::string>> texts;
    std::variant<std::monostate, Placed, Paid> last;
    std::monostate nothing;
    friend bool operator==(const Maybes&, const Maybes&) = default;
};

struct Times {
    Time at{};
    std::chrono::sys_time<std::chrono::nanoseconds> precise{};
    std::chrono::sys_days day{};
    std::chrono::seconds timeout{};
    Duration pause{};
    std::chrono::hours age{};
    friend bool operator==(const Times&, const Times&) = default;
};

struct Tree {
    std::string name;
    std::vector<Tree> children;
    std::unique_ptr<Tree> next;
};

struct Envelope {
    Uuid id;
    json::Raw payload;
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// What a codec error says; "no error" if there was none.
template <class F>
std::string error_of(F&& call) {
    try {
        call();
    } catch (const Error& e) {
        return e.code() == Code::codec ? e.what() : "another error";
    }
    return "no error";
}
template <class T>
std::string decode_error(std::string_view text) {
    return error_of([&] { json::decode<T>(text); });
}
template <class T>
std::string encode_error(const T& value) {
    return error_of([&] { json::encode(value); });
}

/// Not an aggregate: travels by its Codec below.
class Money {
public:
    Money() = default;
    explicit Money(std::int64_t cents) : cents_(cents) {}
    std::int64_t cents() const { return cents_; }
    friend bool operator==(const Money&, const Money&) = default;

private:
    std::int64_t cents_ = 0;
};

/// Travels by its Codec below, which hands a part on and looks for another one by itself.
struct Boxed {
    Line line;
    int own = 0;
};

struct Price {
    Money net;
    std::vector<Money> parts;
    friend bool operator==(const Price&, const Price&) = default;
};

}  // namespace pawl::samples

template <>
struct pawl::json::Codec<pawl::samples::Money> {
    static void write(Writer& w, const samples::Money& money) {
        w.text(std::to_string(money.cents()) + " ct");
    }
    static void read(Value v, samples::Money& money) {
        const std::string text{v.text()};
        if (!text.ends_with(" ct")) v.fail_expected("an amount like \"250 ct\"");
        money = samples::Money{std::stoll(text)};
    }
};

template <>
struct pawl::json::Codec<pawl::samples::Boxed> {
    static void write(Writer& w, const samples::Boxed& boxed) { json::write(w, boxed.line); }
    static void read(Value v, samples::Boxed& boxed) {
        if (const auto line = v.find("line")) json::read(*line, boxed.line);
        if (const auto own = v.find("own")) json::read(*own, boxed.own);
    }
};
