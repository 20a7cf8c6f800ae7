#include "store/sql/records.hpp"

#include <algorithm>

#include "store/outbox.hpp"

namespace pawl::store::sql {
namespace {

std::string copy(const Row& row, int column) { return std::string{row.view(column)}; }

Uuid uuid(const Row& row, int column) {
    Uuid id;
    const auto view = row.view(column);
    std::copy_n(view.begin(), std::min(view.size(), id.bytes.size()), id.bytes.begin());
    return id;
}

Payload payload(const Row& row, int bytes_column, int encoding_column) {
    return {.bytes = copy(row, bytes_column),
            .encoding = static_cast<Encoding>(row.number(encoding_column))};
}

std::int32_t small(const Row& row, int column) {
    return static_cast<std::int32_t>(row.number(column));
}

// The five columns from `first` on: causation, correlation, conversation, tenant, trace.
Envelope envelope(const Row& row, int first) {
    return {.correlation = copy(row, first + 1),
            .conversation = copy(row, first + 2),
            .tenant = copy(row, first + 3),
            .trace = copy(row, first + 4),
            .causation = uuid(row, first)};
}

}  // namespace

// A correlation that was not given is the event's own id: it is not stored a second time.
Unnamed<StoredEvent> read_event(const Row& row) {
    Unnamed<StoredEvent> out;
    StoredEvent& event = out.value;
    event.position = row.number(0);
    event.sequence = row.number(1);
    event.at = row.time(2);
    out.name = row.number(3);
    event.event.kind = static_cast<EventKind>(row.number(4));
    event.event.id = uuid(row, 6);
    event.event.payload = payload(row, 12, 5);
    event.envelope = envelope(row, 7);
    if (event.envelope.correlation.empty()) event.envelope.correlation = event.event.id.text();
    out.type = row.number(13);
    event.instance.id = copy(row, 14);
    return out;
}

Unnamed<Event> read_loaded_event(const Row& row) {
    Unnamed<Event> out;
    out.name = row.number(0);
    out.value.kind = static_cast<EventKind>(row.number(1));
    out.value.id = uuid(row, 3);
    out.value.payload = payload(row, 4, 2);
    return out;
}

Unnamed<Item> read_item_row(const Row& row) {
    Unnamed<Item> out;
    Item& item = out.value;
    item.id = row.number(0);
    out.line = row.number(1);
    item.sequence = row.number(2);
    item.index = small(row, 3);
    item.attempts = small(row, 4);
    item.losses = small(row, 5);
    item.losses_alone = small(row, 6);
    item.created_at = row.time(7);
    item.due_at = row.maybe_time(8);
    item.session = row.number(9);
    item.fence = row.number(10);
    item.key = copy(row, 12);
    item.envelope = envelope(row, 13);
    if (item.envelope.correlation.empty())
        item.envelope.correlation = item.envelope.causation.text();
    item.last_error = copy(row, 18);
    item.payload = payload(row, 19, 11);
    item.instance.id = copy(row, 20);
    item.mail = row.number(21);
    item.wakes_at_mail = row.number(22);
    return out;
}

Unnamed<InstanceRow> read_instance(const Row& row) {
    Unnamed<InstanceRow> out;
    InstanceRow& instance = out.value;
    out.type = row.number(1);
    instance.name.id = copy(row, 2);
    instance.version = row.number(3);
    instance.tenant = copy(row, 4);
    instance.unique_key = copy(row, 5);
    instance.created_at = row.time(6);
    instance.updated_at = row.time(7);
    instance.finished_at = row.maybe_time(8);
    instance.status = small(row, 9);
    instance.head = row.number(10);
    return out;
}

Unnamed<FinishedRow> read_finished(const Row& row) {
    Unnamed<FinishedRow> out;
    out.value.at = row.time(0);
    out.type = row.number(1);
    out.value.name.id = copy(row, 2);
    return out;
}

std::optional<RunItem> read_run_item(const Row& row, int first) {
    if (row.is_null(first)) return std::nullopt;
    return RunItem{.attempts = small(row, first),
                   .due_at = row.maybe_time(first + 1),
                   .last_error = copy(row, first + 2),
                   .owner = copy(row, first + 4),
                   .is_claimed = !row.is_null(first + 3)};
}

Snapshot read_snapshot(const Row& row) {
    return {.sequence = row.number(0), .version = small(row, 1), .payload = payload(row, 3, 2)};
}

RecordedEnding read_ending(const Row& row) {
    RecordedEnding ending;
    ending.item = row.number(0);
    ending.instance.id = copy(row, 2);
    ending.key = copy(row, 3);
    ending.ending = static_cast<Ending>(row.number(4));
    ending.reason = copy(row, 5);
    ending.at = row.time(6);
    return ending;
}

InboxRow read_inbox_row(const Row& row) {
    InboxRow out;
    out.position = row.number(0);
    out.at = row.time(1);
    out.name = copy(row, 3);
    out.input_id = copy(row, 4);
    out.envelope = envelope(row, 5);
    out.payload = payload(row, 10, 2);
    return out;
}

Message read_message(const Row& row) {
    Message out;
    out.position = row.number(0);
    out.at = row.time(1);
    if (row.number(2) != 0) out.deliver_after = row.time(2);
    out.key = copy(row, 4);
    out.type = copy(row, 5);
    out.recipient = copy(row, 6);
    out.schema = copy(row, 7);
    out.envelope = envelope(row, 8);
    out.payload = payload(row, 13, 3);
    out.id = uuid(row, 14);
    out.partition = static_cast<std::int32_t>(row.number(15));
    return out;
}

StoredEvent finish(Unnamed<StoredEvent> event, Interned& interned, Connection& connection) {
    event.value.event.name = interned.name(connection, event.name);
    event.value.instance.type = interned.name(connection, event.type);
    return std::move(event.value);
}

Event finish(Unnamed<Event> event, Interned& interned, Connection& connection) {
    event.value.name = interned.name(connection, event.name);
    return std::move(event.value);
}

FinishedRow finish(Unnamed<FinishedRow> row, Interned& interned, Connection& connection) {
    row.value.name.type = interned.name(connection, row.type);
    return std::move(row.value);
}

InstanceRow finish(Unnamed<InstanceRow> row, Interned& interned, Connection& connection) {
    row.value.name.type = interned.name(connection, row.type);
    return std::move(row.value);
}

Item finish(Unnamed<Item> item, Interned& interned, Connection& connection) {
    item.value.line = interned.line(connection, item.line);
    item.value.instance.type = item.value.line.type;
    return std::move(item.value);
}

}  // namespace pawl::store::sql
