/// Rows of the database as the values that the engine sees.
#pragma once

#include <vector>

#include "store/sql/connection.hpp"
#include "store/sql/interned.hpp"
#include "store/values.hpp"

namespace pawl::store::sql {

/// Rows first hold numbers for names and lines; `finish` replaces them once the query is done,
/// since no statement may run inside another.
template <class T>
struct Unnamed {
    T value;
    Ref name = 0;  ///< of the event
    Ref type = 0;  ///< of the instance
    Ref line = 0;
};

/// The columns of events.journal, journal_back, entries and follow.
Unnamed<StoredEvent> read_event(const Row& row);
/// The columns of events.load.
Unnamed<Event> read_loaded_event(const Row& row);
/// The columns of items.rows and items.page.
Unnamed<Item> read_item_row(const Row& row);
/// The columns of instances.rows and instances.page, from column 1 on.
Unnamed<InstanceRow> read_instance(const Row& row);
/// The columns from `first` on: attempts, due_at, last_error, session and its owner. None where
/// there is no run item.
std::optional<RunItem> read_run_item(const Row& row, int first);
/// The columns of instances.finished_since; its name is left to be found.
Unnamed<FinishedRow> read_finished(const Row& row);
Snapshot read_snapshot(const Row& row);
RecordedEnding read_ending(const Row& row);
InboxRow read_inbox_row(const Row& row);
Message read_message(const Row& row);

/// With the texts of its numbers.
StoredEvent finish(Unnamed<StoredEvent> event, Interned& interned, Connection& connection);
Event finish(Unnamed<Event> event, Interned& interned, Connection& connection);
FinishedRow finish(Unnamed<FinishedRow> row, Interned& interned, Connection& connection);
InstanceRow finish(Unnamed<InstanceRow> row, Interned& interned, Connection& connection);
Item finish(Unnamed<Item> item, Interned& interned, Connection& connection);

template <class T>
std::vector<T> finish_all(std::vector<Unnamed<T>> rows, Interned& interned,
                          Connection& connection) {
    std::vector<T> out;
    out.reserve(rows.size());
    for (auto& row : rows) out.push_back(finish(std::move(row), interned, connection));
    return out;
}

}  // namespace pawl::store::sql
