#include "place.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace pawl::bench {

std::unique_ptr<Place> make_place(const Settings& settings) {
#ifdef PAWL_POSTGRES
    if (settings.store == "postgres") return make_postgres_place();
#endif
#ifdef PAWL_MARIADB
    if (settings.store == "mariadb") return make_mariadb_place();
#endif
    return make_sqlite_place();
}

void expect(Place& place, const RowCounts& wanted) {
    const auto text = [](const RowCounts& rows) {
        return fmt::format("{} instances, {} of them finished, {} events and {} items",
                           rows.instances, rows.finished, rows.events, rows.items);
    };
    const auto found = place.rival()->row_counts();
    if (found == wanted) return;
    throw std::runtime_error(
        fmt::format("there are {}, and there should be {}", text(found), text(wanted)));
}

}  // namespace pawl::bench
