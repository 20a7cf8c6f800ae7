/// Work that may have ended a process is done while nothing else of its process runs: whose turn
/// that is, that of items or that of messages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

namespace pawl::engine {

/// Thread-safe.
class ExclusiveTurn {
public:
    enum class Part : std::uint8_t { items, messages };

    /// Before anything is counted. `wake` is called when a part may go on, or has become idle while
    /// the other one waits for that.
    void on_change(std::function<void()> wake) { wake_ = std::move(wake); }

    /// Counts one piece of work of this part. False while the other part has the turn: nothing is
    /// begun then.
    bool enter(Part part);
    /// Counts one more, which a caller begins that has entered.
    void add(Part part);
    void leave(Part part);

    /// From now on the other part begins nothing. False if that one has the turn.
    bool take(Part part);
    /// Does nothing if this part does not have the turn.
    void give_back(Part part);
    /// Whether nothing of the other part runs.
    bool is_other_idle(Part part) const;

private:
    static std::size_t index(Part part) { return static_cast<std::size_t>(part); }
    static std::size_t other(Part part) { return 1 - index(part); }

    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::array<std::size_t, 2> running_{};
    std::optional<Part> taken_by_;
};

/// Enters for a scope.
class Entry {
public:
    Entry(ExclusiveTurn& turn, ExclusiveTurn::Part part)
        : turn_(turn), part_(part), entered_(turn.enter(part)) {}
    ~Entry() {
        if (entered_) turn_.leave(part_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    explicit operator bool() const { return entered_; }

private:
    ExclusiveTurn& turn_;
    ExclusiveTurn::Part part_;
    bool entered_;
};

}  // namespace pawl::engine
