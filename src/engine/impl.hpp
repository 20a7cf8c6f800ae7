/// What an Engine is made of; shared by the files that implement it.
#pragma once

#include <memory>
#include <pawl/engine.hpp>

#include "engine/core.hpp"

namespace pawl::inline v0 {

struct Engine::Impl {
    std::shared_ptr<engine::Core> core;

    store::Store& store() const {
        core->check_process();
        return core->store();
    }
};

}  // namespace pawl::inline v0
