/// What can be asked about instances, pending work and dead letters.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/time.hpp>
#include <pawl/uuid.hpp>
#include <string>
#include <vector>

namespace pawl::inline v0 {

struct Instance {
    std::string type{};
    std::string id{};
    std::int64_t version = 0;
    std::string tenant{};
    std::string unique_key{};
    Time created_at{};
    Time updated_at{};
    std::optional<Time> finished_at{};
};

/// Empty fields do not filter.
struct InstanceQuery {
    std::string type{};
    std::string id_prefix{};
    std::string tenant{};
    std::optional<bool> finished{};
    std::optional<Time> created_from{};
    std::optional<Time> created_before{};
    std::string cursor{};  ///< `next` of the page before
    std::size_t limit = 100;
};

/// Without a type in the query, those of pawl's own are left out: then a page may be shorter than
/// asked for, and there is another one. On PostgreSQL, two instances that different processes made
/// within a second are in either order.
struct InstanceList {
    std::vector<Instance> instances{};  ///< oldest first
    std::string next{};                 ///< empty: this was the last page
};

/// One event of a journal.
struct JournalEntry {
    std::int64_t sequence = 0;
    std::int64_t position = 0;  ///< over all instances
    Uuid id{};
    std::string name{};     ///< "pawl.*" for the engine's own
    std::string payload{};  ///< JSON
    std::string correlation{};
    std::string conversation{};
    std::string tenant{};
    std::string trace{};
    std::optional<Uuid> causation{};
    Time at{};
};

enum class WorkKind : std::uint8_t { effect, timer, run };

/// An effect, a timer or a run of a durable function that is not done yet.
struct PendingWork {
    std::int64_t item = 0;
    WorkKind kind = WorkKind::effect;
    std::string type{};
    std::string id{};
    std::string name{};  ///< tag of the effect, or of the timer's input; version of the function
    std::string key{};   ///< of the timer, or the idempotency key of the effect; none of a run
    std::string payload{};
    int attempts = 0;
    std::string last_error{};
    Time created_at{};
    std::optional<Time> due_at{};  ///< absent while it is being worked on
};

struct WorkQuery {
    std::optional<WorkKind> kind{};
    std::string type{};
    std::string id{};  ///< needs `type`
    std::string name{};
    std::int64_t after = 0;  ///< `item` of the last one of the page before
    std::size_t limit = 100;
};

/// How much waits for one handler, whether or not any process has it.
struct Backlog {
    WorkKind kind = WorkKind::effect;
    std::string type{};
    std::string name{};
    std::int64_t ready = 0;
    std::int64_t waiting = 0;
    std::int64_t claimed = 0;
    std::optional<Time> oldest_due{};
};

struct FailedAttempt {
    int attempt = 0;
    Time at{};
    std::string error{};
};

struct DeadLetter {
    PendingWork work{};
    std::string reason{};
    Time died_at{};
    std::vector<FailedAttempt> history{};
};

/// Which dead letters. Empty fields do not filter.
struct DeadLetterQuery {
    std::vector<std::int64_t> items{};
    std::optional<WorkKind> kind{};
    std::string type{};
    std::string id{};  ///< needs `type`
    std::string name{};
    std::string reason{};  ///< a part of it
    std::optional<Time> died_from{};
    std::optional<Time> died_before{};
    std::int64_t after = 0;
    std::size_t limit = 100;
};

/// An item whose input changed nothing: it was rejected, or the instance had finished.
struct Ending {
    std::int64_t item = 0;
    WorkKind kind = WorkKind::effect;
    std::string type{};
    std::string id{};
    std::string name{};
    std::string key{};
    bool rejected = false;  ///< else the instance had finished
    std::string reason{};
    Time at{};
};

}  // namespace pawl::inline v0
