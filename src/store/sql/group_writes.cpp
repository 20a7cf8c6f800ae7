// What is left of a group once it is judged, written a table at a time.
#include "base/points.hpp"
#include "store/sql/group.hpp"
#include "store/sql/shard.hpp"

namespace pawl::store::sql {

namespace points = base::points;

void Group::write() {
    Connection& connection = *connection_;
    connection.reach(points::group_judged);
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
    connection.post(sql_.inbox.add, rows_.inbox);
    connection.post(sql_.messages.add, rows_.messages);
    numbers_->end(connection);
    connection.reach(points::group_written);
}

// However many Commits chain on an instance, its row is written once.
void Group::write_instances() {
    for (const auto& instance : instances_) {
        if (instance.is_new)
            rows_.new_instances.add({instance.ref, *instance.type, bytes(instance.name.id),
                                     instance.version, run_.now, instance.finished_at,
                                     given_text(instance.tenant),
                                     given_bytes(instance.unique_key)});
        else if (instance.is_changed)
            rows_.changed_instances.add({instance.ref, instance.version, run_.now,
                                         instance.finished_at, given_bytes(instance.unique_key)});
    }
    connection_->post(sql_.instances.add, rows_.new_instances);
    connection_->post(sql_.instances.update, rows_.changed_instances);
}

// Dead letters copy the item, so they come before its removal.
void Group::write_item_changes() {
    for (const auto& item : items_) {
        const auto verdict = item.last_word ? item.last_word->verdict : Verdict::ack;
        if (!item.removed) {
            if (item.last_word)
                rows_.retried_items.add({item.id, run_.now + item.last_word->retry_after,
                                         given_text(item.last_word->reason)});
            continue;
        }
        rows_.removed_items.add({item.id});
        if (verdict == Verdict::bury)
            rows_.buried_items.add({item.id, text(item.last_word->reason), run_.now});
        else if (item.failures > 0)
            rows_.removed_failures.add({item.id});
    }
    connection_->post(sql_.items.retry, rows_.retried_items);
    connection_->post(sql_.failures.add, rows_.failures);
    connection_->post(sql_.failures.remove, rows_.removed_failures);
    connection_->post(sql_.dead_letters.bury, rows_.buried_items);
    connection_->post(sql_.items.remove, rows_.removed_items);
}

void Group::write_new_items() {
    for (const auto& item : new_items_) {
        if (item.removed) continue;
        const Put& put = *item.put;
        const Envelope& envelope = item.commit->envelope;
        const NameView& name = instances_[item.instance].name;
        const Value due = item.claimed ? Value{} : Value{put.at ? *put.at : run_.now + put.after};
        const Value session = item.claimed ? Value{put.born_claimed->session} : Value{};
        const Value fence = item.claimed ? Value{put.born_claimed->fence} : Value{};
        rows_.new_items.add({item.id,
                             item.line,
                             instances_[item.instance].ref,
                             item.sequence,
                             item.index,
                             put.kind == ItemKind::timer ? 1 : 0,
                             shard_of(name.type, name.id),
                             item.claimed ? 1 : 0,
                             run_.now,
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
    connection_->post(sql_.items.add, rows_.new_items);
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

}  // namespace pawl::store::sql
