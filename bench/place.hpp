/// A fresh database on any of the stores, gone with this object.
#pragma once

#include <memory>
#include <string>

#include "harness.hpp"

namespace pawl::bench {

class Place {
public:
    virtual ~Place() = default;
    virtual std::string url() const = 0;
};

/// On the store that the settings name.
std::unique_ptr<Place> make_place(const Settings& settings);

}  // namespace pawl::bench
