#include "engine/check_options.hpp"

#include <fmt/format.h>

#include <concepts>
#include <pawl/error.hpp>

#include "base/waits.hpp"

namespace pawl::engine {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Duration shortest_lease = milliseconds{1};
// More would end in an error of the system's or of the database's.
constexpr int most_threads = 10'000;
constexpr std::size_t most_rows = 1'000'000;
constexpr std::size_t most_bytes = 1024 * 1024 * 1024;
constexpr std::size_t none = 0, one = 1;

constexpr const char* not_negative = "0 or more";
constexpr const char* more_than_nothing = "more than 0; Duration::max() is for ever";

template <class T>
std::string text_of(const T& value) {
    return fmt::format("{}", value);
}

std::string text_of(Duration length) {
    if (length == Duration::max()) return "Duration::max()";
    const auto us = length.count();
    if (us % 1'000'000 == 0) return fmt::format("{} s", us / 1'000'000);
    return us % 1000 == 0 ? fmt::format("{} ms", us / 1000) : fmt::format("{} us", us);
}

/// Whose settings they are: `step "pay"`, or the engine's own. Texts are made when they are needed.
struct Whose {
    std::string_view what;
    std::string_view name;
    std::string_view part;

    std::string text() const {
        return what.empty() ? "" : fmt::format("{} \"{}\"{}: ", what, name, part);
    }
};

/// The fields of one struct of settings.
class Fields {
public:
    Fields(Whose whose, const char* type) : whose_(whose), type_(type) {}

    template <class T>
    void require(bool holds, const char* field, const T& found, std::string_view allowed) const {
        if (holds) return;
        throw Error{Code::invalid, fmt::format("{}{}::{} is {}: it must be {}", whose_.text(),
                                               type_, field, text_of(found), allowed)};
    }
    template <std::integral T>
    void at_least(T least, const char* field, T found) const {
        if (found < least)
            require(false, field, found,
                    least == 0 ? not_negative : fmt::format("at least {}", least));
    }
    void at_least_0(const char* field, Duration found) const {
        require(found >= Duration::zero(), field, found, not_negative);
    }
    template <std::integral T>
    void between(T least, T most, const char* field, T found) const {
        if (found < least || found > most)
            require(false, field, found, fmt::format("{} to {}", least, most));
    }
    void share(const char* field, double found) const {
        require(found >= 0.0 && found <= 1.0, field, found, "0 to 1");
    }

private:
    Whose whose_;
    const char* type_;
};

// Of Policy and StepOptions alike.
template <class Trying>
void check_tries(const Fields& fields, const Trying& trying) {
    fields.at_least(1, "attempts", trying.attempts);
    fields.at_least_0("base", trying.base);
    fields.at_least_0("cap", trying.cap);
    fields.share("jitter", trying.jitter);
    fields.at_least_0("deadline", trying.deadline);
}

void check_policy(const Whose& whose, const Policy& policy) {
    const Fields fields{whose, "Policy"};
    check_tries(fields, policy);
    fields.require(policy.age > Duration::zero(), "age", policy.age, more_than_nothing);
    fields.at_least(0, "at_once", policy.at_once);
}

}  // namespace

void check_options(const Options& options) {
    const Fields fields{{}, "Options"};
    fields.between(0, most_threads, "workers", options.workers);
    fields.require(options.workers > 0 || options.executor || options.claims == 0, "workers", 0,
                   "at least 1, because without an executor nothing that is claimed is ever "
                   "performed; or set claims to 0");
    fields.require(options.lease >= shortest_lease && options.lease <= base::for_ever, "lease",
                   options.lease, "at least 1 ms, and at most a hundred years");
    fields.between(none, most_rows, "claims", options.claims);
    fields.between(none, std::size_t{most_threads}, "max_bodies", options.max_bodies);
    fields.require(options.losses > 0, "losses", options.losses,
                   "at least 1: with less, everything would be buried before it is performed");
    fields.require(options.queue > 0, "queue", options.queue, "at least 1");
    fields.between(one, most_bytes, "payload_limit", options.payload_limit);
    fields.require(
        options.transaction_limit > Duration::zero() && options.transaction_limit <= hours{1},
        "transaction_limit", options.transaction_limit, "more than 0, and at most an hour");
    fields.at_least_0("input_id_retention", options.input_id_retention);
    fields.at_least_0("ending_retention", options.ending_retention);
    fields.at_least_0("dead_letter_retention",
                      options.dead_letter_retention.value_or(Duration::zero()));
    fields.at_least_0("finished_retention", options.finished_retention.value_or(Duration::zero()));
    fields.at_least_0("stop_deadline", options.stop_deadline);
}

void check_options(std::string_view channel, const SubscribeOptions& options) {
    const Whose whose{"channel", channel, ""};
    const Fields fields{whose, "SubscribeOptions"};
    fields.between(one, most_rows, "batch", options.batch);
    fields.between(one, most_bytes, "batch_bytes", options.batch_bytes);
    check_policy(whose, options.policy);
    const Fields policy{whose, "Policy"};
    policy.require(options.policy.at_once == 0, "at_once", options.policy.at_once,
                   "0: it has no meaning here, as many partitions are delivered at a time as there "
                   "are workers");
    fields.at_least_0("grace", options.grace);
    fields.at_least_0("gather", options.gather);
    fields.require(options.poll > Duration::zero(), "poll", options.poll, more_than_nothing);
}

void check_options(std::string_view function, const FunctionOptions& options) {
    const Fields fields{{"function", function, ""}, "FunctionOptions"};
    fields.at_least(1, "version", options.version);
    fields.require(options.oldest >= 0 && options.oldest <= options.version, "oldest",
                   options.oldest, fmt::format("0, or 1 to its version, {}", options.version));
    fields.at_least(std::int64_t{10}, "journal_limit", options.journal_limit);
    fields.at_least(0, "at_once", options.at_once);
}

void check_options(std::string_view workflow, const WorkflowOptions& options) {
    const Fields fields{{"workflow", workflow, ""}, "WorkflowOptions"};
    fields.at_least(1, "snapshot_every", options.snapshot_every);
    check_policy({"workflow", workflow, ", timers"}, options.timers);
    check_policy({"workflow", workflow, ", effects"}, options.effects);
}

void check_policy(std::string_view workflow, const detail::Performer& performer) {
    if (performer.policy)
        check_policy({"workflow", workflow, ", effect " + performer.name}, *performer.policy);
}

void check_timeout(std::string_view field, Duration timeout) {
    if (timeout < Duration::zero())
        throw Error{Code::invalid,
                    fmt::format("{} is {}: it must be {}", field, text_of(timeout), not_negative)};
}

}  // namespace pawl::engine

namespace pawl::inline v0::detail {

void check_options(std::string_view step, const StepOptions& options) {
    const engine::Fields fields{{"step", step, ""}, "StepOptions"};
    engine::check_tries(fields, options);
    fields.at_least_0("heartbeat", options.heartbeat);
}

}  // namespace pawl::inline v0::detail
