/// Refuses settings with which an engine would stand still, do its work at once for ever, or fail
/// later. Throws Error (invalid), with the field, what it is, and what it may be.
#pragma once

#include <pawl/engine.hpp>
#include <string_view>

namespace pawl::engine {

void check_options(const Options& options);
void check_options(std::string_view channel, const SubscribeOptions& options);
void check_options(std::string_view function, const FunctionOptions& options);
void check_options(std::string_view workflow, const WorkflowOptions& options);
/// Of an effect's handler, if it has one of its own.
void check_policy(std::string_view workflow, const detail::Performer& performer);
/// Of SendOptions and StartOptions, by the name of the field.
void check_timeout(std::string_view field, Duration timeout);

}  // namespace pawl::engine
