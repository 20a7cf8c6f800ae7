#include "engine/core.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <pawl/error.hpp>

#include "base/latch.hpp"
#include "base/text.hpp"
#include "engine/check_options.hpp"
#include "engine/in_transaction.hpp"
#include "engine/run_writer.hpp"
#include "engine/waiting.hpp"

namespace pawl::engine {
namespace {

// Other processes may keep finished instances for a shorter time than this one.
constexpr Duration longest_belief = std::chrono::minutes{1};
constexpr Duration publish_patience = std::chrono::seconds{30};

std::string owner_name() {
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    return fmt::format("{}:{}", host, getpid());
}

std::unique_ptr<base::Random> random_of(const Options& options) {
    return options.test.seed ? base::seeded_random(options.test.seed) : base::system_random();
}

}  // namespace

Core::Core(std::unique_ptr<store::Store> store, Options options)
    : options_(std::move(options)),
      store_(std::move(store)),
      random_(random_of(options_)),
      clock_(options_.clock ? *options_.clock : system_clock()),
      log_(options_.log, clock_),
      process_(getpid()),
      callbacks_("pawl-callback", logged("a callback")),
      workers_("pawl-worker", logged("a worker")),
      function_threads_("pawl-function", logged("a function")),
      slots_(options_.max_bodies),
      committers_(*store_, callbacks_,
                  {.queue = options_.queue, .at_point = options_.test.at_point}),
      session_(
          *store_, clock_, log_,
          {.lease = options_.lease, .owner = owner_name(), .at_point = options_.test.at_point}),
      dispatcher_(
          {*store_, log_, committers_, callbacks_, workers_, *random_, session_, turn_, clock_},
          {.claims = options_.claims,
           .runs = options_.executor ? options_.max_bodies : threads_per_body * options_.max_bodies,
           .slots = options_.executor ? nullptr : &slots_,
           .losses = options_.losses,
           .lease = options_.lease,
           .executor = options_.executor,
           .keep_alive = [this]() -> std::shared_ptr<void> { return shared_from_this(); },
           .at_point = options_.test.at_point}),
      instances_({*store_, committers_, callbacks_, *random_, clock_, dispatcher_},
                 {.cached = options_.cached_instances,
                  .payload_limit = options_.payload_limit,
                  .believed_for = std::min(options_.finished_retention.value_or(longest_belief),
                                           longest_belief),
                  .published = [this](auto messages) { published(messages); }}),
      runs_({*store_, log_, committers_, *random_, clock_, dispatcher_, workers_, function_threads_,
             session_, callbacks_},
            {.payload_limit = options_.payload_limit,
             .transaction_limit = options_.transaction_limit,
             .executor = options_.executor,
             .executes = options_.max_bodies > 0,
             .slots = options_.executor ? nullptr : &slots_,
             .published = [this](auto messages) { published(messages); },
             .keep_alive = [this]() -> std::shared_ptr<void> { return shared_from_this(); },
             .attend = [this] { attend_runs(); },
             .keep_lease = [this] { keep_lease(); },
             .at_point = options_.test.at_point},
            functions_),
      deliverer_({*store_, log_, workers_, *random_, session_, turn_, clock_},
                 {.losses = options_.losses,
                  .lease = options_.lease,
                  .transaction_limit = options_.transaction_limit,
                  .payload_limit = options_.payload_limit,
                  .fresh_id = [this] { return fresh_id(); },
                  .executor = options_.executor,
                  .keep_alive = [this]() -> std::shared_ptr<void> { return shared_from_this(); }}),
      inbox_limit_(*store_, clock_, options_.inbox_limit),
      vacuum_(*store_, clock_, log_,
              {.input_ids = options_.input_id_retention,
               .endings = options_.ending_retention,
               .dead_letters = options_.dead_letter_retention,
               .finished = options_.finished_retention}),
      claiming_(
          "pawl-claim",
          [this] {
              auto pause = dispatcher_.step();
              pause = base::sooner(pause, runs_.step());
              return base::sooner(pause, log_.step());
          },
          logged("claiming")),
      delivering_(
          "pawl-deliver", [this] { return deliverer_.step(); }, logged("delivering")),
      vacuuming_("pawl-vacuum", [this] { return vacuum_.step(); }, logged("vacuum")) {
    router_.name = router_type;
    router_.model = router_model();
    session_.on_lost([this] {
        dispatcher_.stop_lost();
        deliverer_.stop_lost();
    });
    dispatcher_.on_wanted([this] { claiming_.wake(); });
    runs_.on_wanted([this] { claiming_.wake(); });
    slots_.on_room([this] { claiming_.wake(); });
    deliverer_.on_wanted([this] { delivering_.wake(); });
    log_.on_wanted([this] { claiming_.wake(); });
    turn_.on_change([this] {
        claiming_.wake();
        delivering_.wake();
    });
}

base::OnFailure Core::logged(const char* where) {
    return [this, where](const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            log_.say({.level = LogLevel::error,
                      .event = LogEvent::callback_threw,
                      .error = e.what(),
                      .text = fmt::format("{} threw: {}", where, e.what())});
        } catch (...) {
            log_.say(LogLevel::error, LogEvent::callback_threw,
                     fmt::format("{} threw something that is not a std::exception", where));
        }
    };
}

void Core::check_addable(const std::string& name) const {
    if (used_)
        throw Error{Code::misuse,
                    fmt::format("workflow \"{}\" is added too late: add all workflows before the "
                                "engine is started or used",
                                name)};
    check_not_own("workflow", name);
    if (registry_.find(name) || functions_.find(name))
        throw Error{
            Code::misuse,
            fmt::format("workflow \"{}\" is added twice: give each type its own name", name)};
}

void Core::add(std::string name, std::unique_ptr<detail::Model> model, WorkflowOptions options) {
    check_addable(name);
    check_options(name, options);
    for (const auto& performer : model->performers()) check_policy(name, performer);
    registry_.add(std::move(name), std::move(model), options);
}

void Core::add(std::string name, std::unique_ptr<detail::FunctionModel> model,
               FunctionOptions options) {
    check_addable(name);
    check_options(name, options);
    functions_.add(std::move(name), std::move(model), options);
}

void Core::subscribe(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
                     SubscribeOptions options) {
    if (used_)
        throw Error{Code::misuse,
                    fmt::format("channel \"{}\" is subscribed to too late: subscribe before the "
                                "engine is started or used",
                                channel)};
    check_partitions(channel, options.partitions == 0 ? 1 : options.partitions);
    if (deliverer_.has(channel))
        throw Error{Code::misuse, fmt::format("channel \"{}\" is subscribed to twice: one handler "
                                              "gets its messages",
                                              channel)};
    check_options(channel, options);
    deliverer_.add(std::move(channel), std::move(subscriber), options);
}

// Each process applies the inputs of the types that it knows.
void Core::add_inboxes() {
    const auto add = [&](const std::string& type) {
        deliverer_.add(inbox_channel(type),
                       std::make_unique<InboxSubscriber>(
                           [this, type](records::Posted posted, const Received& received,
                                        InboxSubscriber::Applied applied) {
                               apply_posted(type, std::move(posted), received, std::move(applied));
                           }),
                       {.batch = 500, .policy = {.base = std::chrono::milliseconds{100}}}, true);
    };
    for (const auto& [name, workflow] : registry_.all()) add(name);
    for (const auto& [name, function] : functions_.all()) add(name);
    if (!registry_.all().empty()) add(router_.name);
}

const Registered& Core::workflow(std::string_view type) const {
    return type == router_.name ? router_ : registry_.get(type);
}

void Core::apply_posted(const std::string& type, records::Posted posted, const Received& received,
                        InboxSubscriber::Applied applied) {
    if (posted.starts) {
        store::Envelope envelope;
        envelope.correlation = received.correlation;
        envelope.conversation = received.conversation;
        envelope.tenant = received.tenant;
        envelope.trace = received.trace;
        runs_.start({.function = &functions_.get(type),
                     .id = std::move(posted.id),
                     .input = std::move(posted.input.text),
                     .envelope = std::move(envelope)});
        return applied({});
    }
    Sending sending;
    sending.type = type;
    sending.id = posted.id;
    sending.input = workflow(type).model->input(posted.input.text);
    sending.options = {.input_id = std::move(posted.input_id),
                       .correlation = received.correlation,
                       .conversation = received.conversation,
                       .tenant = received.tenant,
                       .trace = received.trace};
    send(std::move(sending),
         [this, address = Address{type, received.recipient}, id = posted.id,
          applied = std::move(applied)](const OutcomeRecord& outcome, std::exception_ptr error) {
             InboxSubscriber::Fate fate{.error = std::move(error)};
             if (!fate.error && !outcome.accepted()) {
                 fate.finished = outcome.finished();
                 fate.rejected = fate.finished ? "the instance is finished" : outcome.reason;
             }
             // Nobody but the router answers for what it refuses: it can be delivered later.
             if (fate.rejected && address.type == router_.name)
                 fate = {.error = std::make_exception_ptr(Error{Code::invalid, *fate.rejected})};
             if (!fate.error && outcome.finished() && !address.tag.empty())
                 return unlisten(address, id, std::move(fate), applied);
             applied(std::move(fate));
         });
}

// Of an instance that was found to have finished: it listens to nothing any more.
void Core::unlisten(const Address& address, const std::string& instance, InboxSubscriber::Fate fate,
                    InboxSubscriber::Applied applied) {
    const auto input = to_router(address, instance, false);
    send({.type = router_.name,
          .id = input.id,
          .input = router_.model->input(input.input),
          .options = {}},
         [fate = std::move(fate), applied = std::move(applied)](const OutcomeRecord&,
                                                                std::exception_ptr error) {
             applied(error ? InboxSubscriber::Fate{.error = std::move(error)} : fate);
         });
}

void Core::commit(const OutgoingBuffer& outgoing) {
    check_process();
    check_not_in_transaction(*store_, "publish");
    set_up();
    if (outgoing.empty()) return;
    store::Commit commit;
    outgoing.add_to(commit);
    const base::Countdown countdown{publish_patience};
    const auto answer =
        commit_and_wait(committers_, commit, [&] { return countdown.left() > Duration::zero(); });
    if (answer.fate == store::Fate::failed) std::rethrow_exception(answer.error);
    published(outgoing.messages());
}

Runs& Core::runs() {
    check_process();
    set_up();
    return runs_;
}

void Core::set_up() {
    // Whoever comes second waits: the lanes must be there before anything is sent.
    std::call_once(set_up_, [&] {
        deliverer_.declare();
        used_ = true;
        dispatcher_.set_up(registry_, instances_, functions_, runs_);
        add_inboxes();
    });
}

bool Core::is_foreign_process() const { return getpid() != process_; }

void Core::check_process() const {
    if (is_foreign_process())
        throw Error{Code::misuse,
                    "this engine was made before a fork: its threads and connections are in the "
                    "parent; make an engine in the child"};
}

void Core::prepare(Request& request, Sending sending) {
    check_process();
    set_up();
    request.workflow = &workflow(sending.type);
    request.id = std::string{sending.id};
    if (sending.id.empty()) {
        auto routed = sending.input->route();
        if (!routed)
            throw Error{Code::invalid,
                        fmt::format("input {} of workflow \"{}\" came without an instance id, and "
                                    "the workflow has no route for it",
                                    sending.input->name(), sending.type)};
        request.id = std::move(*routed);
    }
    auto& o = sending.options;
    base::check_id("instance id", request.id);
    base::check_optional_id("input id", o.input_id);
    base::check_optional_id("correlation", o.correlation);
    base::check_optional_id("conversation", o.conversation);
    base::check_optional_id("tenant", o.tenant);
    base::check_optional_id("trace", o.trace);
    check_timeout("SendOptions::timeout", o.timeout);
    request.input = std::move(sending.input);
    request.input_id = std::move(o.input_id);
    request.envelope.correlation = std::move(o.correlation);
    request.envelope.conversation = std::move(o.conversation);
    request.envelope.tenant = std::move(o.tenant);
    request.envelope.trace = std::move(o.trace);
    request.timeout = o.timeout;
}

OutcomeRecord Core::send(Sending sending) {
    check_not_in_transaction(*store_, "send");
    const auto waiter = std::make_shared<Waiter>();
    auto request = std::make_unique<WaitingRequest>(waiter);
    prepare(*request, std::move(sending));
    const base::Countdown countdown{request->timeout};
    const auto input_id = request->input_id;
    const auto id = request->id;
    instances_.send_and_help(std::move(request));
    for (;;) {
        // Without threads, whoever commits also does what follows from it, for others too.
        if (!started_) drain_callbacks();
        const bool in_time = waiter->changed.wait_for(countdown.left());
        std::shared_ptr<CachedInstance> handed_over;
        {
            const std::lock_guard lock{waiter->mutex};
            handed_over = std::move(waiter->handed_over);
            if (!handed_over && (waiter->ended || !in_time)) {
                waiter->gone = true;
                break;
            }
        }
        if (handed_over) instances_.take_over(handed_over);
    }
    const std::lock_guard lock{waiter->mutex};
    if (waiter->error) std::rethrow_exception(waiter->error);
    if (waiter->ended) return std::move(waiter->outcome);
    throw Error::in_doubt(
        fmt::format("the outcome of an input to \"{}\" was not known in time; {}", id,
                    input_id.empty()
                        ? "it had no input id, so a resend may apply it twice: look at "
                          "the instance first"
                        : "send it again with the same input id"),
        input_id);
}

void Core::send(Sending sending, detail::Completion done) {
    auto request = std::make_unique<CallbackRequest>(std::move(done), logged("a callback"));
    prepare(*request, std::move(sending));
    commit_in_background();
    instances_.send(std::move(request));
    if (!started_) drain_callbacks();
}

}  // namespace pawl::engine
