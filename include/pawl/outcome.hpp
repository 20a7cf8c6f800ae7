/// What became of an input. Business outcomes are values; failures throw.
#pragma once

#include <cstdint>
#include <pawl/decision.hpp>
#include <pawl/json.hpp>
#include <string>

namespace pawl::inline v0 {

/// The outcome of an input without its types: what the untyped `send` returns.
struct OutcomeRecord {
    enum class Kind : std::uint8_t { accepted, rejected, finished };
    Kind kind = Kind::accepted;
    bool duplicate = false;
    std::int64_t events = 0;
    std::int64_t version = 0;
    std::string reason{};

    bool accepted() const { return kind == Kind::accepted; }
    bool rejected() const { return kind == Kind::rejected; }
    bool finished() const { return kind == Kind::finished; }
};

/// The outcome of an input to a W. Durable when you see it.
template <class W>
class Outcome {
public:
    explicit Outcome(OutcomeRecord record) : record_(std::move(record)) {}

    /// The decision was written, now or (see `duplicate`) when the same input id came first.
    bool accepted() const { return record_.accepted(); }
    /// `decide` refused it; nothing was written.
    bool rejected() const { return record_.rejected(); }
    /// The instance had finished before: the input changed nothing.
    bool finished() const { return record_.finished(); }
    /// The input id had been applied before: this call changed nothing.
    bool duplicate() const { return record_.duplicate; }

    /// Number of the workflow's own events that this call appended.
    std::int64_t events() const { return record_.events; }
    /// Sequence of the instance's last event when this was decided.
    std::int64_t version() const { return record_.version; }

    /// Why it was rejected, as text; the JSON of the workflow's own Rejection.
    const std::string& reason() const { return record_.reason; }
    RejectionOf<W> rejection() const {
        if constexpr (std::same_as<RejectionOf<W>, std::string>)
            return record_.reason;
        else
            return json::decode<RejectionOf<W>>(record_.reason);
    }

private:
    OutcomeRecord record_;
};

}  // namespace pawl::inline v0
