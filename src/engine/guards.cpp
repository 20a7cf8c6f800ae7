// Runs that a user's own threads drive. No claim holds them: every opening appends an entry, and
// so the version that a former opener knows is never current again.
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <pawl/engine.hpp>
#include <pawl/error.hpp>
#include <pawl/guard.hpp>

#include "base/latch.hpp"
#include "base/text.hpp"
#include "engine/check_options.hpp"
#include "engine/core.hpp"
#include "engine/impl.hpp"

namespace pawl::engine {
namespace {

// Of a run whose steps are acquired: no version of a function has this number.
constexpr int no_function = 0;

class GuardedRun final : public detail::OpenedRun {
public:
    GuardedRun(Core& core, store::InstanceName name, StartOptions options)
        : core_(core), name_(std::move(name)), timeout_(options.timeout) {
        envelope_.correlation = std::move(options.correlation);
        envelope_.conversation = std::move(options.conversation);
        envelope_.tenant = std::move(options.tenant);
        envelope_.trace = std::move(options.trace);
        check_timeout("StartOptions::timeout", timeout_);
    }

    void open(std::string input);

    Acquired acquire(const std::string& step) override;
    void release(const std::string& step) noexcept override;
    void succeed(const std::string& step, std::string result) override;
    void fail(const std::string& step, std::string_view error) override;
    void finish(std::string result) override {
        end({.status = engine::name(RunStatus::succeeded), .result = {std::move(result)}},
            RunStatus::succeeded);
    }
    void fail_run(std::string_view reason) override {
        end({.status = engine::name(RunStatus::failed), .error = base::readable(reason)},
            RunStatus::failed);
    }
    bool finished() const override {
        const std::lock_guard lock{mutex_};
        return finished_;
    }
    const std::string& id() const override { return name_.id; }
    std::string input() const override { return started_.input.text; }

private:
    struct Known {
        int failures = 0;
        std::optional<std::string> result;
        bool acquired = false;
    };

    bool begin(std::string input);
    bool take_over(const store::Loaded& loaded);
    void fold(const store::Event& event);
    template <class Record>
    store::Event entry(const Record& record) const;
    store::Answer append(std::vector<store::Event> events, RunStatus status);
    void write(store::Event event, RunStatus status);
    void end(const records::Finished& finished, RunStatus status);
    void check_ours() const;
    std::string shown() const { return fmt::format("run \"{}\" of \"{}\"", name_.id, name_.type); }

    Core& core_;
    const store::InstanceName name_;
    const Duration timeout_;
    store::Envelope envelope_;
    records::Started started_;  // does not change once it is open
    mutable std::mutex mutex_;  // of what follows; held while the store is asked: words take turns
    store::Version version_ = 0;
    store::Head head_ = 0;
    std::map<std::string, Known> steps_;
    std::string lost_;  // why it is not ours any more
    bool finished_ = false;
};

template <class Record>
store::Event GuardedRun::entry(const Record& record) const {
    auto bytes = json::encode_enveloped(record);
    if (bytes.size() > core_.options().payload_limit)
        throw Error{Code::invalid,
                    fmt::format("{}: an entry {} has {} bytes, the limit is {} "
                                "(Options::payload_limit)",
                                shown(), Record::tag, bytes.size(), core_.options().payload_limit)};
    return core_.runs().entry(Record::tag, std::move(bytes));
}

store::Answer GuardedRun::append(std::vector<store::Event> events, RunStatus status) {
    store::Commit commit;
    commit.envelope = envelope_;
    auto& append = commit.append.emplace();
    append.instance = name_;
    append.expected = version_;
    append.expected_head = head_;
    append.events = std::move(events);
    const auto head = store::head_of(append.events.back().id);
    append.status = static_cast<std::int32_t>(status);
    append.finished = pawl::finished(status);
    const base::Countdown countdown{timeout_};
    auto answer =
        core_.runs().commit(std::move(commit), [&] { return countdown.left() > Duration::zero(); });
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    if (answer.fate == store::Fate::committed) head_ = head;
    return answer;
}

void GuardedRun::fold(const store::Event& event) {
    const auto& bytes = event.payload.bytes;
    if (event.name == records::Started::tag) {
        started_ = json::decode_enveloped<records::Started>(bytes);
    } else if (event.name == records::Step::tag) {
        auto step = json::decode_enveloped<records::Step>(bytes);
        steps_[step.name].result = std::move(step.result.text);
        steps_[step.name].failures = step.attempts - 1;
    } else if (event.name == records::AttemptFailed::tag) {
        const auto failed = json::decode_enveloped<records::AttemptFailed>(bytes);
        steps_[failed.name].failures = failed.attempt;
    }
}

void GuardedRun::open(std::string input) {
    const store::LoadRequest wanted{.instance = name_, .use_snapshot = false};
    for (;;) {
        const auto loaded = std::move(core_.store().load({&wanted, 1}).front());
        if (loaded.row ? take_over(loaded) : begin(input)) return;
    }
}

// False: somebody else was first.
bool GuardedRun::begin(std::string input) {
    started_ = {
        .input = {std::move(input)}, .seed = core_.runs().fresh_id(), .version = no_function};
    const auto answer = append({entry(started_)}, RunStatus::running);
    version_ = answer.version;
    return answer.fate == store::Fate::committed;
}

bool GuardedRun::take_over(const store::Loaded& loaded) {
    started_.version = -1;
    steps_.clear();
    for (const auto& event : loaded.events) fold(event);
    if (started_.version != no_function)
        throw Error{Code::misuse,
                    fmt::format("{} can't be opened: its steps are not acquired by programs, it "
                                "is executed by pawl",
                                shown())};
    version_ = loaded.row->version;
    head_ = loaded.row->head;
    finished_ = loaded.row->finished_at.has_value();
    if (finished_) return true;
    const auto answer = append({entry(records::Opened{})}, RunStatus::running);
    version_ = answer.version;
    return answer.fate == store::Fate::committed;
}

void GuardedRun::check_ours() const {
    if (!lost_.empty()) throw Error{Code::misuse, lost_};
    if (finished_) throw Error{Code::misuse, fmt::format("{} has ended", shown())};
}

void GuardedRun::write(store::Event event, RunStatus status) {
    check_ours();
    const auto answer = append({std::move(event)}, status);
    if (answer.fate == store::Fate::committed) {
        version_ = answer.version;
        finished_ = pawl::finished(status);
        return;
    }
    const auto tail = std::move(core_.store().tails({&name_, 1}).front());
    lost_ = tail.row && !tail.row->finished_at
                ? fmt::format(
                      "{} was opened by somebody else, and is theirs now: what this word "
                      "was about is not recorded",
                      shown())
                : fmt::format(
                      "{} was ended by somebody else: what this word was about is not "
                      "recorded",
                      shown());
    check_ours();
}

void GuardedRun::end(const records::Finished& finished, RunStatus status) {
    const std::lock_guard lock{mutex_};
    write(entry(finished), status);
    core_.runs().ended(name_, finished);
    if (status != RunStatus::failed) return;
    core_.log().count({.level = LogLevel::warning,
                       .event = LogEvent::run_failed,
                       .type = name_.type,
                       .id = name_.id,
                       .error = finished.error,
                       .text = fmt::format("{} has failed: {}", shown(), finished.error)});
}

detail::OpenedRun::Acquired GuardedRun::acquire(const std::string& step) {
    base::check_id("name of a step", step);
    const std::lock_guard lock{mutex_};
    auto& known = steps_[step];
    if (!known.result) {
        check_ours();
        if (known.acquired)
            throw Error{Code::misuse,
                        fmt::format("step \"{}\" of {} is acquired already: give each step a name "
                                    "of its own, and let its guard go before it is acquired again",
                                    step, shown())};
        known.acquired = true;
    }
    return {.key = idempotency_key(
                       {.process = name_.type + '\0' + name_.id + '\0' + started_.seed.text(),
                        .step = step,
                        .recipient = "0",
                        .version = "1"})
                       .text(),
            .attempt = known.failures + 1,
            .result = known.result};
}

void GuardedRun::release(const std::string& step) noexcept {
    const std::lock_guard lock{mutex_};
    if (const auto at = steps_.find(step); at != steps_.end()) at->second.acquired = false;
}

void GuardedRun::succeed(const std::string& step, std::string result) {
    const std::lock_guard lock{mutex_};
    auto& known = steps_[step];
    write(entry(records::Step{.name = step,
                              .attempts = known.failures + 1,
                              .result = {result},
                              .error = std::nullopt}),
          RunStatus::running);
    known.result = std::move(result);
    known.acquired = false;
}

void GuardedRun::fail(const std::string& step, std::string_view error) {
    const std::lock_guard lock{mutex_};
    auto& known = steps_[step];
    write(entry(records::AttemptFailed{.name = step,
                                       .attempt = known.failures + 1,
                                       .error = base::readable(error),
                                       .retry_at = core_.store().now()}),
          RunStatus::running);
    ++known.failures;
    known.acquired = false;
    core_.log().count({.level = LogLevel::warning,
                       .event = LogEvent::attempt_failed,
                       .type = name_.type,
                       .id = name_.id,
                       .item = step,
                       .attempt = known.failures,
                       .error = base::readable(error),
                       .text = fmt::format("attempt {} at step \"{}\" of {} failed: {}",
                                           known.failures, step, shown(), base::readable(error))});
}

}  // namespace
}  // namespace pawl::engine

namespace pawl::inline v0::detail {

std::shared_ptr<OpenedRun> OpenedRun::open(Engine& engine, Opening opening) {
    auto& core = *engine.impl_->core;
    core.functions().get(opening.type);
    core.runs();  // whatever is added is added
    base::check_id("id of a run", std::string{opening.id});
    base::check_optional_id("correlation", opening.options.correlation);
    base::check_optional_id("conversation", opening.options.conversation);
    base::check_optional_id("tenant", opening.options.tenant);
    base::check_optional_id("trace", opening.options.trace);
    auto run = std::make_shared<pawl::engine::GuardedRun>(
        core, store::InstanceName{std::string{opening.type}, std::string{opening.id}},
        std::move(opening.options));
    run->open(std::move(opening.input));
    return run;
}

}  // namespace pawl::inline v0::detail
