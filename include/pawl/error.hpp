/// The one class that pawl throws, and the one that users throw to stop retries.
#pragma once

#include <pawl/export.hpp>
#include <stdexcept>
#include <string>

namespace pawl::inline v0 {

/// What went wrong, for programs. The message says what was attempted, on what, and what to do.
enum class Code {
    invalid,  ///< an argument, id, key or setting is malformed or over its limit
    unknown,  ///< a workflow type, instance or item that is not there
    misuse,   ///< a call at the wrong time: added twice, added after start, used after fork
    codec,    ///< a payload that cannot be decoded, with its path
    unique_key_taken,  ///< another active instance holds the key
    conflict,          ///< the race for one instance was lost too many times
    workflow,          ///< `decide` or `evolve` of the user's workflow threw
    busy,              ///< a queue or the database is full or locked, for longer than the deadline
    in_doubt,          ///< the outcome is not known; resend with the same input id
    unavailable,       ///< the store can't be reached or can't write (disk full, read-only)
    corrupt,           ///< the store's file is damaged, foreign, or of a newer schema
};

/// The name of a code, as it stands in logs: "unique_key_taken".
PAWL_API const char* name(Code code);

/// Every failure that is not a business outcome. Copyable, safe to store.
class PAWL_API Error : public std::runtime_error {
public:
    Error(Code code, const std::string& message);

    Code code() const noexcept { return code_; }

    /// Whether the same call may succeed later without any change by the caller.
    bool retryable() const noexcept;

    /// With Code::in_doubt: the input id that makes a resend safe. Empty otherwise.
    const std::string& input_id() const noexcept { return input_id_; }
    static Error in_doubt(const std::string& message, std::string input_id);

private:
    Code code_;
    std::string input_id_;
};

/// Thrown by a handler: this failure is final, retrying can't help. The item is buried.
class PAWL_API Permanent : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace pawl::inline v0
