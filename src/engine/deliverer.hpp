/// Delivers the channels that this process subscribes to: owns partitions, numbers their messages,
/// has the handlers called, and gives the store the word on each.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pawl/clock.hpp>
#include <pawl/detail/subscriber.hpp>
#include <pawl/options.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "base/latch.hpp"
#include "base/loop.hpp"
#include "base/pool.hpp"
#include "base/random.hpp"
#include "base/waits.hpp"
#include "engine/exclusive_turn.hpp"
#include "engine/outgoing.hpp"
#include "engine/session.hpp"
#include "store/store.hpp"

namespace pawl::engine {

/// Thread-safe; `step` is called by one thread at a time.
class Deliverer {
public:
    struct Parts {
        store::Store& store;
        base::Log& log;
        base::Pool& workers;
        base::Random& random;
        Session& session;
        ExclusiveTurn& turn;
        const Clock& clock;
    };
    struct Options {
        int losses = 0;
        Duration lease{};
        Duration transaction_limit{0};
        std::size_t payload_limit = 0;
        std::function<Uuid()> fresh_id;
        std::function<void(Task)> executor;
        std::function<std::shared_ptr<void>()> keep_alive;
    };
    Deliverer(Parts parts, Options options)
        : parts_(std::move(parts)), options_(std::move(options)) {}

    /// Before anything is delivered. `optional`: nobody declares the channel; it is delivered once
    /// it is there.
    void add(std::string channel, std::unique_ptr<detail::Subscriber> subscriber,
             SubscribeOptions options, bool optional = false);
    bool empty() const { return channels_.empty(); }
    bool has(std::string_view channel) const;
    void on_wanted(std::function<void()> wanted) { wanted_ = std::move(wanted); }

    /// Makes sure that the channels are there.
    void declare();
    /// From now on `step` delivers. `gathers`: it waits for more where the options say so.
    void begin_work(bool gathers);
    /// Returns when it wants to be called again.
    base::Pause step();
    /// Something may have been published.
    void heard();
    /// This process has published these: perhaps to a channel that was not there before.
    void published(std::span<const store::Message> messages);
    /// So has somebody who does not say what.
    void published_by_others();
    /// Whether the last `step` had something to do.
    bool progressed() const { return progressed_; }

    /// The lease was not kept: handlers that run under it are asked to stop.
    void stop_lost();
    /// From now on nothing new is delivered.
    void begin_stop();
    /// False at the deadline: then handlers are asked to stop.
    bool wait_until_empty(Duration deadline);
    /// Gives the partitions back.
    void end_work() noexcept;

private:
    /// By the clock's `elapsed`, as everything here that is not due by the store's time.
    static constexpr Duration long_ago = -base::for_ever;
    struct Now {
        Time due;  ///< the store's: messages are due by it
        Duration at;
    };
    struct Channel {
        std::string name;
        std::unique_ptr<detail::Subscriber> subscriber;
        SubscribeOptions options;
        bool optional = false;
        bool is_there = false;
        Duration looked_at = long_ago;
        Duration moved_at = long_ago;       ///< when the store was last told of it
        bool told = true;                   ///< something may be there
        std::optional<store::Fence> fence;  ///< of what is being taken
    };
    /// How a handler has ended.
    struct Ended {
        std::size_t done = 0;                  ///< messages, from the first on
        std::vector<detail::Buried> buried{};  ///< of those
        bool failed = false;                   ///< at the one behind them
        bool permanent = false;
        bool is_committed = false;  ///< the store knows of those that are done
        bool isolate = false;       ///< which of them failed is not known: one at a time
        bool in_doubt = false;      ///< whether they are done only the store knows
        bool unbegun = false;       ///< it was stopped or lost before: no attempt
        std::string error{};
    };
    struct Held {
        store::Partition partition;
        Channel* channel = nullptr;
        store::SessionId session = 0;
        std::atomic<std::uint64_t> lapses{0};  ///< of the session, when it was last confirmed
        store::Fence fence = 0;
        std::int64_t sequence = 0;
        std::deque<store::Message> batch;
        std::int32_t attempts = 0;  ///< begun at the first of the batch
        std::int32_t losses = 0;    ///< of those: ended with their process
        std::int32_t losses_alone = 0;
        bool has_new_loss = false;  ///< the store does not know of it yet
        /// The first may be begun beside others although it was lost: it came back since, or this
        /// process did not become idle.
        bool beside = false;
        std::size_t one_by_one = 0;    ///< so many of the first, because one of them may be poison
        std::optional<Time> retry_at;  ///< as others see it
        std::optional<Duration> retries_at;  ///< the same
        std::optional<std::string> error;
        bool stopped = false;
        bool may_have_more = true;
        std::optional<Time> next_due;
        Duration ripened_at = long_ago;
        std::size_t fetch = 1;   ///< messages to ask for at a time
        std::size_t window = 1;  ///< messages that a handler gets at a time
        bool running = false;
        std::atomic<bool> lost{false};  ///< read without the lock before every message
        bool gives_up = false;          ///< it is given back, and taken anew or by others
        bool leaves = false;           ///< it goes to another process when its handler has returned
        std::shared_ptr<Held> before;  ///< lost, and its handler may still run
        Duration deadline = Duration::max();
        bool asked_to_stop = false;  ///< because its deadline has passed
        std::stop_source stop;
        std::optional<Ended> ended;

        bool is_busy() const { return running || (before && before->is_busy()); }
        bool is_ready() const { return !lost && !gives_up && !is_busy(); }
    };
    using HeldPtr = std::shared_ptr<Held>;

    Now now() const { return {parts_.store.now(), parts_.clock.elapsed()}; }
    void refresh_ownership(Duration now);
    void lose(const std::function<bool(const Held&)>& which);
    /// Whether it is certainly ours: nothing is begun otherwise.
    bool is_ours(const Held& held) const {
        return !held.lost && parts_.session.holds(held.session) &&
               held.lapses == parts_.session.lapses();
    }
    /// `lapses`: of the session, before the store was asked.
    void take(Channel& channel, const store::Ownership& got, std::uint64_t lapses);
    void give_surplus_back(Channel& channel, std::size_t share);
    void look_for_messages(Now now);
    struct Moves {
        std::vector<HeldPtr> held;
        std::vector<store::Advance> advances;
    };
    /// Nothing new is begun there.
    bool rests(const Held& held) const {
        return stopping_ || held.leaves || !begins_ || alone_ != Alone::no;
    }
    bool may_begin(const HeldPtr& held) const {
        if (held == sole_) return !stopping_ && !held->leaves && !held->running;
        return !rests(*held) && !wants_alone(*held);
    }
    bool wants_alone(const Held& held) const;
    void end_long_alone(Duration now);
    void arrange_alone(Duration now);
    void end_alone();
    Moves next_moves(Now now);
    std::optional<store::Advance> next_move(const HeldPtr& held, Now now);
    void begin_next(const HeldPtr& held, store::Advance& advance, Now now);
    void conclude(Held& held, store::Advance& advance, Now now);
    void fail(Held& held, store::Advance& advance, const Ended& ended, Now now);
    void apply(const HeldPtr& held, const store::Advance& advance, store::Advanced answer);
    void launch(const HeldPtr& held, std::vector<detail::Arrived> slice);
    void conclude_run(const HeldPtr& held, Ended ended);
    Ended call(Held& held, std::vector<detail::Arrived>& slice);
    Ended call_in_transaction(Held& held, const std::vector<detail::Arrived>& slice);
    /// Of those from `from` on.
    static std::vector<std::int64_t> positions(const std::deque<store::Message>& batch,
                                               std::size_t from);
    static void note_fetch(Held& held, const store::Advance& advance);
    std::vector<detail::Arrived> arrivals(Held& held, Now now);
    void set_wake(Duration at) {
        const std::lock_guard lock{mutex_};
        wakes_at_ = at;
    }
    base::Pause next_pause(Now now);
    Duration gather(const Channel& channel) const {
        return gathers_ && !stopping_ ? channel.options.gather : Duration::zero();
    }
    Duration next_look(const Channel& channel) const {
        return channel.looked_at + (channel.told ? gather(channel) : channel.options.poll);
    }
    Duration next_move(const Channel& channel) const { return channel.moved_at + gather(channel); }
    void give_up_some();
    std::vector<std::int32_t> busy_ones(const Channel& channel);
    void tell_losses(const std::vector<HeldPtr>& all);
    void give_back(const std::vector<HeldPtr>& all);
    static LogRecord record_of(LogLevel level, LogEvent event, const Held& held);
    static LogRecord record_of(LogLevel level, LogEvent event, const Held& held,
                               const store::Message& message);
    void log_failed(const Held& held, const store::Advance& advance, const store::Message& message,
                    int failures, Duration wait);
    /// With the lock held: whoever hears of it later may publish.
    void log_later(LogRecord record) { said_.push_back(std::move(record)); }
    void log_now();

    Parts parts_;
    const Options options_;
    std::function<void()> wanted_;
    std::vector<std::unique_ptr<Channel>> channels_;

    std::mutex mutex_;
    std::map<store::Partition, HeldPtr> held_;
    store::SessionId session_ = 0;
    std::uint64_t lapses_ = 0;  ///< of the session, when all partitions were last confirmed
    /// Given up in doubt: when they may be delivered again.
    std::map<store::Partition, Duration> doubtful_;
    Duration own_at_ = long_ago;
    std::size_t running_ = 0;
    Duration wakes_at_ = Duration::max();  ///< when `step` is called without being asked
    bool stopping_ = true;
    bool gathers_ = true;
    bool progressed_ = false;
    bool begins_ = true;  ///< in this step: items do not have the turn
    enum class Alone : std::uint8_t { no, draining, running } alone_ = Alone::no;
    HeldPtr sole_;  ///< the one that is delivered alone
    Duration alone_since_{};
    Duration alone_again_at_ = long_ago;
    base::Latch emptied_;
    std::vector<LogRecord> said_;  ///< not logged yet
};

}  // namespace pawl::engine
