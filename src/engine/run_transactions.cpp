// Steps whose bodies work on the user's own tables: what they do there and their record are one
// commit.
#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>
#include <pawl/transaction.hpp>

#include "base/backoff.hpp"
#include "base/text.hpp"
#include "engine/in_transaction.hpp"
#include "engine/run_execution.hpp"

namespace pawl::engine {
namespace {

// How often the whole is done again at once because others were in the way, or the connection was
// lost; then it is an attempt that failed.
constexpr int most_repetitions = 12;
constexpr Policy between_repetitions{
    .base = std::chrono::milliseconds{1}, .cap = std::chrono::milliseconds{100}, .jitter = 0.5};

}  // namespace

void check_not_in_transaction(const store::Store& store, const char* what) {
    if (store.is_in_transaction())
        throw Error{Code::misuse,
                    fmt::format("{} inside of a transaction would wait for who waits for the "
                                "transaction, and would not be undone with it: do it after it",
                                what)};
}

void RunExecution::run_transaction(Waiting& wait) {
    for (int repetitions = 1;; ++repetitions) {
        Ran ran;
        if (!try_transaction(wait, ran) || repetitions > most_repetitions) {
            if (ran.failed) conclude(wait, std::move(ran));
            return;
        }
        base::Latch never;
        never.wait_for(base::backoff(between_repetitions, repetitions, parts_.random));
    }
}

// True if it is to be done again from its beginning. What has succeeded is recorded when this
// returns.
bool RunExecution::try_transaction(Waiting& wait, Ran& ran) {
    const auto* recorded = writer_.journal().find(wait.call);
    const int attempts = recorded ? recorded->attempts : 0;
    const auto& options = wait.branch.options;
    const Duration limit = options.deadline > Duration::zero()
                               ? std::min(options.deadline, parts_.transaction_limit)
                               : parts_.transaction_limit;
    const auto transaction = parts_.store.begin(limit);
    OutgoingBuffer outgoing{parts_.outgoing};
    wait.branch.body = [&](const Attempt& attempt) {
        Transaction tx{*transaction, outgoing};
        return wait.branch.transaction(tx, attempt);
    };
    in_body_ = &wait.branch.name;
    ran = run_body(wait, attempts);
    in_body_ = nullptr;
    wait.branch.body = nullptr;
    if (ran.lost) lose();
    if (ran.failed) return transaction->may_be_repeated();
    check_held();
    records::Step step{.call = wait.call, .name = wait.branch.name, .attempts = attempts + 1};
    step.result.text = std::move(ran.bytes);
    auto written = RunWriter::Written::lost;
    bool is_writable = false;
    try {
        written = writer_.record_through(step, [&](const store::Commit& commit) {
            is_writable = true;
            if (outgoing.empty()) return transaction->commit(commit);
            auto with_messages = commit;
            outgoing.add_to(with_messages);
            return transaction->commit(with_messages);
        });
    } catch (const Error& e) {
        if (e.code() == Code::in_doubt) throw;  // the journal knows: the run is read anew
        ran = {.bytes = "",
               .error = base::readable(e.what()),
               .failed = true,
               .permanent = !is_writable};  // its record is too large, and will be again
        return transaction->may_be_repeated();
    }
    if (written != RunWriter::Written::yes) lose();
    if (!outgoing.empty()) parts_.surroundings.published(outgoing.messages());
    return false;
}

}  // namespace pawl::engine
