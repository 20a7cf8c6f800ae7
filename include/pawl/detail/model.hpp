/// The seam between typed workflows and the engine, which handles bytes only.
#pragma once

#include <memory>
#include <optional>
#include <pawl/decision.hpp>
#include <pawl/delivery.hpp>
#include <pawl/detail/outgoing.hpp>
#include <pawl/json/value.hpp>
#include <pawl/policy.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0::detail {

/// A value on the wire and its tag.
struct Encoded {
    std::string name{};
    std::string bytes{};
};

/// A decision on the wire.
struct Draft {
    struct Timer {
        Encoded input{};
        std::string key{};
        std::optional<Time> at{};
        Duration after{0};
    };
    bool rejected = false;
    std::string rejection{};  ///< a text, or the JSON of the workflow's own Rejection
    std::vector<Encoded> events{};
    std::vector<Encoded> effects{};
    std::vector<Timer> timers{};
    std::vector<std::string> cancels{};
    std::vector<OutgoingMessage> messages{};
    std::vector<Listening> listenings{};
    bool finished = false;  ///< after these events
};

/// A workflow's state in memory.
class State {
public:
    virtual ~State() = default;
};

/// An input that can be decided, as often as races make it necessary.
class Asked {
public:
    virtual ~Asked() = default;
    virtual std::string_view name() const = 0;
    /// Decides and, when accepted, folds the events into `state`. If this throws and `touched` was
    /// set, `state` may be half changed: the caller drops it.
    virtual Draft decide(State& state, const Moment& moment, bool& touched) const = 0;
    virtual std::optional<std::string> unique_key() const = 0;
    /// The instance id that the workflow's `route` names for this input, if it has one.
    virtual std::optional<std::string> route() const = 0;
};

/// How one effect of a workflow is performed.
struct Performer {
    std::string name{};
    std::optional<Policy> policy{};  ///< of the handler itself
};

/// One workflow type, without its C++ types. Immutable and thread-safe once made.
class Model {
public:
    virtual ~Model() = default;

    virtual std::unique_ptr<State> fresh() const = 0;
    virtual void evolve(State& state, std::string_view name, std::string_view bytes) const = 0;
    virtual bool finished(const State& state) const = 0;
    /// Decodes an input of the form {"type": ...}: one that was stored, or one from outside.
    virtual std::unique_ptr<Asked> input(
        std::string_view bytes, json::Strictness strictness = json::Strictness::lenient) const = 0;
    virtual std::vector<std::string> input_names() const = 0;

    virtual int version() const = 0;
    /// Absent if the state can't travel: then there are no snapshots.
    virtual std::optional<std::string> snapshot(const State& state) const = 0;
    virtual std::unique_ptr<State> restore(std::string_view bytes) const = 0;

    /// The effects that this process handles.
    virtual const std::vector<Performer>& performers() const = 0;
    /// Runs the handler of an encoded effect; what it returns is sent to the instance.
    virtual std::unique_ptr<Asked> perform(std::string_view bytes,
                                           const Delivery& delivery) const = 0;
    /// The Failed<...> input for a buried effect, if the workflow asks for it.
    virtual std::unique_ptr<Asked> failed(std::string_view name, std::string_view bytes,
                                          const std::string& reason, int attempts) const = 0;
};

}  // namespace pawl::inline v0::detail
