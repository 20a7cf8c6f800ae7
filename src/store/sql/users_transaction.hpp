/// A transaction of the user's own SQL that pawl commits with a Commit of its own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "store/sql/committing.hpp"
#include "store/sql/delivering.hpp"
#include "store/sql/open_transactions.hpp"
#include "store/sql/reading.hpp"
#include "store/store.hpp"

namespace pawl::store::sql {

class UsersTransaction final : public UserTransaction {
public:
    struct Parts {
        Database& database;
        Committing& committing;
        OpenTransactions& open;
        Delivering& delivering;
        Interned& interned;
        Reading& reading;
    };
    UsersTransaction(Parts parts, Duration limit);
    ~UsersTransaction();
    UsersTransaction(const UsersTransaction&) = delete;
    UsersTransaction& operator=(const UsersTransaction&) = delete;

    detail::SqlResult run(std::string_view sql,
                          const std::vector<detail::SqlValue>& values) override;
    bool is_first(const detail::OnceKey& once, Duration window) override;
    Answer commit(const Commit& commit, const Advance* advance) override;
    bool may_be_repeated() const override { return may_be_repeated_; }
    /// Nobody else changes the instance until this is over.
    Loaded hold(const LoadRequest& request);

private:
    struct Held {
        Database::Lease lease;
    };
    /// Throws what has failed before, or if the time is over.
    void check_usable();
    /// Inside a handler: remembers that nothing can be committed any more, and throws.
    [[noreturn]] void give_up(const Error& error);
    template <class E>
    [[noreturn]] void fail(E error);
    Answer apply(const Commit& commit, const Advance* advance);
    void end() noexcept;

    Parts parts_;
    const Duration limit_;
    const std::thread::id thread_ = std::this_thread::get_id();
    Words words_;
    std::unique_ptr<Held> held_;  ///< none when it is over
    std::chrono::steady_clock::time_point deadline_;
    std::exception_ptr failure_;
    bool may_be_repeated_ = false;
    bool is_committing_ = false;
};

}  // namespace pawl::store::sql
