/// Names and lines as small numbers: rows hold the number, this remembers the text.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/sql/connection.hpp"
#include "store/sql/statements.hpp"
#include "store/values.hpp"

namespace pawl::store::sql {

using Ref = std::int64_t;

/// A line whose texts belong to somebody else.
struct LineView {
    ItemKind kind = ItemKind::effect;
    std::string_view type;
    std::string_view name;
    friend bool operator==(const LineView&, const LineView&) = default;
};

/// A table of texts and one of lines. What is in them never changes. Not thread-safe.
class Dictionary {
public:
    std::optional<Ref> find(std::string_view name) const;
    std::optional<Ref> find(const LineView& line) const;
    const std::string* name(Ref ref) const;  ///< nullptr where the number is not known
    const Line* line(Ref ref) const;

    void add(Ref ref, std::string_view name);
    void add(Ref ref, const LineView& line);
    void add(const Dictionary& other);
    void clear() { *this = {}; }
    bool empty() const { return names_.empty() && lines_.empty(); }

private:
    struct LineHash {
        std::size_t operator()(const LineView& line) const;
    };
    std::unordered_map<Ref, std::string> names_;  // nodes: the views below stay right
    std::unordered_map<Ref, Line> lines_;
    std::unordered_map<std::string_view, Ref> refs_;
    std::unordered_map<LineView, Ref, LineHash> line_refs_;
};

/// The dictionary of one store: only what is committed. Thread-safe; the connection that is given
/// must see committed rows only, which a write transaction that adds words does not.
///
/// A failover or a restored dump can lose words that this process remembers, and give their numbers
/// to others. So the database holds a token, and each transaction that adds a word or a channel
/// sets another random one: where the token is the one of what is remembered, all of that is there.
/// Groups compare it in their own transaction; whoever only reads compares it about once a second.
class Interned {
public:
    explicit Interned(const Statements& sql) : sql_(sql) {}

    /// Forgets everything if the database has another token than what is remembered. Returns the
    /// database's.
    std::string compare(Connection& connection);
    std::string token() const;
    /// Grows whenever everything is forgotten.
    std::uint64_t generation() const { return generation_.load(); }

    /// What the table has, or nothing.
    template <class Word>
    std::optional<Ref> find(Connection& connection, const Word& word);
    /// What is known without asking the table.
    template <class Word>
    std::optional<Ref> known(const Word& word) const;

    /// The text of a number that stands in a row which `connection` sees.
    std::string name(Connection& connection, Ref ref);
    Line line(Connection& connection, Ref ref);

    /// Adds what a transaction that has committed wrote or read, which had the token `from` at its
    /// beginning and `to` behind the last word. Nothing, if another token is remembered meanwhile.
    void add(const Dictionary& committed, const std::string& from, const std::string& to);

private:
    using Steady = std::chrono::steady_clock;

    void compare_sometimes(Connection& connection);
    void refresh(Connection& connection);

    const Statements& sql_;
    mutable std::shared_mutex mutex_;
    Dictionary all_;
    std::string token_;
    std::atomic<std::uint64_t> generation_{1};
    std::atomic<Steady::time_point> compared_at_{};
};

/// The words that one write transaction uses, those it adds among them.
class Words {
public:
    Words(Interned& interned, const Statements& sql) : interned_(interned), sql_(sql) {}

    /// At the beginning of a transaction: nothing is remembered that the database has lost.
    void begin(Connection& connection);
    /// The same without asking: the token that the transaction itself has to compare.
    std::string_view presume();
    /// The generation of what is remembered, at the beginning of the transaction.
    std::uint64_t generation() const { return generation_; }
    /// Before a word or a channel is added.
    void renew(Connection& connection);
    /// After one was found that was not remembered: what added it has set another token.
    void learn(Connection& connection);

    /// What the table has, or nothing.
    std::optional<Ref> find(Connection& connection, std::string_view name);
    std::optional<Ref> find(Connection& connection, const LineView& line);
    /// The word's number; adds it to the table if it is new.
    Ref name(Connection& connection, std::string_view name);
    Ref line(Connection& connection, const LineView& line);

    void keep();                       ///< when the transaction has committed
    void forget() { added_.clear(); }  ///< when it was rolled back, in whole or in part

private:
    Interned& interned_;
    const Statements& sql_;
    Dictionary added_;
    std::uint64_t generation_ = 0;
    std::string token_;    // at the beginning of the transaction
    std::string learned_;  // behind the last word
};

}  // namespace pawl::store::sql
