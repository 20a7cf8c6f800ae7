#include "engine/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/text.hpp"

namespace pawl::engine {

std::vector<store::Line> RegisteredFunction::lines() const {
    std::vector<store::Line> lines;
    if (!model) return lines;
    const int oldest = options.oldest == 0 ? options.version : options.oldest;
    for (int version = oldest; version <= options.version; ++version)
        lines.push_back(line(version));
    return lines;
}

void Functions::add(std::string name, std::unique_ptr<detail::FunctionModel> model,
                    FunctionOptions options) {
    base::check_id("name of a function", name);
    auto& function = all_[name];
    function.name = std::move(name);
    function.model = std::move(model);
    function.options = options;
}

bool Functions::execute() const {
    return std::ranges::any_of(all_, [](const auto& one) { return one.second.model != nullptr; });
}

const RegisteredFunction* Functions::find(std::string_view name) const {
    const auto at = all_.find(name);
    return at == all_.end() ? nullptr : &at->second;
}

const RegisteredFunction& Functions::get(std::string_view name) const {
    if (const auto* found = find(name)) return *found;
    std::string known;
    for (const auto& [other, function] : all_) known += (known.empty() ? "" : ", ") + other;
    throw Error{Code::unknown,
                fmt::format("no function \"{}\" was added to this engine; it has: {}", name,
                            known.empty() ? "none" : known)};
}

}  // namespace pawl::engine
