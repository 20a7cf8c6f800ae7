#include "base/moment.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::base {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

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

// What stands before the zone, which is left in `text`.
std::optional<Moment> take_moment(std::string_view& text, std::string_view separators) {
    const auto year = take_digits(text, 4);
    if (year < 0 || !take(text, '-')) return std::nullopt;
    const auto month = take_digits(text, 2);
    if (month < 0 || !take(text, '-')) return std::nullopt;
    const auto day = take_digits(text, 2);
    if (day < 0 || text.empty() || separators.find(text.front()) == separators.npos)
        return std::nullopt;
    text.remove_prefix(1);
    const auto hour = take_digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
    const auto minute = take_digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
    const auto second = take_digits(text, 2);
    if (second < 0 || second > 59) return std::nullopt;
    Moment moment;
    if (take(text, '.')) moment.nanoseconds = take_fraction(text);
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (moment.nanoseconds < 0 || !date.ok()) return std::nullopt;
    moment.since_1970 = sys_seconds{sys_days{date}}.time_since_epoch() +
                        seconds{hour * 3600 + minute * 60 + second};
    return moment;
}

// How far ahead of UTC it is: "Z", "", "+01", "-05:30".
std::optional<seconds> zone(std::string_view text) {
    if (text.empty() || text == "Z") return seconds{0};
    const bool west = text.front() == '-';
    if (!west && text.front() != '+') return std::nullopt;
    text.remove_prefix(1);
    const auto hours = take_digits(text, 2);
    const auto minutes = text.empty() ? 0 : take(text, ':') ? take_digits(text, 2) : -1;
    if (hours < 0 || minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
    const seconds ahead{hours * 3600 + minutes * 60};
    return west ? -ahead : ahead;
}

}  // namespace

std::optional<Moment> parse_wire_moment(std::string_view text) {
    auto moment = take_moment(text, "T");
    if (text != "Z") moment.reset();
    return moment;
}

std::optional<Time> parse_time(std::string_view text) {
    const auto moment = take_moment(text, "T ");
    if (!moment) return std::nullopt;
    const auto ahead = zone(text);
    if (!ahead) return std::nullopt;
    return Time{moment->since_1970 - *ahead + Duration{moment->nanoseconds / 1000}};
}

std::optional<std::string> moment_text(const Moment& moment, int digits) {
    if (moment.since_1970 < first || moment.since_1970 >= last) return std::nullopt;
    const auto day = std::chrono::floor<days>(moment.since_1970);
    const std::chrono::year_month_day date{sys_days{day}};
    const auto clock = (moment.since_1970 - day).count();
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:0{}}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       clock / 3600, clock / 60 % 60, clock % 60,
                       digits == 9 ? moment.nanoseconds : moment.nanoseconds / 1000, digits);
}

std::optional<std::string> time_text(Time time) {
    const auto whole = std::chrono::floor<seconds>(time);
    return moment_text({whole.time_since_epoch(), (time - whole).count() * 1000}, 6);
}

}  // namespace pawl::base
