/// Sessions and claims: who works on what, and what becomes of it when they are gone.
#pragma once

#include <atomic>
#include <set>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "store/sql/claim_marks.hpp"
#include "store/sql/database.hpp"
#include "store/sql/interned.hpp"
#include "store/sql/stray_claims.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

/// Thread-safe as far as the database's leases are.
class Claiming {
public:
    Claiming(Database& database, Interned& interned, StrayClaims& strays, ClaimMarks& marks)
        : database_(database),
          sql_(database.statements()),
          interned_(interned),
          strays_(strays),
          marks_(marks) {}

    SessionId open_session(const SessionOptions& options);
    bool renew(SessionId session, Duration lease);
    std::size_t sessions();
    void close_session(SessionId session);
    /// Looks first, and asks for the turn to write only if there is something to take or to reap.
    Claimed claim(const ClaimRequest& request);
    void release(std::span<const std::pair<ItemId, Fence>> items);
    std::vector<std::pair<ItemId, Fence>> claims_of(SessionId session);

private:
    /// A line that has ever had an item, in the order of the interests.
    struct WantedLine {
        Ref line = 0;
        std::size_t limit = 0;
        Time from = Time::min();  ///< where a look at it begins: its mark, or the start
        bool has_mark() const { return from != Time::min(); }
    };
    using Lines = std::vector<WantedLine>;
    using Queue = std::set<std::pair<Time, ItemId>>;  // oldest due first, ties by id
    struct Sight {
        std::optional<Time> next_due;
        bool lost_ones_wait = false;
        bool something_to_do = false;
    };

    SessionId unrepeated(std::int64_t number);
    Sight look(Connection& connection, const ClaimRequest& request, Time now);
    Claimed take_what_is_due(Connection& writer, const ClaimRequest& request, bool again);
    static void check_session(Connection& connection, Statement find, SessionId session, Time now);
    Lines wanted_lines(Connection& connection, const ClaimRequest& request);
    void set_marks(Lines& lines, const ClaimRequest& request) const;
    void see_waiting(Connection& connection, const ClaimRequest& request, Lines lines, Time now,
                     Sight& sight);
    void reap_expired(Connection& connection, Time now);
    /// One whose lease was set when the clock showed a later time than now.
    struct Ahead {
        SessionId session = 0;
        Time until{};
        Duration lease{};
    };
    void mend(Connection& connection, Time now, const std::vector<Ahead>& ahead);
    void mend_if_clock_went_back(bool begins);
    std::vector<ItemId> choose(Connection& connection, const ClaimRequest& request, Lines lines,
                               Time now);
    /// Due items of each line, no more than are wanted of it.
    std::vector<Queue> find_ready(Connection& connection, const ClaimRequest& request,
                                  const Lines& lines, Time now);
    void note_marks(const Lines& lines, const std::vector<Queue>& queues, Duration took);
    std::vector<Item> take(Connection& connection, const Claim& claim,
                           const std::vector<ItemId>& items);
    std::vector<Item> read_items(Connection& connection, const std::vector<ItemId>& items);

    Database& database_;
    const Statements& sql_;
    Interned& interned_;
    StrayClaims& strays_;
    ClaimMarks& marks_;
    std::unique_ptr<base::Random> random_ = base::system_random();
    std::atomic<bool> is_more_{false};  ///< the last claim took all that it wanted
};

}  // namespace pawl::store::sql
