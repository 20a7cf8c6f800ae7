#include <algorithm>
#include <chrono>
#include <limits>
#include <pawl/json/time.hpp>

#include "base/moment.hpp"

namespace pawl::inline v0::json::detail {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t billion = 1'000'000'000;
constexpr auto form = "a time like \"2024-02-29T12:00:00.000000Z\"";

}  // namespace

void write_time(Writer& w, std::int64_t count, std::int64_t nanoseconds) {
    const Wide whole = static_cast<Wide>(count) * nanoseconds;
    auto rest = static_cast<std::int64_t>(whole % billion);
    auto since = whole / billion;
    if (rest < 0) {
        rest += billion;
        --since;
    }
    // Beyond 64 bits it is beyond the years, too.
    using Limit = std::numeric_limits<std::int64_t>;
    const std::chrono::seconds since_1970{
        static_cast<std::int64_t>(std::clamp<Wide>(since, Limit::min(), Limit::max()))};
    const auto text = base::moment_text({since_1970, rest}, nanoseconds % 1000 != 0 ? 9 : 6);
    if (!text) w.fail("a time outside the years 0 to 9999 can't travel");
    w.text(*text);
}

std::int64_t read_time(Value v, std::int64_t nanoseconds, Limits limits) {
    const auto moment = v.type() == Type::text ? base::parse_wire_moment(v.text()) : std::nullopt;
    if (!moment) v.fail_expected(form);
    const Wide whole =
        static_cast<Wide>(moment->since_1970.count()) * billion + moment->nanoseconds;
    const Wide count = whole / nanoseconds;
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
