#include <fmt/format.h>

#include <pawl/json/write.hpp>

namespace pawl::inline v0::json::detail {

void fail_enum(const Writer& w, std::string_view name, std::int64_t value) {
    w.fail(fmt::format("the value {} of {} has no name", value, name));
}

void write_integer_key(Writer& w, std::int64_t value) {
    w.plain_key(fmt::format_int{value}.c_str());
}

void write_integer_key(Writer& w, std::uint64_t value) {
    w.plain_key(fmt::format_int{value}.c_str());
}

void write_uuid(Writer& w, const Uuid& value) { w.text(value.text()); }

}  // namespace pawl::inline v0::json::detail
