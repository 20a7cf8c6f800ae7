/// What a transaction gives to the engine beside the user's own SQL.
#pragma once

#include <pawl/options.hpp>
#include <pawl/outbox.hpp>
#include <pawl/uuid.hpp>
#include <string>

namespace pawl::inline v0::detail {

struct OutgoingMessage {
    std::string channel;
    std::string payload;
    PublishOptions options;  ///< `type` is set
};

/// An input for a workflow, or the start of a run.
struct OutgoingInput {
    std::string type;
    std::string id;
    std::string input;  ///< encoded
    bool starts = false;
    SendOptions options;
};

/// Collects; nothing happens before the commit.
class Outgoing {
public:
    virtual Uuid publish(OutgoingMessage message) = 0;
    virtual void post(OutgoingInput input) = 0;

protected:
    ~Outgoing() = default;
};

}  // namespace pawl::inline v0::detail
