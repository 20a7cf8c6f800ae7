// Messages in transactions that are not pawl's. Nothing is believed from before: the user may have
// rolled back what was read or written here a moment ago.
#include <fmt/format.h>

#include <map>
#include <pawl/error.hpp>

#include "store/sql/delivering.hpp"
#include "store/sql/message_rows.hpp"
#include "store/sql/transacting.hpp"

namespace pawl::store::sql {
namespace {

struct Channel {
    Ref ref = 0;
    std::int32_t partitions = 0;
};

std::optional<Channel> find_channel(Connection& connection, const Statements& sql,
                                    const std::string& name) {
    std::optional<Channel> found;
    connection.query(sql.channels.find, {text(name)}, [&](const Row& row) {
        found = {row.number(0), static_cast<std::int32_t>(row.number(1))};
    });
    return found;
}

// In a transaction that sees one moment, what others have made since can neither be seen nor added.
Channel make_channel(Connection& connection, const Statements& sql, const std::string& name) {
    std::optional<Ref> ref;
    connection.run(sql.dictionary.renew);
    connection.run(sql.names.add, {text(name)});
    connection.query(sql.names.find, {text(name)}, [&](const Row& row) { ref = row.number(0); });
    if (ref) connection.run(sql.channels.add, {*ref, default_partitions});
    if (const auto made = find_channel(connection, sql, name)) return *made;
    throw Collision{Code::busy, fmt::format("channel \"{}\" was made by somebody else since the "
                                            "transaction began",
                                            name)};
}

void check_partition(const Message& message, const Channel& channel) {
    if (!message.partition || *message.partition < channel.partitions) return;
    throw Error{Code::invalid,
                fmt::format("a message to channel \"{}\" has partition {}: it has {}, counted "
                            "from 0",
                            message.channel, *message.partition, channel.partitions)};
}

class SqlForeignTransaction final : public ForeignTransaction {
public:
    SqlForeignTransaction(Database& database, std::unique_ptr<LentConnection> lent)
        : database_(database), sql_(database.statements()), lent_(std::move(lent)) {}

    void publish(std::span<const Message> messages) override {
        on_lent(*lent_, [&](Connection& connection) {
            const Time now = database_.now();
            std::map<std::string, Channel> channels;
            std::vector<Outgoing> outgoing;
            for (const auto& message : messages) {
                auto at = channels.find(message.channel);
                if (at == channels.end())
                    at = channels.emplace(message.channel, channel(connection, message.channel))
                             .first;
                check_partition(message, at->second);
                outgoing.emplace_back(at->second.ref, &message);
            }
            Rows rows;
            for (const auto& one : first_ones(connection, sql_, std::move(outgoing), now))
                add_message(rows, one, now);
            connection.post(sql_.messages.add, rows);  // heard of with the savepoint's end
        });
    }

private:
    Channel channel(Connection& connection, const std::string& name) {
        if (const auto found = find_channel(connection, sql_, name)) return *found;
        return make_channel(connection, sql_, name);
    }

    Database& database_;
    const Statements& sql_;
    std::unique_ptr<LentConnection> lent_;
};

}  // namespace

std::unique_ptr<ForeignTransaction> Delivering::join(const ForeignHandle& handle) {
    return std::make_unique<SqlForeignTransaction>(database_, database_.borrow(handle));
}

SpelledStatement Delivering::spell(const Message& message, Marks marks) {
    if (!message.once.empty())
        throw Error{
            Code::invalid,
            fmt::format("a message to channel \"{}\" has a deduplication key: one statement "
                        "can't look whether it is the first; join the transaction instead",
                        message.channel)};
    const auto find = [&] {
        return in_read(database_, [&](Connection& connection) {
            return find_channel(connection, sql_, message.channel);
        });
    };
    auto channel = find();
    if (!channel) {
        try {
            declare(message.channel, 0);
        } catch (const Error& error) {
            if (error.code() != Code::busy) throw;
            throw Error{Code::busy,
                        fmt::format("channel \"{}\" is not there yet and can't be made while "
                                    "another transaction writes: have the statement made, or call "
                                    "Engine::channel, before it begins: {}",
                                    message.channel, error.what())};
        }
        channel = find();
    }
    base::check(channel.has_value(), "a channel that was declared is there");
    check_partition(message, *channel);
    Rows row;
    add_message(row, {channel->ref, &message}, database_.now());
    return sql::spell(sql_.messages.add.text, row.values(), database_.spelling(), marks);
}

}  // namespace pawl::store::sql
