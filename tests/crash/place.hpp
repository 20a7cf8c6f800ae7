/// Where a scene has its database: a file in its directory, or a corner of a server.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace pawl::crash {

/// One database, empty at first, gone with this object.
class Place {
public:
    virtual ~Place() = default;
    /// With it, every process of the scene opens the same database.
    virtual std::string url() const = 0;
    /// The first field of the first row: what the public API does not show.
    virtual std::string ask(const std::string& sql) const = 0;
    /// A statement by somebody who does not know of pawl.
    virtual void run(const std::string& sql) const { ask(sql); }
    /// What a table beside pawl's is called, so that it is gone with this object, too.
    virtual std::string table(const std::string& name) const { return name; }
    /// What the database says of itself when all is well: empty.
    virtual std::string damage() const { return {}; }
};

struct PlaceUnderTest {
    std::string name{};  ///< letters and digits: it becomes part of the tests' names
    std::function<std::unique_ptr<Place>(const std::filesystem::path& directory)> create{};
    std::set<std::string> without{};  ///< named points that it never comes by
    std::string missing{};            ///< why it can't be tested on this machine; empty if it can
};

std::vector<PlaceUnderTest> places_under_test();

inline std::ostream& operator<<(std::ostream& out, const PlaceUnderTest& place) {
    return out << place.name;
}

}  // namespace pawl::crash
