#include "engine/registry.hpp"

#include <fmt/format.h>

#include <pawl/error.hpp>

#include "base/text.hpp"

namespace pawl::engine {

void Registry::add(std::string name, std::unique_ptr<detail::Model> model,
                   WorkflowOptions options) {
    base::check_id("workflow type", name);
    auto& type = types_[name];
    type.name = std::move(name);
    type.model = std::move(model);
    type.options = options;
}

const Registered* Registry::find(std::string_view name) const {
    const auto it = types_.find(name);
    return it == types_.end() ? nullptr : &it->second;
}

const Registered& Registry::get(std::string_view name) const {
    if (const auto* found = find(name)) return *found;
    std::string known;
    for (const auto& [other, type] : types_) known += (known.empty() ? "" : ", ") + other;
    throw Error{Code::unknown,
                fmt::format("no workflow \"{}\" was added to this engine; it has: {}", name,
                            known.empty() ? "none" : known)};
}

}  // namespace pawl::engine
