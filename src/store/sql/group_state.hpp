/// What a group knows while it is judged: rows as they are in the database, changed as if the
/// Commits so far had been written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <pawl/time.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "store/commit.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/value.hpp"

namespace pawl::store::sql {

/// The name of an instance, or a type and a unique key.
struct NameView {
    std::string_view type;
    std::string_view id;
    friend bool operator==(const NameView&, const NameView&) = default;
};

struct NameHash {
    std::size_t operator()(const NameView& name) const {
        const std::hash<std::string_view> hash;
        return hash(name.id) * 31 + hash(name.type);
    }
};

/// A text that belongs to an instance of the group.
struct TextOf {
    std::uint32_t owner = 0;
    std::string_view text;
    friend bool operator==(const TextOf&, const TextOf&) = default;
};

struct TextOfHash {
    std::size_t operator()(const TextOf& key) const {
        return std::hash<std::string_view>{}(key.text) * 31 + key.owner;
    }
};

/// An index of nothing.
inline constexpr std::uint32_t nowhere = ~std::uint32_t{0};

struct GroupInstance {
    NameView name;
    std::optional<Ref> type;  ///< absent: no instance of this type was ever written
    Ref ref = 0;              ///< 0: it does not exist
    Version version = 0;
    std::optional<Head> head;  ///< none: it is not known, and no Commit asks for it
    Version presumed = 0;      ///< the version that it has if the guards are right
    std::optional<Head> presumed_head;
    std::optional<Time> finished_at;
    std::string unique_key;
    std::string_view tenant;
    std::int32_t status = 0;  ///< 0: as before
    bool is_new = false;
    bool is_changed = false;
    bool needs_timers = false;              ///< all of them: a Commit finishes it
    std::vector<std::uint32_t> timers;      ///< in items_; those that the group may remove
    std::vector<std::uint32_t> new_timers;  ///< in new_items_
};

/// An item that was there before the group.
struct GroupItem {
    ItemId id = 0;
    Ref instance = 0;
    Ref line = 0;
    bool claimed = false;
    bool removed = false;
    bool gone = false;  ///< its row is
    Fence fence = 0;
    std::int64_t mail = 0;
    std::int64_t presumed_mail = 0;  ///< that it has if the guards are right
    std::uint32_t run = nowhere;     ///< in runs_, if mail may come to it
    std::int64_t attempts = 0;
    std::int64_t failures = 0;
    std::string key{};
    Ref presumed_instance = 0;              ///< that it belongs to; 0: any
    std::int64_t last_turn = 0;             ///< the last Commit of the group that settles it
    const Settlement* last_word = nullptr;  ///< of the group: retry, bury or suspend
};

struct NewItem {
    const Put* put = nullptr;
    const Commit* commit = nullptr;
    std::uint32_t instance = 0;
    std::int32_t index = 0;
    Ref line = 0;
    ItemId id = 0;
    Version sequence = 0;
    bool claimed = false;
    bool removed = false;
};

/// The run of an instance that the group sends mail to, ends or puts. It need not be there.
struct GroupRun {
    NameView of{};
    std::uint32_t item = nowhere;      ///< in items_
    std::uint32_t new_item = nowhere;  ///< in new_items_
    bool presumed = false;             ///< it is there, under a number that is not known
    std::int64_t mail = 0;  ///< that it gets from this group, since it last went to sleep
    bool urgent = false;
    std::vector<std::uint32_t> letters{};  ///< in new_mail_: all that the instance gets
};

struct NewMail {
    const InboxRow* row = nullptr;
    std::int64_t position = 0;
    Ref type = 0;
    bool removed = false;
};

struct GroupUniqueKey {
    Ref holder = 0;  ///< 0: free
    std::string holder_id;
    Ref holder_before = 0;
};

/// Parameters of the bulk statements, kept for their memory.
struct GroupRows {
    Rows dictionary;
    Rows keys;
    Rows more_keys;
    Rows found_items;  ///< of Presumed::OfInstances::lock
    Rows sessions;
    Rows new_instances;
    Rows changed_instances;
    Rows events;
    Rows new_items;
    Rows later_items;
    Rows removed_items;
    Rows retried_items;
    Rows suspended_items;
    Rows items_further;
    Rows buried_items;
    Rows timerless;  ///< instances whose timers go, whatever they are
    Rows runless;
    Rows mailed;
    Rows mailed_earlier;  ///< than the failure of their run in the same group
    Rows mailed_by_name;
    Rows failures;
    Rows removed_failures;
    Rows endings;
    Rows inputs;
    Rows snapshots;
    Rows freed_keys;
    Rows taken_keys;
    Rows taken_mail;
    Rows cleared_inboxes;
    Rows inbox;
    Rows messages;

    void clear() {
        dictionary.clear();
        for (Rows* rows : {&keys,
                           &more_keys,
                           &found_items,
                           &sessions,
                           &new_instances,
                           &changed_instances,
                           &events,
                           &new_items,
                           &later_items,
                           &removed_items,
                           &retried_items,
                           &suspended_items,
                           &items_further,
                           &buried_items,
                           &timerless,
                           &runless,
                           &mailed,
                           &mailed_earlier,
                           &mailed_by_name,
                           &failures,
                           &removed_failures,
                           &endings,
                           &inputs,
                           &snapshots,
                           &freed_keys,
                           &taken_keys,
                           &taken_mail,
                           &cleared_inboxes,
                           &inbox,
                           &messages})
            rows->clear();
    }
};

}  // namespace pawl::store::sql
