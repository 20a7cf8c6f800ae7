/// What a scenario is measured against: a connection that writes by hand what the engine would.
#pragma once

#include <string>
#include <vector>

namespace pawl::bench {

using Ids = std::vector<std::string>;

/// How many there are in a database: a side that was fast must have been right too.
struct RowCounts {
    long instances = 0;
    long finished = 0;
    long events = 0;
    long items = 0;
    bool operator==(const RowCounts&) const = default;
};

/// The same rows into the same tables and indexes, as durable as the engine's. For one thread;
/// those that were made together may work at once.
class Rival {
public:
    virtual ~Rival() = default;

    /// An instance, an event and an effect for each id, in one transaction.
    virtual void insert(const Ids& ids) = 0;
    /// The same for one, as a program does it that knows no batches.
    virtual void insert_alone(const std::string& id) = 0;
    /// Inserts them as `insert` does, born claimed; then, in a second transaction, checks that the
    /// claims still hold, appends the results, finishes and acknowledges.
    virtual void cycle(const Ids& ids) = 0;
    /// Runs of a function with three steps: started with a claim, then a transaction for each of
    /// two steps, then one for the third and the end, each with its guards.
    virtual void run_steps(const Ids& ids) = 0;
    /// `count` more events and effects of one instance, the first with this sequence, and the
    /// snapshot that is due every 100 events, in one transaction.
    virtual void append_to_hot(long sequence, int count) = 0;
    /// Claims alarms that are due, in one transaction; in a second one reads what they decide on,
    /// appends, finishes and acknowledges. At most `limit`; returns how many.
    virtual long fire(int limit) = 0;
    /// So many dead letters and items that are due tomorrow, older than everything after them.
    virtual void add_burden(long count) = 0;

    /// A message for each key in a channel of 64 partitions, in one transaction.
    virtual void publish(const Ids& keys) = 0;

    virtual RowCounts row_counts() = 0;
};

}  // namespace pawl::bench
