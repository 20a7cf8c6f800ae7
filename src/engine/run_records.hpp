/// What stands in the journal of a run: pawl's own entries, each with its name and its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/json.hpp>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>

#include "json/enveloped.hpp"

namespace pawl::engine::records {

/// The status of a run that has a result.
inline constexpr const char* succeeded = "succeeded";

/// Who waits for a run: the call of its parent. Empty for a run that was started from outside.
struct Parent {
    std::string type;
    std::string id;
    int call = 0;
};

/// The first entry. Everything random in the run is derived from `seed`.
struct Started {
    static constexpr auto tag = "pawl.started";
    json::Raw input{};
    Uuid seed{};
    int version = 1;
    std::optional<Parent> parent{};
    std::string restarted_from{};  ///< id of the run whose first entries these are
};

/// Somebody opened a run whose steps are acquired: it is theirs from here on.
struct Opened {
    static constexpr auto tag = "pawl.opened";
};

/// A step that is over: it has a result, or an error.
struct Step {
    static constexpr auto tag = "pawl.step";
    int call = 0;  ///< which call of the function, from 1; 0: it was acquired by name
    std::string name{};
    int attempts = 1;
    json::Raw result{"null"};
    std::optional<std::string> error{};
    bool permanent = false;
};

/// An attempt at a step that failed, and when the next one is due.
struct AttemptFailed {
    static constexpr auto tag = "pawl.attempt_failed";
    int call = 0;
    std::string name;
    int attempt = 1;
    std::string error;
    Time retry_at{};
};

/// A sleep, or the end of a wait's patience.
struct Timer {
    static constexpr auto tag = "pawl.timer_set";
    int call = 0;
    std::string name;
    Time until{};
};

/// A signal that came. They are numbered per name, from 1.
struct Signal {
    static constexpr auto tag = "pawl.signal";
    std::string name;
    json::Raw value{"null"};
    Uuid id;  ///< one that was sent again because its fate was in doubt is the same
};

/// How a wait ended: with which signal of its name; 0 when its patience did.
struct Received {
    static constexpr auto tag = "pawl.received";
    int call = 0;
    std::string name;
    int signal = 0;
};

/// A child that is about to be started, or may have been.
struct Child {
    static constexpr auto tag = "pawl.child";
    int call = 0;
    std::string type;
    std::string id;
    bool waited_for = true;
};

/// Children of these calls are there: they need not be started again.
struct ChildrenStarted {
    static constexpr auto tag = "pawl.children_started";
    int first = 0;
    int last = 0;
};

/// How a child ended.
struct ChildEnded {
    static constexpr auto tag = "pawl.child_ended";
    int call = 0;
    std::string status;  ///< "succeeded", and then it has a result
    json::Raw result{"null"};
    std::string error;
};

/// There is mail that was not counted: it was left while the run was a dead letter.
struct MailLeft {
    static constexpr auto tag = "pawl.mail_left";
};

/// Which branch of an `any` was first; its call is that of the first branch.
struct Won {
    static constexpr auto tag = "pawl.won";
    int call = 0;
    int branch = 0;
    int branches = 0;
};

/// The children of an `any` that were not the first are asked to end; its call is that of `Won`.
struct LosersCancelled {
    static constexpr auto tag = "pawl.losers_cancelled";
    int call = 0;
};

struct Value {
    static constexpr auto tag = "pawl.value";
    int call = 0;
    std::string key;
    json::Raw value;
};

struct Now {
    static constexpr auto tag = "pawl.now";
    int call = 0;
    Time at{};
};

struct Change {
    static constexpr auto tag = "pawl.change";
    int call = 0;
    std::string name;
    int version = 0;
};

struct CancelRequested {
    static constexpr auto tag = "pawl.cancel_requested";
    std::string reason;
};
struct Paused {
    static constexpr auto tag = "pawl.paused";
};
struct Resumed {
    static constexpr auto tag = "pawl.resumed";
};

/// The function is over, and what is registered to undo it begins.
struct Compensating {
    static constexpr auto tag = "pawl.compensating";
    std::string status;
    std::string error;
    int undos = 0;  ///< compensations that were registered by then
};

/// The last entry.
struct Finished {
    static constexpr auto tag = "pawl.finished";
    std::string status{};  ///< "succeeded", and then it has a result
    json::Raw result{"null"};
    std::string error{};
};

}  // namespace pawl::engine::records
