#include "conformance/describe.hpp"

#include <fmt/format.h>

#include <set>

namespace pawl::store::conformance {
namespace {

constexpr std::size_t everything = 100000;

std::string text(Time time) { return std::to_string(time.time_since_epoch().count()); }
std::string text(const std::optional<Time>& time) { return time ? text(*time) : "-"; }
std::string text(const InstanceName& name) { return name.type + "/" + name.id; }

std::string text(const Envelope& e) {
    return fmt::format("<{}|{}|{}|{}|{}>", e.correlation, e.conversation, e.tenant, e.trace,
                       e.causation.text());
}
std::string text(const Line& line) {
    return fmt::format("{}:{}:{}", static_cast<int>(line.kind), line.type, line.name);
}
std::string text(const Event& e) {
    return fmt::format("{} {} {} {}", e.id.text(), e.name, static_cast<int>(e.kind),
                       e.payload.bytes);
}
std::string text(const RunItem& run) {
    return fmt::format(" run attempts={} due={} error={} claimed={} owner={}", run.attempts,
                       text(run.due_at), run.last_error, run.is_claimed, run.owner);
}
std::string text(const InstanceRow& row) {
    return fmt::format(
               "{} v{} head={} tenant={} unique={} status={} created={} updated={} finished={}",
               text(row.name), row.version, row.head, row.tenant, row.unique_key, row.status,
               text(row.created_at), text(row.updated_at), text(row.finished_at)) +
           (row.run ? text(*row.run) : "");
}
std::string text(const Subject& subject, const Item& item) {
    return fmt::format(
        "{} id={} {} key={} {} {} created={} due={} attempts={} losses={}/{} error={} session={} "
        "fence={} mail={}/{}",
        item_name(item.instance, item.sequence, item.index), subject.name_of(item.id),
        text(item.line), item.key, item.payload.bytes, text(item.envelope), text(item.created_at),
        text(item.due_at), item.attempts, item.losses, item.losses_alone, item.last_error,
        subject.name_of_session(item.session), item.fence, item.mail, item.wakes_at_mail);
}
std::string text(const Subject& subject, const DeadLetter& letter) {
    std::string out = fmt::format("{} reason={} died={}", text(subject, letter.item), letter.reason,
                                  text(letter.died_at));
    for (const auto& failure : letter.failures)
        out += fmt::format(" [{} {} {}]", failure.attempt, text(failure.at), failure.error);
    return out;
}
std::string text(const LineDepth& depth) {
    return fmt::format("{} {}/{}/{} oldest={}", text(depth.line), depth.ready, depth.waiting,
                       depth.claimed, text(depth.oldest_due));
}
std::string text(const Subject& subject, const RecordedEnding& ending) {
    return fmt::format("{} {} {} key={} {} {} at={}", subject.name_of(ending.item),
                       text(ending.line), text(ending.instance), ending.key,
                       static_cast<int>(ending.ending), ending.reason, text(ending.at));
}
std::string text(const InboxRow& row) {
    return fmt::format("{} {} {} {} {} at={}", text(row.to), row.input_id, row.name,
                       row.payload.bytes, text(row.envelope), text(row.at));
}
std::string text(const Message& m) {
    return fmt::format("{} {} {} {} {} {} {} after={} at={}", m.channel, m.key, m.type, m.recipient,
                       m.schema, m.payload.bytes, text(m.envelope), text(m.deliver_after),
                       text(m.at));
}

// Of each instance: its journal, its state as it would be loaded, and its mail.
void describe_instances(Store& store, std::string& out) {
    for (const auto& row : store.instances({.limit = everything}).rows) {
        out += "instance " + text(row) + "\n";
        out += describe(store.journal(row.name, 0, everything));
        out += describe(store.load(std::vector<LoadRequest>{{row.name, 1}})[0]);
        for (const auto& mail : store.inbox(row.name, everything)) out += text(mail) + "\n";
    }
}

}  // namespace

std::string item_name(const InstanceName& instance, Version sequence, std::size_t index) {
    return fmt::format("{}@{}#{}", text(instance), sequence, index);
}

void Subject::learn(const InstanceName& instance, const Answer& answer) {
    for (std::size_t i = 0; i < answer.items.size(); ++i) {
        if (answer.items[i] == 0) continue;
        const auto name = item_name(instance, answer.version, i);
        ids[name] = answer.items[i];
        names[answer.items[i]] = name;
    }
}

ItemId Subject::id_of(const std::string& name) const {
    const auto at = ids.find(name);
    return at == ids.end() ? 999999999 : at->second;
}

std::string Subject::name_of(ItemId id) const {
    if (id == 0) return "none";
    const auto at = names.find(id);
    return at == names.end() ? "unknown" : at->second;
}

std::string Subject::name_of_session(SessionId session) const {
    if (session == 0) return "none";
    for (std::size_t i = 0; i < sessions.size(); ++i)
        if (sessions[i] == session) return "s" + std::to_string(i);
    return "unknown";
}

std::string describe(const Subject& subject, const Answer& answer) {
    std::string out = fmt::format("fate={} at={} holder={}", static_cast<int>(answer.fate),
                                  text(answer.at), answer.holder);
    // The seam leaves the version open for the other fates.
    if (answer.fate == Fate::committed || answer.fate == Fate::stale ||
        answer.fate == Fate::duplicate)
        out += fmt::format(" version={}", answer.version);
    if (answer.fate == Fate::committed || answer.fate == Fate::mail_waits)
        out += fmt::format(" mail={}", answer.mail);
    for (const ItemId id : answer.items) out += " " + subject.name_of(id);
    return out + "\n";
}

std::string describe(const Subject& subject, const Claimed& claimed) {
    std::string out = fmt::format("now={} next={} lost={}\n", text(claimed.now),
                                  text(claimed.next_due), claimed.lost_ones_wait);
    for (const auto& item : claimed.items) out += text(subject, item) + "\n";
    return out;
}

std::string describe(const InstancePage& page) {
    std::string out;
    for (const auto& row : page.rows) out += text(row) + "\n";
    return out + (page.next.empty() ? "last\n" : "more\n");
}

std::string describe(const Loaded& loaded) {
    std::string out = "row " + (loaded.row ? text(*loaded.row) : "none") + "\n";
    if (loaded.snapshot)
        out += fmt::format("snapshot {} {} {}\n", loaded.snapshot->sequence,
                           loaded.snapshot->version, loaded.snapshot->payload.bytes);
    for (const auto& event : loaded.events) out += text(event) + "\n";
    return out;
}

std::string describe(const std::vector<Tail>& tails) {
    std::string out;
    for (const auto& [row, last] : tails)
        out += "tail " + (row ? text(*row) : "none") + "\n" +
               (last ? describe(std::vector{*last}) : "");
    return out;
}

std::string describe(const std::vector<StoredEvent>& events) {
    std::string out;
    for (const auto& e : events)
        out += fmt::format("{}@{} {} {} at={}\n", text(e.instance), e.sequence, text(e.event),
                           text(e.envelope), text(e.at));
    return out;
}

std::string describe_contents(const Subject& subject) {
    Store& store = subject.store;
    std::string out;
    describe_instances(store, out);
    out += "follow\n" + describe(store.follow("", everything).events);
    for (const auto& item : store.items({.limit = everything}))
        out += "item " + text(subject, item) + "\n";
    for (const auto& letter : store.dead_letters({.limit = everything}))
        out += "dead " + text(subject, letter) + "\n";
    for (const auto& ending : store.endings({.limit = everything}))
        out += "ending " + text(subject, ending) + "\n";
    for (const auto& depth : store.depths()) out += "depth " + text(depth) + "\n";
    for (const std::string channel : {"news", "ledger"})
        for (const auto& message : store.messages(channel, 0, everything))
            out += "message " + text(message) + "\n";
    return out;
}

}  // namespace pawl::store::conformance
