/// A database client as a user's own program has it, beside the engine.
#pragma once

#include <memory>
#include <pawl/engine.hpp>
#include <string>

namespace pawl::engine_test {

class Client {
public:
    virtual ~Client() = default;
    virtual void run(const std::string& sql) = 0;
    /// Its parameters bound as texts.
    virtual void run(const SqlText& text) = 0;
    virtual JoinedTransaction join(Engine& engine) = 0;
};

/// Connects to where the store is.
std::unique_ptr<Client> connect(const std::string& url);

}  // namespace pawl::engine_test
