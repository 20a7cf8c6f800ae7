#include <fmt/format.h>

#include <chrono>
#include <pawl/json/time.hpp>
#include <string_view>

namespace pawl::inline v0::json::detail {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr std::int64_t billion = 1'000'000'000;
constexpr auto form = "a time like \"2024-02-29T12:00:00.000000Z\"";

// From the year 0 to the end of 9999: the years that ISO 8601 writes with four digits.
constexpr auto first = sys_seconds{sys_days{std::chrono::year{0} / 1 / 1}}.time_since_epoch();
constexpr auto last = sys_seconds{sys_days{std::chrono::year{10000} / 1 / 1}}.time_since_epoch();

// `n` digits at the front, which are cut off; -1 if there are fewer.
std::int64_t take_digits(std::string_view& text, std::size_t n) {
    if (text.size() < n) return -1;
    std::int64_t value = 0;
    for (const char c : text.substr(0, n)) {
        if (c < '0' || c > '9') return -1;
        value = value * 10 + (c - '0');
    }
    text.remove_prefix(n);
    return value;
}

bool take(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

// Up to nine digits after a point, as nanoseconds; -1 if there are none or too many.
std::int64_t take_fraction(std::string_view& text) {
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 9) return -1;
    auto value = take_digits(text, digits);
    for (auto i = digits; i < 9; ++i) value *= 10;
    return value;
}

struct Moment {
    seconds since_1970{};
    std::int64_t nanoseconds = 0;
};

bool parse(std::string_view text, Moment& moment) {
    const auto year = take_digits(text, 4);
    if (year < 0 || !take(text, '-')) return false;
    const auto month = take_digits(text, 2);
    if (month < 0 || !take(text, '-')) return false;
    const auto day = take_digits(text, 2);
    if (day < 0 || !take(text, 'T')) return false;
    const auto hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return false;
    const auto minute = take_digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ':')) return false;
    const auto second = take_digits(text, 2);
    if (second < 0 || second > 59) return false;
    if (take(text, '.')) moment.nanoseconds = take_fraction(text);
    if (moment.nanoseconds < 0 || text != "Z") return false;
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok()) return false;
    moment.since_1970 = sys_seconds{sys_days{date}}.time_since_epoch() +
                        seconds{hour * 3600 + minute * 60 + second};
    return true;
}

}  // namespace

void write_time(Writer& w, std::int64_t count, std::int64_t nanoseconds) {
    const __int128 whole = static_cast<__int128>(count) * nanoseconds;
    auto rest = static_cast<std::int64_t>(whole % billion);
    auto since = whole / billion;
    if (rest < 0) {
        rest += billion;
        --since;
    }
    if (since < first.count() || since >= last.count())
        w.fail("a time outside the years 0 to 9999 can't travel");
    const seconds since_1970{static_cast<std::int64_t>(since)};
    const auto day = std::chrono::floor<days>(since_1970);
    const std::chrono::year_month_day date{sys_days{day}};
    const auto clock = (since_1970 - day).count();
    const bool is_fine = nanoseconds % 1000 != 0;
    char buffer[64];
    const auto end = fmt::format_to(
        buffer, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:0{}}Z", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock / 3600,
        clock / 60 % 60, clock % 60, is_fine ? rest : rest / 1000, is_fine ? 9 : 6);
    w.text({buffer, static_cast<std::size_t>(end - buffer)});
}

std::int64_t read_time(Value v, std::int64_t nanoseconds, Limits limits) {
    Moment moment;
    if (v.type() != Type::text || !parse(v.text(), moment)) v.fail_expected(form);
    const __int128 whole =
        static_cast<__int128>(moment.since_1970.count()) * billion + moment.nanoseconds;
    const __int128 count = whole / nanoseconds;
    if (count * nanoseconds != whole || count < limits.lowest || count > limits.highest)
        v.fail_expected("a time that the field's type can hold");
    return static_cast<std::int64_t>(count);
}

void write_duration(Writer& w, std::int64_t count, std::int64_t microseconds) {
    std::int64_t total = 0;
    if (__builtin_mul_overflow(count, microseconds, &total))
        w.fail("a duration of more than 2^63 microseconds can't travel");
    w.integer(total);
}

std::int64_t read_duration(Value v, std::int64_t microseconds, Limits limits) {
    const auto total = v.integer();
    const auto count = total / microseconds;
    if (total % microseconds != 0 || count < limits.lowest || count > limits.highest)
        v.fail_expected("microseconds that the field's type can hold");
    return count;
}

}  // namespace pawl::inline v0::json::detail
