/// A fresh database with pawl's tables on any of the stores, gone with this object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"
#include "rival.hpp"

namespace pawl::bench {

class Place {
public:
    virtual ~Place() = default;
    /// For an engine.
    virtual std::string url() const = 0;
    /// Connections that may work at once. An engine must not write beside them; before them and
    /// after them it may.
    virtual std::vector<std::unique_ptr<Rival>> rivals(int connections) = 0;
    std::unique_ptr<Rival> rival() { return std::move(rivals(1).front()); }
    /// To be called after a fill, whoever measures then: a server looks at what is new in its
    /// tables a while later, in the middle of some measurement.
    virtual void settle() {}
};

/// On the store that the settings name.
std::unique_ptr<Place> make_place(const Settings& settings);

std::unique_ptr<Place> make_sqlite_place();
std::unique_ptr<Place> make_postgres_place();
std::unique_ptr<Place> make_mariadb_place();

/// Ends the benchmark if something else is there.
void expect(Place& place, const RowCounts& wanted);

}  // namespace pawl::bench
