#include "conformance/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <pawl/error.hpp>

#include "base/uuid.hpp"
#include "conformance/builders.hpp"

namespace pawl::store::conformance {

using namespace std::chrono_literals;

/// A Commit before a store's own numbers are filled in.
struct Generator::Planned {
    Commit commit;                     ///< sessions are the indexes of Subject::sessions
    std::vector<std::string> settled;  ///< the names of the items of its settlements
    std::optional<InstanceName> run;   ///< of the last of them, if it is one
    std::vector<std::size_t> taken;    ///< the places of rows in the instance's inbox

    Commit for_subject(const Subject& subject) const {
        Commit filled = commit;
        for (std::size_t i = 0; i < settled.size(); ++i)
            filled.settlements[i].item = subject.id_of(settled[i]);
        if (!taken.empty()) {
            const auto inbox = subject.store.inbox(commit.append->instance, 1000);
            for (const auto at : taken) filled.append->taken.push_back(inbox.at(at).position);
        }
        if (filled.append)
            for (auto& put : filled.append->puts)
                if (put.born_claimed)
                    put.born_claimed->session = subject.sessions.at(put.born_claimed->session);
        return filled;
    }
    std::string text() const {
        std::string out = "  Commit";
        if (const auto& a = commit.append) {
            out +=
                fmt::format(" {}/{} on {}: {} events, input={} unique={} status={}{}{}{}",
                            a->instance.type, a->instance.id, a->expected, a->events.size(),
                            a->input_id, a->unique_key, a->status, a->finished ? " finished" : "",
                            a->ends_run ? " ends run" : "", a->snapshot ? " snapshot" : "");
            for (const auto at : taken) out += fmt::format(" take={}", at);
            for (const auto& key : a->cancels) out += " cancel=" + key;
            for (const auto& put : a->puts)
                out += fmt::format(" put={}:{}:{}{}", static_cast<int>(put.kind), put.name, put.key,
                                   put.born_claimed ? ":born claimed" : "");
        }
        for (std::size_t i = 0; i < settled.size(); ++i)
            out += fmt::format(" settle={}:{}:{}", settled[i],
                               static_cast<int>(commit.settlements[i].verdict),
                               commit.settlements[i].fence);
        for (const auto& row : commit.inbox)
            out += fmt::format(" to={}/{}{}{}", row.to.type, row.to.id, row.to_run ? ":run" : "",
                               row.urgent ? ":urgent" : "");
        return out + "\n";
    }
};

Generator::Generator(std::uint64_t seed, Store& reference, ManualClock& clock)
    : random_(base::seeded_random(seed)), reference_(reference), clock_(clock) {}

std::size_t Generator::below(std::size_t bound) { return random_->next() % bound; }

Uuid Generator::id() { return base::uuid7(clock_.now(), *random_); }

// The window of ids moves on, so that there are always instances that are not finished yet.
InstanceName Generator::instance() {
    return {.type = chance(80) ? "order" : "refund",
            .id = std::to_string(operations_ / 40 + below(6))};
}

Line Generator::line() {
    static const std::vector<std::pair<ItemKind, std::string>> lines{{ItemKind::effect, "Do"},
                                                                     {ItemKind::effect, "Ship"},
                                                                     {ItemKind::timer, "Ring"},
                                                                     {ItemKind::run, "1"}};
    const auto& [kind, name] = pick(lines);
    return {.kind = kind, .type = chance(80) ? "order" : "refund", .name = name};
}

Duration Generator::some_time() {
    static const std::vector<Duration> times{0us, 1us, 500ms, 1s, 5s, 30s};
    return pick(times);
}

void Generator::plan_puts(Append& append) {
    for (std::size_t i = below(4); i > 0; --i) {
        Put put{.kind = chance(50) ? ItemKind::effect : ItemKind::timer,
                .payload = {std::to_string(below(1000))},
                .after = some_time()};
        if (put.kind == ItemKind::timer) {
            put.name = "Ring";
            if (!calm_) put.key = pick(std::vector<std::string>{"", "bell", "alarm"});
            if (chance(30)) put.at = clock_.now() + some_time() - 1s;
        } else {
            put.name = chance(50) ? "Do" : "Ship";
            if (sessions_ > 0 && chance(30))
                put.born_claimed = {static_cast<SessionId>(below(sessions_)), ++last_fence_};
        }
        append.puts.push_back(std::move(put));
    }
}

void Generator::plan_writes(Append& append) {
    for (std::size_t i = 1 + below(3); i > 0; --i)
        append.events.push_back({.id = id(),
                                 .name = pick(std::vector<std::string>{"A", "B", "C"}),
                                 .payload = {std::to_string(below(1000))},
                                 .kind = chance(80) ? EventKind::user : EventKind::engine});
    plan_puts(append);
    if (!calm_ && chance(20)) append.cancels.push_back(chance(50) ? "bell" : "alarm");
    append.finished = chance(10);
    plan_what_is_known(append);
    if (chance(20))
        append.snapshot =
            Snapshot{.sequence = append.expected + static_cast<Version>(append.events.size()),
                     .version = static_cast<std::int32_t>(1 + below(2)),
                     .payload = {"state" + std::to_string(below(1000))}};
}

// Who knows that there are no timers may say so.
void Generator::plan_what_is_known(Append& append) {
    const bool puts = std::ranges::count(append.puts, ItemKind::timer, &Put::kind) > 0;
    if (puts) planned_timers_.insert(append.instance);
    const auto timers = reference_.items(
        {.kind = ItemKind::timer, .type = append.instance.type, .id = append.instance.id});
    append.has_timers = !timers.empty() || planned_timers_.contains(append.instance) || chance(50);
}

// An instance has one run at a time, and may be started, ended and started again.
void Generator::plan_run(Planned& planned) {
    Append& append = *planned.commit.append;
    const auto running = reference_.items(
        {.kind = ItemKind::run, .type = append.instance.type, .id = append.instance.id});
    if (running.empty() && chance(50) && planned_runs_.insert(append.instance).second) {
        Put put{.kind = ItemKind::run, .name = "1", .after = chance(50) ? 0s : some_time()};
        if (sessions_ > 0 && chance(30))
            put.born_claimed = {static_cast<SessionId>(below(sessions_)), ++last_fence_};
        append.puts.push_back(std::move(put));
    }
    append.ends_run = chance(append.finished ? 50 : 3);
    if (chance(20)) append.status = static_cast<std::int32_t>(below(4));
    const auto mail = reference_.inbox(append.instance, 1000).size();
    for (std::size_t i = 0; i < mail; ++i)
        if (chance(30)) planned.taken.push_back(i);
}

void Generator::plan_mail(Planned& planned) {
    const auto running = reference_.items({.kind = ItemKind::run, .limit = 1000});
    for (std::size_t i = below(3); i > 0; --i) {
        InboxRow row{.to_run = true, .urgent = chance(20), .name = "Letter"};
        row.to = running.empty() || chance(20) ? instance() : pick(running).instance;
        // Mail to nobody fails the whole Commit: now and then is enough.
        const bool is_running = std::ranges::count(running, row.to, &Item::instance) > 0;
        if (!is_running && !planned_runs_.contains(row.to) && (calm_ || chance(80))) continue;
        planned.commit.inbox.push_back(std::move(row));
    }
}

void Generator::plan_settlements(Planned& planned) {
    for (const auto& item : reference_.items({.limit = 1000})) {
        const bool claimed = item.session != 0;
        const bool run = item.line.kind == ItemKind::run;
        if (!chance(claimed ? (run ? 40 : 15) : (calm_ ? 0 : 1))) continue;
        Settlement settlement{.fence = calm_ || chance(90) ? item.fence : item.fence + 1,
                              .retry_after = some_time(),
                              .reason = "reason " + std::to_string(below(3)),
                              .ending_reason = "ending"};
        settlement.verdict = pick(std::vector{Verdict::ack, Verdict::retry, Verdict::bury});
        if (calm_) settlement.verdict = Verdict::ack;
        if (run && (calm_ || chance(70))) {
            settlement.verdict =
                pick(std::vector{Verdict::hold, Verdict::suspend, Verdict::suspend, Verdict::ack});
            settlement.wake = {.mail = static_cast<std::int64_t>(below(4))};
            if (chance(40)) settlement.wake.at = clock_.now() + some_time() - 1s;
            if (calm_ || chance(70))
                settlement.seen_mail = calm_ || chance(90) ? item.mail : item.mail + 1;
        }
        if (!calm_)
            settlement.ending =
                pick(std::vector{Ending::applied, Ending::rejected, Ending::finished});
        planned.commit.settlements.push_back(settlement);
        planned.settled.push_back(item_name(item.instance, item.sequence, item.index));
        planned.run = run ? std::optional{item.instance} : std::nullopt;
        if (planned.settled.size() == 3) return;
    }
}

Generator::Planned Generator::plan_commit(std::vector<InstanceName>& finished) {
    Planned planned;
    Commit& commit = planned.commit;
    if (chance(40)) plan_settlements(planned);
    if (chance(50))
        commit.envelope = {.correlation = chance(50) ? "corr" : "",
                           .conversation = chance(20) ? "conv" : "",
                           .tenant = pick(std::vector<std::string>{"", "acme", "other"}),
                           .causation = chance(50) ? id() : Uuid{}};
    if (chance(25)) plan_mail(planned);
    if (chance(15)) commit.inbox.push_back({.to = instance(), .input_id = "mail", .name = "Pay"});
    if (chance(15))
        commit.messages.push_back(
            {.id = fresh_id(), .channel = chance(50) ? "news" : "ledger", .key = "k"});
    if (!planned.settled.empty() && chance(40)) return planned;

    Append& append = commit.append.emplace(Append{.instance = instance()});
    if (planned.run && chance(70)) append.instance = *planned.run;  // a step of it
    const auto row = reference_.load(std::vector<LoadRequest>{{append.instance}})[0].row;
    if (row && row->finished_at) finished.push_back(append.instance);
    const auto name = item_name(append.instance, 0, 0);
    Version& version = planned_versions_.try_emplace(name, row ? row->version : 0).first->second;
    append.expected = calm_ || chance(90) ? version : static_cast<Version>(below(5));
    Head& head = planned_heads_.try_emplace(name, row ? row->head : 0).first->second;
    if (chance(60)) append.expected_head = calm_ || chance(90) ? head : head + 1;
    if (!calm_ && chance(30)) append.input_id = "in-" + std::to_string(below(6));
    if (!calm_ && chance(20)) append.unique_key = chance(50) ? "red" : "blue";
    // The engine appends nothing to an instance it sees finished.
    if (std::ranges::count(finished, append.instance) == 0 && chance(85)) {
        plan_writes(append);
        plan_run(planned);
        if (append.expected == version && !append.events.empty()) {
            version += static_cast<Version>(append.events.size());
            head = head_of(append.events.back().id);
        }
        if (append.finished) finished.push_back(append.instance);
    }
    return planned;
}

Operation Generator::commit() {
    std::vector<Planned> group;
    std::vector<InstanceName> finished;
    planned_versions_.clear();
    planned_heads_.clear();
    planned_runs_.clear();
    planned_timers_.clear();
    calm_ = chance(30);
    std::string text = "commit\n";
    for (std::size_t i = 1 + below(6); i > 0; --i) {
        group.push_back(plan_commit(finished));
        text += group.back().text();
    }
    return {text, [group](Subject& subject) {
                std::vector<Commit> commits;
                for (const auto& planned : group) commits.push_back(planned.for_subject(subject));
                std::vector<Answer> answers(commits.size());
                subject.store.commit(commits, answers);
                std::string out;
                for (std::size_t i = 0; i < answers.size(); ++i) {
                    if (commits[i].append) subject.learn(commits[i].append->instance, answers[i]);
                    out += describe(subject, answers[i]);
                }
                return out;
            }};
}

Operation Generator::claim() {
    if (sessions_ == 0) return session();
    ClaimRequest request{.claim = {0, ++last_fence_}, .limit = 1 + below(6)};
    const std::size_t number =
        chance(80) ? sessions_ - 1 - below(std::min<std::size_t>(sessions_, 3)) : below(sessions_);
    for (std::size_t i = 1 + below(4); i > 0; --i) {
        const Line wanted = line();
        const auto same = [&](const auto& interest) { return interest.line == wanted; };
        if (std::ranges::none_of(request.interests, same))
            request.interests.push_back({wanted, 1 + below(4)});
    }
    request.lost_ones = chance(40);
    // Only a session that holds nothing else suffers a loss alone.
    const bool own_session = request.lost_ones && chance(60);
    const std::size_t taker = own_session ? sessions_++ : number;
    return {fmt::format("claim for s{}, {} lines, lost_ones={}", taker, request.interests.size(),
                        request.lost_ones),
            [request, taker, own_session](Subject& subject) mutable {
                if (own_session)
                    subject.sessions.push_back(subject.store.open_session({.lease = 5s}));
                request.claim.session = subject.sessions.at(taker);
                return describe(subject, subject.store.claim(request));
            }};
}

Operation Generator::session() {
    if (sessions_ == 0 || chance(30)) {
        ++sessions_;
        const Duration lease = chance(60) ? 5s : 1min;
        return {"open session", [lease](Subject& subject) {
                    subject.sessions.push_back(subject.store.open_session({.lease = lease}));
                    return std::string{"opened"};
                }};
    }
    const std::size_t number = below(sessions_);
    if (chance(25))
        return {fmt::format("close s{}", number), [number](Subject& subject) {
                    subject.store.close_session(subject.sessions.at(number));
                    return std::string{"closed"};
                }};
    return {fmt::format("renew s{}", number), [number](Subject& subject) {
                return fmt::format("{}", subject.store.renew(subject.sessions.at(number), 5s));
            }};
}

Operation Generator::release() {
    std::vector<std::pair<std::string, Fence>> given;
    for (const auto& item : reference_.items({.limit = 1000}))
        if (item.session != 0 && chance(30))
            given.emplace_back(item_name(item.instance, item.sequence, item.index),
                               chance(80) ? item.fence : item.fence + 1);
    return {fmt::format("release {} items", given.size()), [given](Subject& subject) {
                std::vector<std::pair<ItemId, Fence>> items;
                for (const auto& [name, fence] : given)
                    items.emplace_back(subject.id_of(name), fence);
                subject.store.release(items);
                return std::string{"released"};
            }};
}

DeadLetterFilter Generator::dead_letter_filter() {
    DeadLetterFilter filter;
    if (chance(30))
        filter.kind = pick(std::vector{ItemKind::effect, ItemKind::timer, ItemKind::run});
    if (chance(30)) filter.type = "order";
    if (chance(30)) filter.reason = "son " + std::to_string(below(3));
    if (chance(20)) filter.died_from = clock_.now() - 30s;
    if (chance(20)) filter.died_before = clock_.now() - 5s;
    if (chance(50)) filter.limit = 1 + below(3);
    return filter;
}

Operation Generator::dead_letters() {
    const auto filter = dead_letter_filter();
    const bool discard = chance(20);
    return {discard ? "discard dead letters" : "retry dead letters",
            [filter, discard](Subject& subject) {
                Store& store = subject.store;
                const auto count = store.count_dead_letters(filter);
                const auto done =
                    discard ? store.discard_dead_letters(filter) : store.retry_dead_letters(filter);
                return fmt::format("{} of {}", done, count);
            }};
}

Operation Generator::read() {
    std::vector<LoadRequest> requests;
    for (std::size_t i = 1 + below(4); i > 0; --i)
        requests.push_back({.instance = instance(),
                            .snapshot_version = static_cast<std::int32_t>(1 + below(2)),
                            .use_snapshot = chance(80),
                            .up_to = chance(30) ? static_cast<Version>(below(8)) : 0});
    const auto after = static_cast<Version>(below(5));
    return {"load and read", [requests, after](Subject& subject) {
                std::string out;
                for (const auto& loaded : subject.store.load(requests)) out += describe(loaded);
                out += describe(subject.store.journal(requests[0].instance, after, 3));
                out += describe(subject.store.journal_back(requests[0].instance, "A", after, 2));
                std::vector<InstanceName> names;
                for (const auto& request : requests) names.push_back(request.instance);
                out += describe(subject.store.tails(names));
                const Followed followed = subject.store.follow(subject.follow_cursor, 5);
                subject.follow_cursor = followed.cursor;
                return out + describe(followed.events);
            }};
}

Operation Generator::page() {
    InstanceFilter filter{.limit = 1 + below(5)};
    if (chance(50)) filter.type = chance(50) ? "order" : "refund";
    if (chance(30)) filter.id_prefix = std::to_string(below(3));
    if (chance(30)) filter.tenant = "acme";
    if (chance(40)) filter.finished = chance(50);
    for (std::int32_t status = 0; status < 4; ++status)
        if (chance(15)) filter.statuses.push_back(status);
    // Of what was drawn already: what follows stays as it was for each seed.
    const auto drawn = static_cast<std::int32_t>(filter.limit);
    if (drawn % 2 == 0) filter.statuses_if_claimed = {{drawn % 4}};
    if (drawn % 3 == 0) filter.statuses_if_failed = {{drawn % 4}};
    if (chance(20)) filter.created_from = clock_.now() - 1min;
    if (chance(20)) filter.created_before = clock_.now() - 5s;
    return {"page through the instances", [filter](Subject& subject) mutable {
                std::string out;
                do {
                    const InstancePage page = subject.store.instances(filter);
                    out += describe(page);
                    filter.cursor = page.next;
                } while (!filter.cursor.empty());
                return out;
            }};
}

Operation Generator::vacuum() {
    VacuumRequest request;
    if (chance(50)) request.input_ids_older_than = 1min;
    if (chance(50)) request.endings_older_than = 30s;
    if (chance(30)) request.dead_letters_older_than = 1min;
    if (chance(30)) request.finished_older_than = 30s;
    return {"vacuum", [request](Subject& subject) {
                return fmt::format("{}", subject.store.vacuum(request).removed);
            }};
}

// The clock is the stores' own and shared, so it is moved here and not by each of them.
Operation Generator::wait() {
    const Duration time = some_time();
    clock_.advance(time);
    return {fmt::format("wait {}us", time.count()), [](Subject& subject) {
                return std::to_string(subject.store.now().time_since_epoch().count());
            }};
}

Operation Generator::next() {
    ++operations_;
    const std::size_t dice = below(100);
    if (dice < 40) return commit();
    if (dice < 62) return claim();
    if (dice < 75) return wait();
    if (dice < 82) return session();
    if (dice < 85) return release();
    if (dice < 89) return dead_letters();
    if (dice < 95) return read();
    if (dice < 98) return page();
    return vacuum();
}

}  // namespace pawl::store::conformance
