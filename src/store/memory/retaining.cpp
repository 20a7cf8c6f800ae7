#include "store/memory/retaining.hpp"

#include <algorithm>
#include <set>

namespace pawl::store::memory {
namespace {

bool matches(const DeadLetterFilter& filter, const DeadLetter& letter) {
    const Item& item = letter.item;
    const bool named = filter.items.empty() || std::ranges::count(filter.items, item.id) > 0;
    return named && item.id > filter.after && (!filter.kind || item.line.kind == *filter.kind) &&
           (filter.type.empty() || item.line.type == filter.type) &&
           (filter.id.empty() || item.instance.id == filter.id) &&
           (filter.name.empty() || item.line.name == filter.name) &&
           letter.reason.find(filter.reason) != std::string::npos &&
           (!filter.died_from || letter.died_at >= *filter.died_from) &&
           (!filter.died_before || letter.died_at < *filter.died_before);
}

// A keyed timer whose key is taken again was replaced: it must not fire beside its successor. Nor
// does an instance have two runs.
bool was_replaced(const State& state, const Item& item) {
    if (item.line.kind == ItemKind::run) return state.items.run_of(item.instance).has_value();
    return item.line.kind == ItemKind::timer && !item.key.empty() &&
           !state.items.timers(item.instance, item.key).empty();
}

ItemRow revived(const DeadLetter& letter, Time now) {
    ItemRow row{.item = letter.item, .failures = letter.failures};
    row.item.created_at = now;  // its age begins anew, like its attempts
    row.item.due_at = now;
    row.item.attempts = 0;
    row.item.losses = 0;
    row.item.losses_alone = 0;
    // What came before it died may wait in its inbox.
    if (row.item.line.kind == ItemKind::run) row.item.mail = 1;
    return row;
}

// A run that has not ended would have nobody left who goes on with it.
bool is_needed(const State& state, const Item& item) {
    return item.line.kind == ItemKind::run && !state.instances.at(item.instance).row.finished_at;
}

std::size_t remove_dead_letters(State& state, Time before, std::size_t limit) {
    std::set<std::pair<Time, ItemId>> oldest;
    for (const auto& [id, letter] : state.dead_letters)
        if (letter.died_at < before && !is_needed(state, letter.item))
            oldest.emplace(letter.died_at, id);
    std::size_t removed = 0;
    for (const auto& [died_at, id] : oldest)
        if (removed < limit) removed += state.dead_letters.erase(id);
    return removed;
}

bool has_work(const State& state, const InstanceName& name) {
    return std::ranges::any_of(state.items.rows(),
                               [&](const auto& row) { return row.second.item.instance == name; }) ||
           std::ranges::any_of(state.dead_letters, [&](const auto& letter) {
               return letter.second.item.instance == name;
           });
}

// What cursors count stays in its place, empty.
void remove_instance(State& state, std::size_t number) {
    const auto at = state.instances.find(state.by_creation[number]);
    for (const auto position : at->second.positions)
        state.journal[static_cast<std::size_t>(position - 1)] = {};
    std::erase_if(state.endings,
                  [&](const auto& ending) { return ending.second.instance == at->first; });
    state.instances.erase(at);
    state.by_creation[number] = {};
}

std::size_t remove_finished(State& state, Time before, std::size_t limit) {
    std::set<std::pair<Time, std::size_t>> oldest;
    for (std::size_t number = 0; number < state.by_creation.size(); ++number) {
        const auto at = state.instances.find(state.by_creation[number]);
        if (at == state.instances.end()) continue;
        const auto& finished_at = at->second.row.finished_at;
        if (finished_at && *finished_at < before && !has_work(state, at->first))
            oldest.emplace(*finished_at, number);
    }
    std::size_t removed = 0;
    for (const auto& [finished_at, number] : oldest) {
        if (removed == limit) break;
        remove_instance(state, number);
        ++removed;
    }
    return removed;
}

}  // namespace

std::vector<DeadLetter> list_dead_letters(const State& state, const DeadLetterFilter& filter) {
    std::vector<DeadLetter> letters;
    for (const auto& [id, letter] : state.dead_letters)
        if (letters.size() < filter.limit && matches(filter, letter)) letters.push_back(letter);
    return letters;
}

std::int64_t count_dead_letters(const State& state, const DeadLetterFilter& filter) {
    return std::ranges::count_if(state.dead_letters,
                                 [&](const auto& entry) { return matches(filter, entry.second); });
}

std::int64_t retry_dead_letters(State& state, Time now, const DeadLetterFilter& filter) {
    std::size_t retried = 0;
    for (auto at = state.dead_letters.begin(); at != state.dead_letters.end();) {
        const DeadLetter& letter = at->second;
        if (retried == filter.limit || !matches(filter, letter) ||
            was_replaced(state, letter.item)) {
            ++at;
            continue;
        }
        state.items.put(revived(letter, now));
        at = state.dead_letters.erase(at);
        ++retried;
    }
    return static_cast<std::int64_t>(retried);
}

std::int64_t discard_dead_letters(State& state, const DeadLetterFilter& filter) {
    const auto letters = list_dead_letters(state, filter);
    for (const auto& letter : letters) state.dead_letters.erase(letter.item.id);
    return static_cast<std::int64_t>(letters.size());
}

Vacuumed vacuum(State& state, Time now, const VacuumRequest& request) {
    Vacuumed vacuumed;
    const auto count = [&](std::size_t removed) {
        vacuumed.removed += static_cast<std::int64_t>(removed);
        vacuumed.more = vacuumed.more || removed == request.limit;
    };
    if (request.input_ids_older_than) {
        std::size_t inputs = 0;
        for (auto& [name, instance] : state.instances)
            inputs += std::erase_if(instance.inputs, [&, left = request.limit -
                                                                inputs](const auto& entry) mutable {
                return entry.second.at < now - *request.input_ids_older_than && left > 0 && left--;
            });
        count(inputs);
    }
    if (request.endings_older_than)
        count(std::erase_if(state.endings, [&, left = request.limit](const auto& entry) mutable {
            return entry.second.at < now - *request.endings_older_than && left > 0 && left--;
        }));
    if (request.endings_older_than)
        count(std::erase_if(
            state.dead_messages, [&, left = request.limit](const auto& entry) mutable {
                const DeadMessage& dead = entry.second;
                return dead.status >= DeadStatus::resolved &&
                       dead.died_at < now - *request.endings_older_than && left > 0 && left--;
            }));
    count(std::erase_if(state.once, [&, left = request.limit](const auto& entry) mutable {
        return entry.second <= now && left > 0 && left--;
    }));
    if (request.dead_letters_older_than)
        count(remove_dead_letters(state, now - *request.dead_letters_older_than, request.limit));
    if (request.finished_older_than)
        count(remove_finished(state, now - *request.finished_older_than, request.limit));
    return vacuumed;
}

}  // namespace pawl::store::memory
