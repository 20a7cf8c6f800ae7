#include "store/sql/postgres/signature.hpp"

#include <algorithm>
#include <charconv>

#include "base/check.hpp"

namespace pawl::store::sql::postgres {
namespace {

struct Known {
    std::string_view name;
    Type type;
    unsigned number;
    unsigned array;
};

// From the server's catalogue; these numbers never change.
constexpr Known known[] = {{"bigint", Type::bigint, 20, 1016},
                           {"integer", Type::integer, 23, 1007},
                           {"smallint", Type::smallint, 21, 1005},
                           {"text", Type::text, 25, 1009},
                           {"bytea", Type::bytea, 17, 1001}};

}  // namespace

Signature read_signature(std::string_view sql) {
    Signature signature;
    bool some_scalar = false;
    for (auto at = sql.find('$'); at != sql.npos; at = sql.find('$', at + 1)) {
        std::size_t number = 0;
        const char* const end = sql.data() + sql.size();
        const auto [rest, error] = std::from_chars(sql.data() + at + 1, end, number);
        if (error != std::errc{}) continue;
        std::string_view after{rest, static_cast<std::size_t>(end - rest)};
        if (signature.types.size() < number) signature.types.resize(number);
        Type& type = signature.types[number - 1];
        if (type != Type::none) continue;
        base::check(after.starts_with("::"), "the first use of a parameter has a cast");
        after.remove_prefix(2);
        const auto found =
            std::ranges::find_if(known, [&](const Known& k) { return after.starts_with(k.name); });
        base::check(found != std::end(known), "a parameter has a type that is known");
        type = found->type;
        const bool array = after.substr(found->name.size()).starts_with("[]");
        signature.bulk = signature.bulk || array;
        some_scalar = some_scalar || !array;
    }
    base::check(!(signature.bulk && some_scalar), "all parameters are arrays, or none is");
    return signature;
}

unsigned number_of(Type type, bool array) {
    const auto found =
        std::ranges::find(known, type == Type::none ? Type::bigint : type, &Known::type);
    return array ? found->array : found->number;
}

}  // namespace pawl::store::sql::postgres
