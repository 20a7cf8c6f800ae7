/// Numbers of instances that this process has met, so that a group need not ask for them.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "store/sql/group_state.hpp"

namespace pawl::store::sql {

/// Keeps those that were met last, within two bounds of memory. What it says may be out of date:
/// whoever believes it has the database check it. Thread-safe.
class InstanceRefs {
public:
    /// 0 where it is not known, or where more than the number would have to be known.
    Ref find(const NameView& name) {
        const std::lock_guard lock{mutex_};
        if (const auto at = recent_.find(name); at != recent_.end()) return at->second;
        const auto at = older_.find(name);
        if (at == older_.end()) return 0;
        const Ref ref = at->second;
        keep(name, ref);
        return ref;
    }
    /// `plain`: it is not finished and holds no unique key.
    void set(const NameView& name, Ref ref, bool plain) {
        const std::lock_guard lock{mutex_};
        if (plain) return keep(name, ref);
        for (auto* part : {&recent_, &older_})
            if (const auto at = part->find(name); at != part->end()) part->erase(at);
    }

private:
    static constexpr std::size_t most = 32 * 1024;  // and as many that are older

    static NameView view(const InstanceName& name) { return {name.type, name.id}; }
    // Those that are looked up need not be copied.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const NameView& name) const { return NameHash{}(name); }
        std::size_t operator()(const InstanceName& name) const { return NameHash{}(view(name)); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const InstanceName& a, const InstanceName& b) const { return a == b; }
        bool operator()(const NameView& a, const InstanceName& b) const { return a == view(b); }
        bool operator()(const InstanceName& a, const NameView& b) const { return view(a) == b; }
    };
    using Refs = std::unordered_map<InstanceName, Ref, Hash, Equal>;

    void keep(const NameView& name, Ref ref) {
        if (const auto at = recent_.find(name); at != recent_.end()) {
            at->second = ref;
            return;
        }
        recent_.emplace(InstanceName{std::string{name.type}, std::string{name.id}}, ref);
        if (recent_.size() < most) return;
        older_ = std::move(recent_);
        recent_.clear();
    }

    std::mutex mutex_;
    Refs recent_;
    Refs older_;
};

}  // namespace pawl::store::sql
