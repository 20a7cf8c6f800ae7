/// The durable functions that this engine knows.
#pragma once

#include <map>
#include <memory>
#include <pawl/detail/execution.hpp>
#include <pawl/function.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "store/values.hpp"

namespace pawl::engine {

struct RegisteredFunction {
    std::string name;
    std::unique_ptr<detail::FunctionModel> model;  ///< none: its steps are acquired by programs
    FunctionOptions options;

    /// Where runs of one version wait.
    store::Line line(int version) const {
        return {store::ItemKind::run, name, std::to_string(version)};
    }
    /// Of all versions that this process executes.
    std::vector<store::Line> lines() const;
};

/// Filled before the engine works, read-only after.
class Functions {
public:
    /// A name that was not added before. Throws Error (invalid) if it or the options are malformed.
    void add(std::string name, std::unique_ptr<detail::FunctionModel> model,
             FunctionOptions options);
    /// Throws Error (unknown) that names the functions there are.
    const RegisteredFunction& get(std::string_view name) const;
    const RegisteredFunction* find(std::string_view name) const;
    /// Whether this process executes any.
    bool execute() const;
    const std::map<std::string, RegisteredFunction, std::less<>>& all() const { return all_; }

private:
    std::map<std::string, RegisteredFunction, std::less<>> all_;
};

}  // namespace pawl::engine
