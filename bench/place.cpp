#include "place.hpp"

#ifdef PAWL_MARIADB
#include "raw_mariadb.hpp"
#endif
#ifdef PAWL_POSTGRES
#include "raw_postgres.hpp"
#endif

namespace pawl::bench {
namespace {

template <class S>
class PlaceIn final : public Place {
public:
    std::string url() const override { return scratch_.url(); }

private:
    S scratch_;
};

}  // namespace

std::unique_ptr<Place> make_place(const Settings& settings) {
#ifdef PAWL_POSTGRES
    if (settings.store == "postgres") return std::make_unique<PlaceIn<PostgresScratch>>();
#endif
#ifdef PAWL_MARIADB
    if (settings.store == "mariadb") return std::make_unique<PlaceIn<MariadbScratch>>();
#endif
    return std::make_unique<PlaceIn<Scratch>>();
}

}  // namespace pawl::bench
