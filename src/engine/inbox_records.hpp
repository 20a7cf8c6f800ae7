/// An input in the inbox, as it is written there. Part of the wire format.
#pragma once

#include <pawl/json.hpp>
#include <string>

#include "json/enveloped.hpp"

namespace pawl::engine::records {

struct Posted {
    std::string id;        ///< of the instance
    std::string input_id;  ///< empty: that of the message
    bool starts = false;   ///< a run, with this input
    json::Raw input;
};

}  // namespace pawl::engine::records
