// What is left of a group once it is judged, written a table at a time.
#include <algorithm>
#include <map>

#include "base/points.hpp"
#include "store/outbox.hpp"
#include "store/sql/group.hpp"
#include "store/sql/message_rows.hpp"
#include "store/sql/shard.hpp"

namespace pawl::store::sql {

namespace points = base::points;

void Group::write() {
    Connection& connection = *connection_;
    connection.reach(points::group_judged);
    if (guards_write()) write_presumed();
    write_instances();
    connection.reach(points::group_instances);
    connection.post(sql_.events.add, rows_.events);
    connection.reach(points::group_events);
    connection.post(sql_.snapshots.set, rows_.snapshots);
    connection.post(sql_.inputs.add, rows_.inputs);
    write_unique_keys();
    connection.reach(points::group_inputs);
    write_item_changes();
    connection.reach(points::group_item_changes);
    write_new_items();
    connection.reach(points::group_new_items);
    connection.post(sql_.endings.add, rows_.endings);
    write_inbox();
    write_messages();
    if (takes_numbers_) numbers_->end(connection);
    write_from_now();
    write_mail();
    connection.reach(points::group_written);
}

// However many Commits chain on an instance, its row is written once.
void Group::write_instances() {
    for (const auto& instance : instances_) {
        if (instance.is_new)
            rows_.new_instances.add({instance.ref, *instance.type, bytes(instance.name.id),
                                     instance.version, run_.now, instance.finished_at,
                                     given_text(instance.tenant), given_bytes(instance.unique_key),
                                     instance.status, *instance.head});
        else if (instance.is_changed && !guards_write())
            rows_.changed_instances.add({instance.ref, instance.version, run_.now,
                                         instance.finished_at, given_bytes(instance.unique_key),
                                         instance.status, *instance.head});
    }
    connection_->post(sql_.instances.add, rows_.new_instances);
    if (!guards_write()) connection_->post(sql_.instances.update, rows_.changed_instances);
}

std::vector<GroupItem*> Group::items_by_id() {
    std::vector<GroupItem*> sorted;
    sorted.reserve(items_.size());
    for (auto& item : items_) sorted.push_back(&item);
    std::ranges::sort(sorted, {}, &GroupItem::id);
    return sorted;
}

// Dead letters copy the item, so they come before its removal.
void Group::write_item_changes() {
    for (const auto* item : items_by_id()) {
        const auto* word = item->last_word;
        const auto verdict = word ? word->verdict : Verdict::ack;
        if (!item->removed) {
            if (verdict == Verdict::suspend)
                rows_.suspended_items.add(
                    {item->id, word->wake.at.value_or(never), word->wake.mail});
            continue;
        }
        if (!item->gone) rows_.removed_items.add({item->id});
        if (verdict == Verdict::bury)
            rows_.buried_items.add({item->id, text(word->reason), run_.now});
        else if (item->failures > 0)
            rows_.removed_failures.add({item->id});
    }
    connection_->post(sql_.items.forget_losses, rows_.items_further);
    connection_->post(sql_.items.suspend, rows_.suspended_items);
    connection_->post(sql_.failures.add, rows_.failures);
    connection_->post(sql_.failures.remove, rows_.removed_failures);
    connection_->post(sql_.dead_letters.bury, rows_.buried_items);
    connection_->post(sql_.items.remove, rows_.removed_items);
    if (rows_.timerless.empty() && rows_.runless.empty()) return;
    connection_->post(sql_.presumed->of_instances->remove_timers, rows_.timerless);
    connection_->post(sql_.presumed->of_instances->remove_runs, rows_.runless);
}

void Group::write_new_items() {
    for (const auto& item : new_items_) {
        if (item.removed || is_due_later(item)) continue;
        const Value due = item.claimed ? Value{} : Value{item.put->at.value_or(run_.now)};
        const Value session = item.claimed ? Value{item.put->born_claimed->session} : Value{};
        add_item(rows_.new_items, item, run_.now, due, session);
    }
    connection_->post(sql_.items.add, rows_.new_items);
}

bool Group::is_due_later(const NewItem& item) {
    return !item.claimed && !item.put->at && item.put->after != Duration::zero();
}

void Group::add_item(Rows& rows, const NewItem& item, Value created, Value due, Value session) {
    const Put& put = *item.put;
    const Envelope& envelope = item.commit->envelope;
    const NameView& name = instances_[item.instance].name;
    const Value fence = item.claimed ? Value{put.born_claimed->fence} : Value{};
    rows.add({item.id,
              item.line,
              instances_[item.instance].ref,
              item.sequence,
              item.index,
              static_cast<int>(put.kind),
              shard_of(name.type, name.id),
              item.claimed ? 1 : 0,
              created,
              due,
              session,
              fence,
              static_cast<int>(put.payload.encoding),
              given_bytes(put.key),
              bytes(item.commit->append->events.front().id),
              given_text(envelope.correlation),
              given_text(envelope.conversation),
              given_text(envelope.tenant),
              given_text(envelope.trace),
              bytes(put.payload.bytes)});
}

// Behind everything that may wait for others, so that it counts from the commit; but never from a
// time before that of the journal, which this process may believe to be a little ahead of the
// server's clock: nothing rings earlier than its journal says.
void Group::write_from_now() {
    const Value now = database_.time_of_statement();
    for (const auto& item : new_items_)
        if (!item.removed && is_due_later(item))
            add_item(rows_.later_items, item, now, item.put->after.count(), run_.now);
    for (const auto* item : items_by_id())
        if (!item->removed && item->last_word && item->last_word->verdict == Verdict::retry)
            rows_.retried_items.add({item->id, now, item->last_word->retry_after.count(),
                                     given_text(item->last_word->reason), run_.now});
    connection_->post(sql_.items.add_later, rows_.later_items);
    connection_->post(sql_.items.mail, rows_.mailed_earlier);
    connection_->post(sql_.items.retry, rows_.retried_items);
}

void Group::write_inbox() {
    for (const auto& [row, position, type, removed] : new_mail_) {
        if (removed) continue;
        const Envelope& envelope = row->envelope;
        rows_.inbox.add({position, type, bytes(row->to.id), shard_of(row->to.type, row->to.id),
                         run_.now, static_cast<int>(row->payload.encoding), text(row->name),
                         given_bytes(row->input_id), given_bytes(envelope.causation),
                         given_text(envelope.correlation), given_text(envelope.conversation),
                         given_text(envelope.tenant), given_text(envelope.trace),
                         bytes(row->payload.bytes)});
    }
    connection_->post(sql_.inbox.take, rows_.taken_mail);
    connection_->post(sql_.inbox.clear, rows_.cleared_inboxes);
    connection_->post(sql_.inbox.add, rows_.inbox);
}

// Behind what the group did to the items itself: what wakes one depends on how it was suspended.
void Group::write_mail() {
    for (const auto& run : runs_) {
        if (run.mail == 0 || !is_there(run)) continue;
        const int urgent = run.urgent ? 1 : 0;
        if (run.presumed) {
            const Ref type = words_.name(*connection_, run.of.type);
            rows_.mailed_by_name.add({type, bytes(run.of.id), run.mail, urgent, run_.now});
        } else {
            const ItemId id =
                run.new_item != nowhere ? new_items_[run.new_item].id : items_[run.item].id;
            rows_.mailed.add({id, run.mail, urgent, run_.now});
        }
    }
    connection_->post(sql_.items.mail, rows_.mailed);
    if (!rows_.mailed_by_name.empty())
        connection_->post(sql_.presumed->of_instances->mail, rows_.mailed_by_name);
}

void Group::write_unique_keys() {
    for (const auto& [name, key] : unique_keys_) {
        if (key.holder == key.holder_before) continue;
        const Ref type = words_.name(*connection_, name.type);
        if (key.holder_before != 0) rows_.freed_keys.add({type, bytes(name.id)});
        if (key.holder != 0) rows_.taken_keys.add({type, bytes(name.id), key.holder});
    }
    connection_->post(sql_.unique_keys.remove, rows_.freed_keys);
    connection_->post(sql_.unique_keys.add, rows_.taken_keys);
}

void Group::write_messages() {
    for (const Ref channel : new_channels_) {
        bool is_there = false;
        connection_->query(sql_.channels.hold, {channel}, [&](const Row&) { is_there = true; });
        if (is_there) {
            words_.learn(*connection_);
            continue;
        }
        words_.renew(*connection_);
        connection_->run(sql_.channels.add, {channel, default_partitions});
    }
    std::map<Ref, std::int32_t> partitions;
    const auto partitions_of = [&](Ref channel) -> std::optional<std::int32_t> {
        if (!sql_.messages.add_placed) return std::nullopt;
        const auto [at, is_new] = partitions.try_emplace(channel, 0);
        if (is_new)
            connection_->query(sql_.channels.hold, {channel}, [&](const Row& row) {
                at->second = static_cast<std::int32_t>(row.number(0));
            });
        return at->second;
    };
    for (const auto& one : first_ones(*connection_, sql_, messages_, run_.now))
        add_message(rows_.messages, one, run_.now, partitions_of(one.first));
    connection_->post(sql_.messages.add_placed.value_or(sql_.messages.add), rows_.messages);
}

}  // namespace pawl::store::sql
