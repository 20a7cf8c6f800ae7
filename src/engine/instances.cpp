#include "engine/instances.hpp"

#include <fmt/format.h>

#include <limits>
#include <pawl/error.hpp>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "base/uuid.hpp"
#include "engine/drafting.hpp"
#include "engine/outgoing.hpp"
#include "engine/router.hpp"

namespace pawl::engine {
namespace {

// Of one turn at an instance's mailbox: then somebody else goes on, so that nobody is kept.
constexpr int turn = 64;
// After so many lost races for one instance it is taken away from the others, where that can be.
constexpr int fair_races = 3;
// A caller loses this many before it is told.
constexpr int most_races = 100;
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
constexpr const char* not_standard = "something that is not a std::exception";

class Uuids final : public Moment::Source {
public:
    Uuids(const Clock& clock, base::Random& random) : clock_(clock), random_(random) {}
    Uuid fresh_uuid() override { return base::uuid7(clock_.now(), random_); }

private:
    const Clock& clock_;
    base::Random& random_;
};

// A state that can't be written at the moment costs a longer replay, never the input.
std::optional<std::string> snapshot_of(const Registered& workflow, const detail::State& state) {
    try {
        return workflow.model->snapshot(state);
    } catch (...) {
        return std::nullopt;
    }
}

std::exception_ptr workflow_error(const Request& request, const char* what) {
    return std::make_exception_ptr(
        Error{Code::workflow,
              fmt::format("{} of workflow \"{}\", instance \"{}\": {}", request.input->name(),
                          request.workflow->name, request.id, what)});
}

// What is being handled, as the caller may see it: what is not pawl's own came from the workflow.
std::exception_ptr caught(const Request& request) {
    try {
        throw;
    } catch (const Error&) {
        return std::current_exception();
    } catch (const std::exception& e) {
        return workflow_error(request, e.what());
    } catch (...) {
        return workflow_error(request, not_standard);
    }
}

// One that is in doubt names the input id that makes a resend safe.
std::exception_ptr with_input_id(const std::exception_ptr& error, const std::string& input_id) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        if (e.code() == Code::in_doubt)
            return std::make_exception_ptr(Error::in_doubt(e.what(), input_id));
    } catch (...) {
    }
    return error;
}

// What is not said of a message is as with the input it was decided on.
void follow(store::Envelope& message, const store::Envelope& input) {
    const auto take = [](std::string& to, const std::string& from) {
        if (to.empty()) to = from;
    };
    take(message.correlation,
         input.correlation.empty() ? message.causation.text() : input.correlation);
    take(message.conversation, input.conversation);
    take(message.tenant, input.tenant);
    take(message.trace, input.trace);
}

}  // namespace

Instances::Instances(Parts parts, Options options)
    : parts_(parts), options_(options), uuids_(std::make_unique<Uuids>(parts.clock, parts.random)) {
    for (std::size_t i = 0; i < shard_count; ++i) shards_.push_back(std::make_unique<Shard>());
}

std::shared_ptr<CachedInstance> Instances::find(const Registered& workflow, const std::string& id) {
    const std::string key = workflow.name + '\0' + id;
    const auto hash = std::hash<std::string>{}(key);
    auto& shard = *shards_[hash % shard_count];
    const std::lock_guard lock{shard.mutex};
    if (const auto it = shard.index.find(key); it != shard.index.end()) {
        shard.recent.splice(shard.recent.begin(), shard.recent, it->second);
        return *it->second;
    }
    // The oldest goes if nobody holds it; references are only handed out under this lock.
    for (int i = 0; i < 4 && shard.index.size() * shard_count >= options_.cached; ++i) {
        if (shard.recent.empty()) break;
        const auto oldest = std::prev(shard.recent.end());
        if (oldest->use_count() > 1) {
            shard.recent.splice(shard.recent.begin(), shard.recent, oldest);
            continue;
        }
        shard.index.erase((*oldest)->workflow->name + '\0' + (*oldest)->id);
        shard.recent.erase(oldest);
    }
    auto made = std::make_shared<CachedInstance>();
    made->workflow = &workflow;
    made->id = id;
    made->lane = &parts_.lanes.any();
    shard.recent.push_front(made);
    shard.index.emplace(key, shard.recent.begin());
    return made;
}

bool Instances::enqueue(std::unique_ptr<Request> request, bool waits) {
    const auto instance = request->instance;
    const std::lock_guard lock{instance->mutex};
    request->number = ++instance->last_number;
    instance->mailbox.push(std::move(request));
    // All callback threads may be waiting like this one: then nobody else would come.
    if (waits && std::exchange(instance->posted, false)) return true;
    if (instance->busy || instance->must_wait()) return false;
    return instance->busy = true;
}

void Instances::send(std::unique_ptr<Request> request) {
    const auto instance = find(*request->workflow, request->id);
    request->instances = this;
    request->instance = instance;
    if (!enqueue(std::move(request), false)) return;
    drive(instance);
    instance->lane.load()->wake();
}

void Instances::send_and_help(std::unique_ptr<Request> request) {
    const auto instance = find(*request->workflow, request->id);
    request->instances = this;
    request->instance = instance;
    if (enqueue(std::move(request), true)) drive(instance);
    instance->lane.load()->help();
}

void Instances::take_over(const std::shared_ptr<CachedInstance>& instance) {
    drive(instance);
    instance->lane.load()->help();
}

void Instances::drive(const std::shared_ptr<CachedInstance>& instance) {
    for (int i = 0;; ++i) {
        auto request = next(instance, i == turn);
        if (!request) return;
        decide(*instance, std::move(request));
    }
}

// None: this thread no longer decides for the instance.
std::unique_ptr<Request> Instances::next(const std::shared_ptr<CachedInstance>& instance,
                                         bool turn_over) {
    const std::lock_guard lock{instance->mutex};
    if (instance->must_wait() || (instance->returned.empty() && instance->mailbox.empty())) {
        instance->busy = false;
        return nullptr;
    }
    if (turn_over) {
        pass_on(instance);
        return nullptr;
    }
    if (instance->in_flight++ == 0) instance->lane = &parts_.lanes.any();
    return instance->returned.empty() ? instance->mailbox.pop() : instance->returned.pop();
}

// Somebody else decides for the instance from now on. With its mutex held, and busy.
void Instances::pass_on(const std::shared_ptr<CachedInstance>& instance) {
    // A caller that waits for an input does it: then no pool is needed for its send to end.
    if (instance->returned.hand_over(instance) || instance->mailbox.hand_over(instance)) return;
    instance->posted = true;
    parts_.callbacks.post([this, instance] {
        {
            const std::lock_guard lock{instance->mutex};
            if (!std::exchange(instance->posted, false)) return;
        }
        drive(instance);
        instance->lane.load()->wake();
    });
}

// A request is not in flight any more. `again`: the request itself, to be decided again.
void Instances::landed(Request& request, std::unique_ptr<Request> again) {
    const auto instance = again ? request.instance : std::move(request.instance);
    const std::lock_guard lock{instance->mutex};
    --instance->in_flight;
    if (again) instance->returned.insert(std::move(again));
    if (instance->busy || instance->must_wait()) return;
    if (instance->returned.empty() && instance->mailbox.empty()) return;
    instance->busy = true;
    pass_on(instance);
}

// The chain broke after the request was taken: those before it may come back, and go first.
void Instances::give_back(CachedInstance& instance, std::unique_ptr<Request> request) {
    instance.forget();
    const std::lock_guard lock{instance.mutex};
    --instance.in_flight;
    instance.returned.insert(std::move(request));
}

void Instances::decide(CachedInstance& instance, std::unique_ptr<Request> request) {
    if (instance.chain && instance.chain->broken) return give_back(instance, std::move(request));
    try {
        if (request->races >= fair_races && !instance.state && decide_held(instance, request))
            return;
        ensure_state(instance, *request);
        plan(instance, *request);
    } catch (...) {
        auto error = caught(*request);
        return abandon(instance, std::move(request), std::move(error));
    }
    const auto timeout = request->timeout;
    Job::Owned job = std::move(request);
    if (instance.lane.load()->submit(job, timeout)) return;
    request.reset(static_cast<Request*>(job.release()));
    abandon(instance, std::move(request),
            std::make_exception_ptr(Error{
                Code::busy,
                "the commit queue stayed full: the store is slower than the inputs, nothing was "
                "written"}));
}

void Instances::abandon(CachedInstance& instance, std::unique_ptr<Request> request,
                        std::exception_ptr error) {
    cancel_born(*request);
    instance.forget();  // it may already hold what is now never written
    {
        const std::lock_guard lock{instance.mutex};
        --instance.in_flight;
    }
    request->instance.reset();
    auto* raw = request.get();
    if (raw->finishes_quickly(true)) return raw->finish(std::move(request), {}, std::move(error));
    // Not here: this thread decides for the instance, and may be anybody's.
    raw->outcome_ = {};
    raw->error_ = std::move(error);
    parts_.callbacks.post([request = std::move(request)]() mutable {
        auto* one = request.get();
        one->resume(std::move(request));
    });
}

void Instances::plan(CachedInstance& instance, Request& request) {
    auto& workflow = *instance.workflow;
    request.outcome_ = {};
    request.error_ = nullptr;
    request.speculative_ = instance.speculative;
    request.decided_on_ = instance.version;
    request.head_decided_on_ = instance.head;
    request.chain = instance.chain;
    plan_confirmation(instance, request);

    bool finished = false;
    detail::Draft draft;
    bool touched = false;
    try {
        finished = workflow.model->finished(*instance.state);
        if (!finished)
            draft = request.input->decide(*instance.state, {parts_.store.now(), *uuids_}, touched);
    } catch (const std::exception& e) {
        request.error_ = workflow_error(request, e.what());
    } catch (...) {
        request.error_ = workflow_error(request, not_standard);
    }
    if (request.error_) {
        // The answer is only given once the version it was thrown on is confirmed. A state that
        // is whole is kept: those behind rest on what is still on its way.
        if (touched) instance.forget();
        return;
    }
    if (finished) {
        request.outcome_.kind = OutcomeRecord::Kind::finished;
    } else if (draft.rejected) {
        request.outcome_.kind = OutcomeRecord::Kind::rejected;
        request.outcome_.reason = std::move(draft.rejection);
    } else {
        try {
            return plan_accepted(instance, request, std::move(draft));
        } catch (...) {
            // Something is over its limit. That, too, is answered only on a current version.
            request.error_ = caught(request);
        }
        cancel_born(request);
        plan_confirmation(instance, request);
        instance.forget();  // it has evolved already
        return;
    }
    if (request.settlement) {
        auto settlement = *request.settlement;
        settlement.ending =
            request.outcome_.rejected() ? store::Ending::rejected : store::Ending::finished;
        settlement.ending_reason = base::readable(request.outcome_.reason);
        request.commit.settlements.push_back(std::move(settlement));
    }
}

// A Commit that writes nothing: it only confirms the version that the answer rests on.
void Instances::plan_confirmation(const CachedInstance& instance, Request& request) {
    request.commit = {};
    auto& append = request.commit.append.emplace();
    append.instance = {instance.workflow->name, instance.id};
    append.expected = request.decided_on_;
    append.expected_head = request.head_decided_on_;
    append.input_id = request.input_id;
    request.commit.envelope = request.envelope;
    request.outcome_.version = request.decided_on_;
}

void Instances::plan_accepted(CachedInstance& instance, Request& request, detail::Draft draft) {
    auto& workflow = *instance.workflow;
    request.outcome_.events = static_cast<std::int64_t>(draft.events.size());
    auto& append = *request.commit.append;
    // What pawl's own hands on was within the limit when it came.
    const bool own = is_own(workflow.name);
    OutgoingBuffer outgoing{{.payload_limit = own ? no_limit : options_.payload_limit,
                             .fresh_id = [&] { return uuids_->fresh_uuid(); },
                             .to_own_channels = own}};
    for (auto& message : draft.messages) outgoing.publish(std::move(message));
    for (auto& one : draft.listenings)
        outgoing.post(to_router({workflow.name, std::move(one.tag)}, instance.id, one.listens));
    append = append_of(std::move(draft), {.random = parts_.random,
                                          .now = parts_.clock.now(),
                                          .payload_limit = options_.payload_limit});
    append.instance = {workflow.name, instance.id};
    append.expected = request.decided_on_;
    append.expected_head = request.head_decided_on_;
    append.input_id = request.input_id;
    append.unique_key = request.input->unique_key().value_or("");
    base::check_optional_id("unique key", append.unique_key);

    // Without a correlation from outside, the first event's id is it; a lone event need not say so.
    auto& envelope = request.commit.envelope;
    if (envelope.correlation.empty() && append.events.size() > 1)
        envelope.correlation = append.events.front().id.text();

    // A message belongs to the conversation of what it was decided on, unless it says otherwise;
    // what was routed is of somebody else's.
    outgoing.add_to(request.commit);
    for (auto& message : request.commit.messages) {
        message.envelope.causation = append.events.front().id;
        if (!own) follow(message.envelope, envelope);
    }

    for (auto& put : append.puts) {
        if (put.kind == store::ItemKind::effect)
            put.born_claimed = parts_.born.reserve(workflow, put.name);
        else
            instance.has_timers = true;
    }
    append.has_timers = instance.has_timers;

    instance.version += static_cast<store::Version>(append.events.size());
    if (!append.events.empty()) instance.head = store::head_of(append.events.back().id);
    request.outcome_.version = instance.version;
    if (!append.finished &&
        instance.version - instance.snapshot_at >= workflow.options.snapshot_every) {
        if (auto bytes = snapshot_of(workflow, *instance.state);
            bytes && bytes->size() <= options_.payload_limit) {
            append.snapshot = store::Snapshot{.sequence = instance.version,
                                              .version = workflow.model->version(),
                                              .payload = {std::move(*bytes)}};
        }
        instance.snapshot_at = instance.version;
    }
    if (request.settlement) request.commit.settlements.push_back(*request.settlement);
}

void Instances::committed(Request& request, store::Answer& answer) {
    launch_born(request, answer);
    if (!request.commit.messages.empty() && options_.published)
        options_.published(request.commit.messages);
}

void Instances::conclude(std::unique_ptr<Request> request, store::Answer answer,
                         std::vector<Job::Owned>& later) {
    auto& r = *request;
    const auto& guess = r.workflow->guess;
    bool decide_again = false;
    if (answer.fate == store::Fate::committed)
        committed(r, answer);
    else
        cancel_born(r);
    switch (answer.fate) {
        case store::Fate::committed:
            if (r.speculative_ && r.decided_on_ == 0) guess.was_new();
            break;
        case store::Fate::stale:
            if (r.speculative_ && r.decided_on_ == 0 && answer.version > 0) guess.was_known();
            decide_again = true;
            break;
        case store::Fate::duplicate:
            r.outcome_ = {.duplicate = true, .version = answer.version};
            r.error_ = nullptr;
            break;
        case store::Fate::unique_key_taken:
            r.error_ = std::make_exception_ptr(Error{
                Code::unique_key_taken,
                fmt::format("unique key \"{}\" of workflow \"{}\" is held by the active "
                            "instance \"{}\"; \"{}\" can't take it",
                            r.commit.append->unique_key, r.workflow->name, answer.holder, r.id)});
            break;
        case store::Fate::fence_lost:
            r.error_ = std::make_exception_ptr(FenceLost{});
            break;
        case store::Fate::mail_waits:
        case store::Fate::no_run:
            base::check(false, "an input settles no run, and sends no mail");
            break;
        case store::Fate::failed:
            r.error_ = with_input_id(answer.error, r.input_id);
            break;
    }
    // Those that failed with one before them lost no race: each time somebody got an answer.
    if (decide_again && !r.collateral && ++r.races >= most_races && !r.never_gives_up()) {
        decide_again = false;
        r.error_ = std::make_exception_ptr(Error{
            Code::conflict, fmt::format("instance \"{}\" of \"{}\" was changed by others {} times "
                                        "while this input was decided; nothing was written",
                                        r.id, r.workflow->name, most_races)});
    }
    landed(r, decide_again ? std::move(request) : nullptr);
    if (decide_again) return;
    if (r.finishes_quickly(r.error_ != nullptr))
        r.finish(std::move(request), std::move(r.outcome_), r.error_);
    else
        later.push_back(std::move(request));
}

void Instances::launch_born(Request& request, const store::Answer& answer) {
    auto& append = *request.commit.append;
    for (std::size_t i = 0; i < append.puts.size(); ++i) {
        auto& put = append.puts[i];
        store::Line line{put.kind, append.instance.type, std::move(put.name)};
        if (!put.born_claimed) {
            parts_.born.released(line, put.at.value_or(answer.at + put.after));
            continue;
        }
        store::Item item;
        item.id = answer.items[i];
        item.line = std::move(line);
        item.instance = append.instance;
        item.sequence = answer.version;
        item.index = static_cast<std::int32_t>(i);
        item.payload = std::move(put.payload);
        item.envelope = request.commit.envelope;
        item.envelope.causation = append.events.front().id;
        item.created_at = answer.at;
        item.attempts = 1;
        item.session = put.born_claimed->session;
        item.fence = put.born_claimed->fence;
        item.born_claimed = true;
        parts_.born.launch(std::move(item));
    }
}

void Instances::cancel_born(Request& request) {
    if (!request.commit.append) return;
    for (auto& put : request.commit.append->puts) {
        if (!put.born_claimed) continue;
        parts_.born.cancel(*request.workflow, put.name);
        put.born_claimed.reset();
    }
}

void Request::settled(Owned self, store::Answer answer, std::vector<Owned>& later) {
    std::unique_ptr<Request> request{static_cast<Request*>(self.release())};
    instances->conclude(std::move(request), std::move(answer), later);
}

void Request::resume(Owned self) {
    std::unique_ptr<Request> request{static_cast<Request*>(self.release())};
    finish(std::move(request), std::move(outcome_), error_);
}

}  // namespace pawl::engine
