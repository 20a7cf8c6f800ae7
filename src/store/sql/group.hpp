/// Applies a group of Commits inside one transaction: reads what the guards need, judges each
/// Commit in its order, and writes what is left of them, a table at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <pawl/time.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/commit.hpp"
#include "store/sql/database.hpp"
#include "store/sql/declared_channels.hpp"
#include "store/sql/group_state.hpp"
#include "store/sql/instance_refs.hpp"
#include "store/sql/interned.hpp"

namespace pawl::store::sql {

/// Instances whose chain is broken: a Commit to them has failed before, in this group.
using BrokenChains = std::set<InstanceName>;

/// Kept from group to group for its memory. Used by one thread at a time.
class Group {
public:
    /// What groups of a store learn from each other.
    struct Known {
        Interned& interned;
        InstanceRefs& refs;
        DeclaredChannels& channels;
    };
    Group(Database& database, const Known& known)
        : database_(database),
          sql_(database.statements()),
          words_(known.interned, sql_),
          refs_(known.refs),
          channels_(known.channels),
          numbers_(database.numbers()) {}

    struct Run {
        std::span<const Commit> commits;
        std::span<Answer> answers;
        Time now{};  ///< when it begins; that of its rows is taken once its locks are held
        /// Read: no Commit of this group can write anything, and the transaction is a read one.
        Access access = Access::write;
        /// It was sent before, and what became of it is not known: what is already there is ours.
        bool resent = false;
        /// Nothing is read first: the database raises a Collision where the guards are wrong.
        bool presumed = false;
    };
    /// Inside a transaction of `connection`. On an exception the caller rolls back.
    void apply(Connection& connection, const Run& run, BrokenChains& broken);

    Words& words() { return words_; }
    /// After a try that failed in a way that a server which has lost commits can cause.
    void forget_numbers() { numbers_->forget(); }

    /// Whether this group can be run `presumed`.
    bool can_presume(std::span<const Commit> commits);
    /// When the transaction has committed.
    void remember_refs();

private:
    void clear();

    // What the guards need, read once for each row they look at.
    void read_guards();
    void read_instances();
    void read_inputs();
    void read_unique_keys();
    void find_runs();
    void link_runs();
    void read_items();
    void read_timers();
    void read_item(const Row& row);
    void read_sessions();
    void read_written();
    bool has_settled(const Commit& commit) const;
    void lock_items_together();
    void presume_guards();
    void presume_items();
    bool can_presume_append(std::span<const Commit> commits, const Commit& commit);
    void presume_of_instances();
    bool presume_own_items();
    /// Whether the guards are part of what is written.
    bool guards_write() const { return run_.presumed && sql_.presumed->writing; }
    void post_guards();
    void write_presumed();
    void write_presumed_items();
    static bool is_added_before(std::span<const Commit> commits, const Commit& commit);

    // The judgement: guards in their order, on the state after the Commits before.
    Answer judge(const Commit& commit, bool chain_broken) const;
    bool holds_fence(const Settlement& settlement) const;
    /// What is said to the Commit if one of its claims has mail that it passes over, or none to.
    std::optional<Answer> judge_mail(const Commit& commit) const;
    std::int64_t mail_of(const Commit& commit) const;
    bool has_run(const InstanceName& instance) const;
    std::optional<Version> applied_input(const Append& append) const;
    static bool is_current(const GroupInstance& instance, const Append& append);
    std::uint32_t instance_of(const Append& append) const;

    // What a Commit that passed does to the state, and the rows it will write.
    void accept(const Commit& commit, Answer& answer);
    void accept_append(const Commit& commit, Answer& answer);
    void settle(const Settlement& settlement);
    void suspend(GroupItem& item);
    void keep_earlier_mail(const GroupItem& item);
    void append_events(const Commit& commit, GroupInstance& instance);
    void create(const Commit& commit, GroupInstance& instance);
    void hold_unique_key(GroupInstance& instance, std::string_view key);
    enum class Which { all, keyed };
    void remove_timers(GroupInstance& instance, Which which, std::string_view key = {});
    void put_items(const Commit& commit, GroupInstance& instance, Answer& answer);
    ItemId put_item(NewItem item, GroupInstance& instance);
    void end_run(const GroupInstance& instance);
    GroupRun& run_of(const NameView& name);
    bool is_there(const GroupRun& run) const;
    void accept_inbox(const Commit& commit);
    void count_mail(const InboxRow& row, GroupRun& run);
    void accept_messages(const Commit& commit);

    void write();
    void write_instances();
    std::vector<GroupItem*> items_by_id();
    void write_item_changes();
    void write_new_items();
    /// Whether it is due some time after the commit.
    static bool is_due_later(const NewItem& item);
    void add_item(Rows& rows, const NewItem& item, Value created, Value due, Value session);
    void write_from_now();
    void write_inbox();
    void write_mail();
    void write_messages();
    void write_unique_keys();

    Database& database_;
    const Statements& sql_;
    Words words_;
    InstanceRefs& refs_;
    DeclaredChannels& channels_;
    std::vector<Ref> new_channels_;
    std::vector<std::pair<Ref, const Message*>> messages_;
    std::unique_ptr<Numbers> numbers_;
    bool takes_numbers_ = true;
    Connection* connection_ = nullptr;
    Run run_;

    std::vector<GroupInstance> instances_;
    std::unordered_map<NameView, std::uint32_t, NameHash> instance_at_;
    std::vector<GroupItem> items_;
    std::unordered_map<ItemId, std::uint32_t> item_at_;
    std::vector<NewItem> new_items_;
    std::vector<GroupRun> runs_;
    std::unordered_map<NameView, std::uint32_t, NameHash> run_at_;
    std::vector<NewMail> new_mail_;
    std::vector<std::pair<std::uint32_t, ItemId>> run_items_;  // in runs_, as they were found
    std::unordered_map<TextOf, Version, TextOfHash> inputs_;   // instance and input id
    std::unordered_map<NameView, GroupUniqueKey, NameHash> unique_keys_;  // type and key
    std::deque<std::string> freed_keys_;  // what views in unique_keys_ show
    std::unordered_map<SessionId, bool> sessions_;
    std::unordered_map<const Commit*, Answer>
        recognised_;  // those of a resent group that are there
    GroupRows rows_;
};

}  // namespace pawl::store::sql
