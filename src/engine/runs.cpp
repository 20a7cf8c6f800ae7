#include "engine/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "engine/in_code.hpp"
#include "engine/in_transaction.hpp"
#include "engine/run_start.hpp"

namespace pawl::engine {
namespace {

Uuid random_seed(base::Random& random) {
    Uuid seed;
    for (std::size_t half = 0; half < 2; ++half) {
        const auto bits = random.next();
        for (std::size_t i = 0; i < 8; ++i)
            seed.bytes[half * 8 + i] = static_cast<std::uint8_t>(bits >> (8 * i));
    }
    return seed;
}

}  // namespace

const char* name(RunStatus status) {
    switch (status) {
        case RunStatus::pending:
            return "pending";
        case RunStatus::running:
            return "running";
        case RunStatus::waiting:
            return "waiting";
        case RunStatus::retrying:
            return "retrying";
        case RunStatus::paused:
            return "paused";
        case RunStatus::succeeded:
            return "succeeded";
        case RunStatus::failed:
            return "failed";
        case RunStatus::cancelled:
            return "cancelled";
        case RunStatus::terminated:
            return "terminated";
    }
    return "?";
}

class Runs::StartJob final : public Job {
public:
    StartJob(Runs& runs, std::shared_ptr<Start> start) : runs_(runs), start_(std::move(start)) {}

    void settled(Owned, store::Answer answer, std::vector<Owned>&) override {
        const auto& put = commit.append->puts.front();
        const store::Line line{store::ItemKind::run, commit.append->instance.type, put.name};
        if (answer.fate == store::Fate::committed)
            launch(line, answer);
        else if (put.born_claimed)
            runs_.parts_.dispatcher.cancel(line, start_->whom());
        start_->give(std::move(answer));
    }
    void resume(Owned) override {}

private:
    void launch(const store::Line& line, const store::Answer& answer) {
        const auto& append = *commit.append;
        const auto& put = append.puts.front();
        if (!put.born_claimed) return runs_.parts_.dispatcher.released(line, answer.at);
        store::Item item;
        item.id = answer.items.front();
        item.line = line;
        item.instance = append.instance;
        item.sequence = answer.version;
        item.envelope = commit.envelope;
        item.envelope.causation = append.events.front().id;
        item.created_at = answer.at;
        item.attempts = 1;
        item.session = put.born_claimed->session;
        item.fence = put.born_claimed->fence;
        item.born_claimed = true;
        auto prepared = std::make_shared<Prepared>();
        for (const auto& event : append.events) prepared->journal.fold(event);
        prepared->place = {answer.version, store::head_of(append.events.back().id), append.status};
        if (start_->lends) prepared->lender = start_;
        runs_.waiters_.began(append.instance);
        runs_.parts_.dispatcher.launch(std::move(item), std::move(prepared), start_->whom());
    }

    Runs& runs_;
    std::shared_ptr<Start> start_;
};

Runs::Runs(Parts parts, Options options, const Functions& functions)
    : parts_(parts),
      options_(std::move(options)),
      functions_(functions),
      stops_(parts.store, parts.clock),
      waiters_(parts.store, parts.clock) {}

void Runs::on_wanted(std::function<void()> wanted) { stops_.on_wanted(std::move(wanted)); }

store::Commit Runs::start_commit(const Starting& starting) {
    const auto& function = *starting.function;
    base::check_id("id of a run", starting.id);
    if (starting.input.size() > options_.payload_limit)
        throw Error{
            Code::invalid,
            fmt::format("the input of run \"{}\" of \"{}\" has {} bytes, the limit is {} "
                        "(Options::payload_limit)",
                        starting.id, function.name, starting.input.size(), options_.payload_limit)};
    const records::Started started{
        .input = {starting.input},
        .seed = starting.seed ? *starting.seed : random_seed(parts_.random),
        .version = function.options.version,
        .parent = starting.parent,
        .restarted_from = starting.restarted_from};
    store::Commit commit;
    if (starting.claim) commit.settlements.push_back(*starting.claim);
    commit.envelope = starting.envelope;
    auto& append = commit.append.emplace();
    append.instance = {function.name, starting.id};
    append.events.push_back(entry(records::Started::tag, json::encode_enveloped(started)));
    for (auto event : starting.copied) {
        event.id = fresh_id();
        append.events.push_back(std::move(event));
    }
    append.status = static_cast<std::int32_t>(RunStatus::pending);
    auto& put = append.puts.emplace_back();
    put.kind = store::ItemKind::run;
    put.name = std::to_string(function.options.version);
    put.payload.bytes = "null";
    return commit;
}

void Runs::start_all(std::vector<Starting> all, const std::vector<std::shared_ptr<Start>>& starts) {
    check_not_in_transaction(parts_.store, "the start of a run");
    std::vector<Job::Owned> jobs;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto job = std::make_unique<StartJob>(*this, starts[i]);
        job->commit = start_commit(all[i]);
        job->is_awaited = true;
        jobs.push_back(std::move(job));
    }
    struct Ticket {
        Committer* lane = nullptr;
        base::Meeting::Round round = 0;
    };
    std::vector<Ticket> tickets(all.size());
    Committer* last = nullptr;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto& commit = jobs[i]->commit;
        auto& put = commit.append->puts.front();
        const store::Line line{store::ItemKind::run, commit.append->instance.type, put.name};
        put.born_claimed = parts_.dispatcher.reserve(line, starts[i]->whom());
        auto& lane = parts_.lanes.any();
        if (lane.submit(jobs[i], all[i].timeout, &tickets[i].round)) {
            if (last && last != &lane) last->wake();
            last = tickets[i].lane = &lane;
            continue;
        }
        if (put.born_claimed) parts_.dispatcher.cancel(line, starts[i]->whom());
        store::Answer full;
        full.error = std::make_exception_ptr(
            Error{Code::busy, "the commit queue stayed full: nothing was started"});
        starts[i]->give(std::move(full));
    }
    if (last) last->help();
    for (std::size_t i = 0; i < starts.size(); ++i)
        if (tickets[i].lane) tickets[i].lane->await(tickets[i].round, *starts[i]);
}

bool Runs::start(Starting starting) {
    return start_one(std::move(starting), std::make_shared<Start>());
}

bool Runs::start_one(Starting starting, const std::shared_ptr<Start>& start) {
    std::vector<Starting> one;
    one.push_back(std::move(starting));
    start_all(std::move(one), {start});
    const auto& answer = start->answer;
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    return answer.fate == store::Fate::committed;
}

bool Runs::start_children(const store::Item& parent, const store::Settlement& claim,
                          std::vector<NewChild> children) {
    std::vector<Starting> all;
    for (auto& child : children) {
        auto& starting = all.emplace_back();
        starting.function = &functions_.get(child.type);
        starting.id = child.id;
        starting.input = std::move(child.input);
        starting.envelope = parent.envelope;
        starting.claim = claim;
        if (child.call != 0)
            starting.parent = records::Parent{parent.instance.type, parent.instance.id, child.call};
    }
    std::vector<std::shared_ptr<Start>> starts(all.size());
    for (auto& start : starts) start = std::make_shared<Start>();
    start_all(std::move(all), starts);
    bool is_held = true;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const auto& answer = starts[i]->answer;
        if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
        is_held = is_held && answer.fate != store::Fate::fence_lost;
    }
    if (!is_held) return false;
    for (std::size_t i = 0; i < starts.size(); ++i)
        if (starts[i]->answer.fate != store::Fate::committed && children[i].call != 0)
            tell_of_stranger(parent, children[i]);
    return true;
}

bool Runs::run_beside(Task body) {
    if (!has_threads_) return false;
    if (!options_.executor) {
        parts_.bodies.post(std::move(body));
        return true;
    }
    try {
        options_.executor(std::move(body));
    } catch (const std::exception& e) {
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::callback_threw,
                        .error = e.what(),
                        .text = fmt::format("the executor takes no body of a step: {}", e.what())});
        return false;
    } catch (...) {
        return false;  // the function's own thread performs it
    }
    return true;
}

std::shared_ptr<Runs::Prepared> Runs::prepared(const store::InstanceName& name,
                                               const store::Loaded& loaded) {
    auto prepared = std::make_shared<Prepared>();
    if (!loaded.row) {
        prepared->finished = true;
        return prepared;
    }
    prepared->place = {loaded.row->version, loaded.row->head, loaded.row->status};
    prepared->finished = loaded.row->finished_at.has_value();
    try {
        for (const auto& event : loaded.events) prepared->journal.fold(event);
    } catch (const std::exception& e) {
        prepared->error =
            fmt::format("the journal of run \"{}\" can't be read: {}", name.id, e.what());
    }
    return prepared;
}

std::vector<std::shared_ptr<void>> Runs::prepare(const std::vector<store::Item>& items) {
    std::vector<store::LoadRequest> wanted;
    for (const auto& item : items) {
        wanted.push_back({.instance = item.instance, .use_snapshot = false});
        waiters_.began(item.instance);
    }
    std::vector<store::Loaded> loaded;
    std::vector<std::shared_ptr<void>> out;
    try {
        loaded = parts_.store.load(wanted);
    } catch (const Error& e) {
        if (!e.retryable()) {
            for (const auto& one : wanted) out.push_back(prepared_alone(one));
            return out;
        }
        for (const auto& item : items) waiters_.left(item.instance);
        throw;
    } catch (...) {
        for (const auto& item : items) waiters_.left(item.instance);
        throw;
    }
    for (std::size_t i = 0; i < items.size(); ++i)
        out.push_back(prepared(items[i].instance, loaded[i]));
    return out;
}

// One of them can't be read. The others need not wait for it.
std::shared_ptr<Runs::Prepared> Runs::prepared_alone(const store::LoadRequest& wanted) {
    try {
        return prepared(wanted.instance, parts_.store.load({&wanted, 1}).front());
    } catch (const Error& e) {
        auto unreadable = std::make_shared<Prepared>();
        unreadable->error = fmt::format("run \"{}\" of \"{}\" can't be read: {}",
                                        wanted.instance.id, wanted.instance.type, e.what());
        return unreadable;
    }
}

void Runs::execute(const HeldPtr& held) {
    const auto prepared = std::static_pointer_cast<Prepared>(held->prepared);
    if (const auto lender = std::exchange(prepared->lender, nullptr)) {
        lender->lent = held;
        return;
    }
    auto keep = options_.keep_alive ? options_.keep_alive() : nullptr;
    Task task = [this, held, keep = std::move(keep)] {
        base::Slot slot{options_.slots};
        perform(held, slot);
    };
    if (!options_.executor || !has_threads_) return parts_.threads.post(std::move(task));
    // By way of a callback thread: this may be the committing one, and an executor may block.
    parts_.callbacks.post([this, held, task = std::move(task)]() mutable {
        const auto refused = [&](const char* why) {
            put_off(held, fmt::format("run \"{}\" of \"{}\": the executor threw: {}",
                                      held->item.instance.id, held->item.instance.type, why));
        };
        try {
            options_.executor(std::move(task));
        } catch (const std::exception& e) {
            refused(e.what());
        } catch (...) {
            refused("something that is not a std::exception");
        }
    });
}

void Runs::perform(const HeldPtr& held, base::Slot& slot) {
    if (!parts_.dispatcher.begin(held)) return waiters_.left(held->item.instance);
    auto prepared = std::static_pointer_cast<Prepared>(std::move(held->prepared));
    try {
        if (prepared->finished) {
            parts_.dispatcher.settle(held, {.item = held->item.id, .fence = held->item.fence});
            return waiters_.left(held->item.instance);
        }
        if (!prepared->error.empty()) return put_off(held, prepared->error);
        run_function(held, *prepared, slot);
    } catch (const std::exception& e) {
        // Of the engine itself: the store can't be read, perhaps. The run is as it was.
        try_later(held, e.what());
    }
}

void Runs::run_function(const HeldPtr& held, Prepared& prepared, base::Slot& slot) {
    const auto& item = held->item;
    const auto& function = functions_.get(item.line.type);
    const auto is_held = [this, session = item.session] { return parts_.session.holds(session); };
    RunWriter writer{{.store = parts_.store,
                      .log = parts_.log,
                      .slot = slot,
                      .lanes = parts_.lanes,
                      .random = parts_.random,
                      .clock = parts_.clock,
                      .at_point = options_.at_point,
                      .payload_limit = options_.payload_limit,
                      .journal_limit = function.options.journal_limit,
                      .is_held = is_held},
                     item,
                     std::move(prepared.journal),
                     prepared.place};
    RunExecution execution{{.store = parts_.store,
                            .log = parts_.log,
                            .random = parts_.random,
                            .stops = stops_,
                            .surroundings = *this,
                            .is_held = is_held,
                            .transaction_limit = options_.transaction_limit,
                            .outgoing = {.payload_limit = options_.payload_limit,
                                         .fresh_id = [this] { return fresh_id(); }},
                            .at_point = options_.at_point,
                            .stop = held->stop.get_token(),
                            .is_lent = held->is_lent},
                           writer,
                           item};
    Context context{execution};
    std::optional<std::string> result;
    std::string error = "something that is not a std::exception";
    try {
        const InCode in_function{this, item.instance.id, ""};
        const std::string input = writer.journal().started().input.text;
        result = function.model->run(context, input);
    } catch (const Unwinding&) {
    } catch (const Cancelled&) {
        error = "it was cancelled";
    } catch (const std::exception& e) {
        error = base::readable(e.what());
    } catch (...) {
    }
    conclude(held, execution, writer, std::move(result), std::move(error));
}

void Runs::conclude(const HeldPtr& held, RunExecution& execution, RunWriter& writer,
                    std::optional<std::string> result, std::string error) {
    using Flow = RunExecution::Flow;
    const auto& name = held->item.instance;
    try {
        if (execution.flow() == Flow::running) {
            // Also where it threw: what the journal holds behind that is the word of other code.
            execution.check_end();
            while (result && !writer.journal().compensating() &&
                   !writer.journal().cancel_requested()) {
                const records::Finished finished{.status = engine::name(RunStatus::succeeded),
                                                 .result = json::Raw{*result},
                                                 .error = ""};
                try {
                    if (finish(held, execution, writer, finished, RunStatus::succeeded)) return;
                } catch (const Error& e) {
                    if (e.code() != Code::invalid && e.code() != Code::codec) throw;
                    error = e.what();  // what can't be written can't be had by trying again
                    result.reset();
                }
            }
        }
        const bool ended = execution.flow() == Flow::running ||
                           execution.flow() == Flow::cancelled || execution.flow() == Flow::undoing;
        if (ended) {
            const auto& before = writer.journal().compensating();
            const bool cancelled = before ? before->status == engine::name(RunStatus::cancelled)
                                          : writer.journal().cancel_requested();
            const auto status = cancelled ? RunStatus::cancelled : RunStatus::failed;
            std::string why = before      ? before->error
                              : cancelled ? writer.journal().cancel_reason()
                                          : std::move(error);
            execution.cancel_children(fmt::format("its parent \"{}\" has ended", name.id));
            execution.run_compensations(engine::name(status), why);
            for (const auto& undo : execution.not_undone())
                why += fmt::format("; \"{}\" could not be done", undo);
            const records::Finished finished{.status = engine::name(status), .error = why};
            while (!finish(held, execution, writer, finished, status)) {
            }
            return;
        }
    } catch (const Unwinding&) {
    }
    if (execution.flow() == Flow::mismatched) return put_off(held, execution.mismatch());
    if (execution.flow() == Flow::lost && !execution.failure().empty())
        return try_later(held, execution.failure());
    waiters_.left(name);
    if (execution.flow() == Flow::suspended) {
        parts_.dispatcher.done(held);
        return parts_.dispatcher.want();
    }
    parts_.dispatcher.give_back({held});
}

// False: mail came first, and has been read.
bool Runs::finish(const HeldPtr& held, RunExecution& execution, RunWriter& writer,
                  records::Finished finished, RunStatus status) {
    switch (writer.finish(finished, status)) {
        case RunWriter::Written::mail:
            return false;
        case RunWriter::Written::lost:
            execution.lose();
        case RunWriter::Written::yes:
            break;
    }
    waiters_.left(held->item.instance, &finished);
    if (status == RunStatus::failed) log_failed(held->item, finished.error);
    parts_.dispatcher.done(held);
    const auto& parent = writer.journal().started().parent;
    if (writer.left_mail()) say_that_mail_was_left({parent->type, parent->id});
    if (parent) parts_.dispatcher.want();
    return true;
}

}  // namespace pawl::engine
