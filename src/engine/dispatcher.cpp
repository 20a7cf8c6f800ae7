#include "engine/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pawl/error.hpp>

#include "base/points.hpp"
#include "base/text.hpp"
#include "base/waits.hpp"
#include "engine/drafting.hpp"
#include "engine/item_jobs.hpp"
#include "engine/thrown.hpp"

namespace pawl::engine {
namespace {

namespace points = base::points;

base::Pause until(std::optional<Time> due, Time now) {
    if (!due) return std::nullopt;
    return std::max(*due - now, Duration::zero());
}

constexpr auto part = ExclusiveTurn::Part::items;

// What waits for no event is looked at again after this long, in case a wake-up was lost.
constexpr Duration safety_net = std::chrono::seconds{1};

}  // namespace

Dispatcher::Dispatcher(Parts parts, Options options) : parts_(parts), options_(std::move(options)) {
    works_.limit = options_.claims;
    runs_.limit = options_.runs;
    runs_.slots = options_.slots;
}

void Dispatcher::set_up(const Registry& registry, Instances& instances, const Functions& functions,
                        RunItems& runs) {
    instances_ = &instances;
    run_items_ = &runs;
    const auto add = [&](store::Line line, const Registered* type, const Policy& policy) {
        auto lane = std::make_unique<Lane>();
        lane->budget = line.kind == store::ItemKind::run ? &runs_ : &works_;
        lane->line = std::move(line);
        lane->workflow = type;
        lane->policy = policy;
        by_line_[lane->line] = lane.get();
        lanes_.push_back(std::move(lane));
        return lanes_.back().get();
    };
    for (const auto& [name, type] : registry.all()) {
        for (const auto& performer : type.model->performers())
            effects_[{name, performer.name}] =
                add({store::ItemKind::effect, name, performer.name}, &type,
                    performer.policy.value_or(type.options.effects));
        for (const auto& input : type.model->input_names())
            add({store::ItemKind::timer, name, input}, &type, type.options.timers);
    }
    for (const auto& [name, function] : functions.all())
        for (auto& line : function.lines())
            add(std::move(line), nullptr, {.at_once = function.options.at_once});
}

void Dispatcher::begin_work(bool inline_effects) {
    inline_effects_ = inline_effects;
    end_alone();
    stopping_ = false;
}

base::Pause Dispatcher::step() {
    const Duration now = parts_.clock.elapsed();
    progressed_ = false;
    {
        // What is released while this step looks is not seen by it: each asks for another.
        const std::lock_guard lock{mutex_};
        next_step_ = Duration::max();
    }
    auto pause = base::sooner(run_postponed(now), check_deadlines(now));
    if (stopping_) return pause;
    try {
        if (!parts_.session.current()) parts_.session.ensure();
        release({});  // what could not be given back before
        release_strays(now);
        const bool alone = [&] {
            const std::lock_guard lock{mutex_};
            return alone_ != Alone::no;
        }();
        const auto claiming = alone ? claim_alone(now) : claim_normal(now);
        progressed_ = claiming.claimed > 0 || claiming.pause == Duration::zero();
        pause = base::sooner(pause, claiming.pause);
    } catch (const std::exception& e) {
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .error = e.what(),
                        .text = fmt::format("nothing could be claimed: {}", e.what())});
        pause = base::sooner(pause, postponed_for);
    }
    pause = base::sooner(pause, safety_net);
    const std::lock_guard lock{mutex_};
    next_step_ = now + *pause;
    return pause;
}

void Dispatcher::released(const store::Line& line, Time due) {
    if (stopping_ || !by_line_.contains(line)) return;
    const Duration at = parts_.clock.elapsed() + base::at_most_for_ever(due - parts_.store.now());
    {
        const std::lock_guard lock{mutex_};
        if (by_line_.at(line)->budget->hungry || at >= next_step_) return;
        next_step_ = at;
    }
    if (wanted_) wanted_();
}

Dispatcher::Claiming Dispatcher::claim_normal(Duration now) {
    const auto works = claim_within(works_, now);
    const auto runs = claim_within(runs_, now);
    return {works.claimed + runs.claimed, base::sooner(works.pause, runs.pause)};
}

Dispatcher::Claiming Dispatcher::claim_within(Budget& budget, Duration now) {
    std::size_t room = 0;
    bool is_hungry = false;
    {
        const std::lock_guard lock{mutex_};
        room = room_in(budget);
        // Many small claims cost more than a short wait for a larger one.
        is_hungry = budget.hungry = room == 0 || (budget.held > 0 && room < worthwhile(budget));
    }
    if (is_hungry) {
        if (budget.slots) budget.slots->want_room();
        return {};
    }
    const auto request = claim_request(&budget, room);
    if (request.interests.empty()) return {};
    // A message is delivered alone: its end wakes this.
    const Entry entry{parts_.turn, part};
    if (!entry) return {};
    point(points::claim_before);
    auto claimed = parts_.store.claim(request);
    point(points::claim_after);
    const auto count = claimed.items.size();
    take_all(std::move(claimed.items));
    base::Pause pause = until(claimed.next_due, claimed.now);
    if (claimed.lost_ones_wait) {
        const std::lock_guard lock{mutex_};
        const bool again = now >= alone_again_at_;
        if (again && parts_.turn.take(part)) {
            alone_ = Alone::draining;
            alone_since_ = now;
            pause = Duration::zero();
        } else if (!again) {
            pause = base::sooner(pause, alone_again_at_ - now);
        }
    }
    // A line at its own limit has due items that must not be asked for in a circle.
    if (count == 0 && pause && *pause == Duration::zero() && !claimed.lost_ones_wait)
        pause = std::nullopt;
    return {count, count > 0 ? Duration::zero() : pause};
}

store::ClaimRequest Dispatcher::claim_request(const Budget* budget, std::size_t room) {
    store::ClaimRequest request;
    request.claim.session = parts_.session.current().value_or(0);
    request.claim.fence = static_cast<store::Fence>(parts_.random.next() >> 1);
    request.limit = room;
    const std::lock_guard lock{mutex_};
    for (const auto& lane : lanes_) {
        if (budget && lane->budget != budget) continue;
        const auto limit = static_cast<std::size_t>(lane->policy.at_once);
        if (limit > 0 && lane->held >= limit) continue;
        request.interests.push_back({lane->line, limit > 0 ? limit - lane->held : room});
    }
    return request;
}

void Dispatcher::take_all(std::vector<store::Item> items) {
    const bool runs = !items.empty() && items.front().line.kind == store::ItemKind::run;
    std::vector<std::shared_ptr<void>> prepared(items.size());
    try {
        if (runs) prepared = run_items_->prepare(items);
    } catch (...) {
        Claims back;
        for (const auto& item : items) back.emplace_back(item.id, item.fence);
        release(std::move(back));
        throw;
    }
    if (!runs) preload(items);
    for (std::size_t i = 0; i < items.size(); ++i)
        take(std::move(items[i]), std::move(prepared[i]));
}

// A failure is no harm: each is read when it is decided for.
void Dispatcher::preload(const std::vector<store::Item>& items) {
    std::vector<std::pair<const Registered*, std::string>> rung;
    for (const auto& item : items)
        if (item.line.kind == store::ItemKind::timer)
            rung.emplace_back(by_line_.at(item.line)->workflow, item.instance.id);
    if (rung.empty()) return;
    try {
        instances_->preload(rung);
    } catch (const std::exception& e) {
        parts_.log.say({.level = LogLevel::warning,
                        .event = LogEvent::store_failed,
                        .error = e.what(),
                        .text = fmt::format("instances could not be read ahead: {}", e.what())});
    }
}

void Dispatcher::take(store::Item item, std::shared_ptr<void> prepared) {
    auto* lane = by_line_.at(item.line);
    auto held = std::make_shared<Held>();
    held->item = std::move(item);
    held->lane = lane;
    held->prepared = std::move(prepared);
    {
        const std::lock_guard lock{mutex_};
        ++held_;
        ++lane->held;
        ++lane->budget->held;
        items_.insert(held);
    }
    parts_.turn.add(part);
    run(held);
}

std::optional<store::Claim> Dispatcher::reserve(const Registered& workflow,
                                                const std::string& effect) {
    const auto it = effects_.find({workflow.name, effect});
    if (stopping_ || it == effects_.end()) return std::nullopt;
    return reserve_in(*it->second, For::pool);
}

// Runs that have left their slots will want them back: so many more may be claimed, but not many
// times as many.
std::size_t Dispatcher::room_in(const Budget& budget) const {
    const auto room = budget.limit - std::min(budget.held, budget.limit);
    if (!budget.slots) return room;
    const auto present = budget.held - std::min(budget.slots->away(), budget.held);
    const auto slots = budget.slots->limit();
    return std::min(room, slots - std::min(present, slots));
}

// So much room is worth a claim of its own while others are held.
std::size_t Dispatcher::worthwhile(const Budget& budget) {
    return (budget.slots ? budget.slots->limit() : budget.limit) / 4;
}

std::optional<store::Claim> Dispatcher::reserve(const store::Line& line, For whom) {
    const auto it = by_line_.find(line);
    if (is_stopping(whom == For::caller) || it == by_line_.end()) return std::nullopt;
    return reserve_in(*it->second, whom);
}

std::optional<store::Claim> Dispatcher::reserve_in(Lane& lane, For whom) {
    const auto session = parts_.session.current();
    if (!session) return std::nullopt;
    const std::lock_guard lock{mutex_};
    const auto limit = static_cast<std::size_t>(lane.policy.at_once);
    auto& budget = *lane.budget;
    const bool is_full = whom == For::caller ? budget.limit == 0 : room_in(budget) == 0;
    if (alone_ != Alone::no || is_full || (limit > 0 && lane.held >= limit)) return std::nullopt;
    if (!parts_.turn.enter(part)) return std::nullopt;
    ++held_;
    if (whom == For::pool) ++budget.held;
    ++lane.held;
    return store::Claim{*session, static_cast<store::Fence>(parts_.random.next() >> 1)};
}

void Dispatcher::cancel(const Registered& workflow, const std::string& effect) {
    cancel_in(*effects_.at({workflow.name, effect}), For::pool);
}

void Dispatcher::cancel(const store::Line& line, For whom) { cancel_in(*by_line_.at(line), whom); }

void Dispatcher::cancel_in(Lane& lane, For whom) {
    bool empty = false;
    {
        const std::lock_guard lock{mutex_};
        --lane.held;
        if (whom == For::pool) --lane.budget->held;
        empty = --held_ == 0;
    }
    parts_.turn.leave(part);
    if (empty) emptied_.set();
}

void Dispatcher::launch(store::Item item, std::shared_ptr<void> prepared, For whom) {
    auto held = std::make_shared<Held>();
    held->lane = by_line_.at(item.line);
    held->item = std::move(item);
    held->prepared = std::move(prepared);
    held->is_lent = whom == For::caller;
    {
        const std::lock_guard lock{mutex_};
        items_.insert(held);
    }
    run(held);
}

void Dispatcher::run(const HeldPtr& held) {
    if (held->item.line.kind == store::ItemKind::run) return run_items_->execute(held);
    auto keep = options_.keep_alive ? options_.keep_alive() : nullptr;
    if (held->item.line.kind == store::ItemKind::timer) {
        parts_.callbacks.post([this, held, keep = std::move(keep)] { fire(held); });
        return;
    }
    Task task = [this, held, keep = std::move(keep)] { perform(held); };
    if (stopping_)
        parts_.callbacks.post(std::move(task));  // it only gives the item back
    else if (options_.executor && !inline_effects_)
        // By way of a callback thread: this may be the committing one, and an executor may block.
        parts_.callbacks.post(
            [this, held, task = std::move(task)]() mutable { hand_to_executor(held, task); });
    else
        parts_.workers.post(std::move(task));
}

void Dispatcher::hand_to_executor(const HeldPtr& held, Task& task) {
    try {
        options_.executor(std::move(task));
    } catch (const std::exception& e) {
        failed(held, fmt::format("the executor threw: {}", e.what()), false);
    } catch (...) {
        failed(held, "the executor threw something that is not a std::exception", false);
    }
}

bool Dispatcher::begin(const HeldPtr& held) {
    const auto& item = held->item;
    const auto& policy = held->lane->policy;
    const bool ours = parts_.session.holds(item.session);
    bool go = false;
    bool want = false;
    {
        const std::lock_guard lock{mutex_};
        if (held->given_up) return false;
        go = !is_stopping(held->is_lent) && ours;
        held->started = go;
        // A timer has no handler that could hang.
        if (go && policy.deadline > Duration::zero() && item.line.kind == store::ItemKind::effect) {
            held->deadline = parts_.clock.elapsed() + base::at_most_for_ever(policy.deadline);
            want = *held->deadline < next_step_;
        }
    }
    if (want && wanted_) wanted_();  // `step` watches the deadlines
    if (!go) {
        give_back({held});
        return false;
    }
    if (item.losses_alone >= options_.losses) {
        bury(held, fmt::format("its handler ended its process {} times", item.losses_alone));
        return false;
    }
    return true;
}

// From its return on a handler can't be late, however long the store takes for the word on it.
std::unique_ptr<detail::Asked> Dispatcher::call_handler(const HeldPtr& held,
                                                        const Delivery& delivery) {
    struct Return {
        Dispatcher& dispatcher;
        Held& held;
        ~Return() {
            const std::lock_guard lock{dispatcher.mutex_};
            held.deadline.reset();
        }
    } const on_return{*this, *held};
    return held->lane->workflow->model->perform(held->item.payload.bytes, delivery);
}

void Dispatcher::perform(const HeldPtr& held) {
    if (!begin(held)) return;
    const auto& item = held->item;
    Delivery delivery;
    delivery.key = effect_key(item);
    delivery.attempt = item.attempts;
    delivery.type = item.instance.type;
    delivery.id = item.instance.id;
    delivery.created_at = item.created_at;
    if (held->lane->policy.deadline > Duration::zero())
        delivery.deadline =
            parts_.store.now() + base::at_most_for_ever(held->lane->policy.deadline);
    delivery.stop = held->stop.get_token();
    delivery.correlation = correlation_of(item.envelope);
    delivery.conversation = item.envelope.conversation;
    delivery.tenant = item.envelope.tenant;
    delivery.trace = item.envelope.trace;
    point(points::handler_before);
    std::unique_ptr<detail::Asked> input;
    try {
        input = call_handler(held, delivery);
    } catch (...) {
        const auto failure = thrown();
        return failed(held, failure.error, failure.permanent);
    }
    point(points::handler_after);
    const store::Settlement word{
        .item = item.id, .fence = item.fence, .failed_before = !item.born_claimed};
    try {
        if (input)
            send(held, std::move(input), word);
        else
            settle(held, word);
    } catch (const std::exception& e) {
        failed(held, e.what(), false);
    }
}

void Dispatcher::fire(const HeldPtr& held) {
    if (!begin(held)) return;
    const auto& item = held->item;
    std::unique_ptr<detail::Asked> input;
    try {
        input = held->lane->workflow->model->input(item.payload.bytes);
    } catch (const std::exception& e) {
        return failed(held, fmt::format("the timer's input can't be decoded: {}", e.what()), true);
    } catch (...) {
        return failed(held, "the timer's input can't be decoded", true);
    }
    point(points::timer_before);
    send(held, std::move(input), {.item = item.id, .fence = item.fence});
}

void Dispatcher::done(const HeldPtr& held) {
    bool want = false;
    bool empty = false;
    {
        const std::lock_guard lock{mutex_};
        if (items_.erase(held) == 0) return;
        auto& budget = *held->lane->budget;
        --held_;
        if (!held->is_lent) --budget.held;
        --held->lane->held;
        empty = held_ == 0;
        const bool room = budget.held == 0 || room_in(budget) >= worthwhile(budget);
        want = (budget.hungry && room) || (alone_ != Alone::no && empty) ||
               held->lane->policy.at_once > 0;
        if (want) budget.hungry = false;
    }
    parts_.turn.leave(part);
    if (empty) emptied_.set();
    if (want && wanted_) wanted_();
}

}  // namespace pawl::engine
