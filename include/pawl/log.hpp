/// What pawl tells its user's log.
#pragma once

#include <optional>
#include <pawl/export.hpp>
#include <pawl/time.hpp>
#include <string>

namespace pawl::inline v0 {

enum class LogLevel { debug, info, warning, error };

/// What a record tells of.
enum class LogEvent {
    attempt_failed,     ///< of an effect, a timer, a step or a message; `next_at` is the next one
    run_failed,         ///< a run ended without a result
    buried,             ///< an effect, a timer or a message became a dead letter
    partition_stopped,  ///< at a message that was not delivered (Poison::stop)
    put_off,            ///< this process can't go on with a run or a settlement now; tried again
    handler_late,       ///< a handler has passed its deadline and does not return
    ownership_lost,     ///< a lease, a claim or a partition went to another process
    journal_limit,      ///< a journal has four fifths of the entries that it may have
    store_failed,       ///< a request to the store failed; pawl repeats it
    callback_threw,     ///< code of yours threw where there is nothing to try again
};

/// The name of an event, as it stands in logs: "attempt_failed".
PAWL_API const char* name(LogEvent event);
/// "warning".
PAWL_API const char* name(LogLevel level);

/// One line of log. Fields that have no meaning for its event are empty. Safe to store.
struct LogRecord {
    LogLevel level = LogLevel::info;
    LogEvent event = LogEvent::store_failed;
    std::string type = {};  ///< of the workflow or function; of a message, its channel
    std::string id = {};    ///< of the instance or run; of a message, its key
    std::string item =
        {};  ///< tag of the effect or of the timer's input; step; type of the message
    int attempt = 0;
    std::string error = {};            ///< what the exception said
    std::optional<Time> next_at = {};  ///< when it is tried again
    std::string trace = {};            ///< W3C traceparent
    /// Of a failure that came again within a second: how many of these this record tells of. `id`,
    /// `attempt` and `next_at` are those of the last.
    int count = 1;
    std::string text = {};  ///< all of it, in a sentence
};

}  // namespace pawl::inline v0
