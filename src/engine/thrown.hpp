/// What a handler or a body threw, and whether trying again can help.
#pragma once

#include <string>

namespace pawl::engine {

struct Thrown {
    std::string error;
    /// The same call would fail in the same way: it is not tried again.
    bool permanent = false;
};

/// Of the exception that is being handled: call it in a catch clause.
Thrown thrown();

}  // namespace pawl::engine
