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
        const auto key = text_of(name);
        if (const auto at = recent_.find(key); at != recent_.end()) return at->second;
        const auto at = older_.find(key);
        if (at == older_.end()) return 0;
        const Ref ref = at->second;
        keep(key, ref);
        return ref;
    }
    /// `plain`: it is not finished and holds no unique key.
    void set(const NameView& name, Ref ref, bool plain) {
        const std::lock_guard lock{mutex_};
        keep(text_of(name), plain ? ref : 0);
    }

private:
    static constexpr std::size_t most = 32 * 1024;  // and as many that are older

    static std::string text_of(const NameView& name) {
        std::string text;
        text.reserve(name.type.size() + name.id.size() + 1);
        return text.append(name.type).append(1, '\0').append(name.id);
    }
    void keep(const std::string& key, Ref ref) {
        recent_[key] = ref;
        if (recent_.size() < most) return;
        older_ = std::move(recent_);
        recent_.clear();
    }

    std::mutex mutex_;
    std::unordered_map<std::string, Ref> recent_;
    std::unordered_map<std::string, Ref> older_;
};

}  // namespace pawl::store::sql
