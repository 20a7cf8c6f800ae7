#include "store/sql/postgres/bell.hpp"

#include <chrono>
#include <pawl/error.hpp>

#include "base/threads.hpp"
#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {
namespace {

constexpr std::chrono::milliseconds pause{10};
constexpr std::chrono::seconds pause_after_failure{1};

}  // namespace

std::string Bell::channel(const ConnectionOptions& options) { return "pawl_" + options.schema; }

Bell::Bell(ConnectionOptions options) : options_(std::move(options)) {}

Bell::~Bell() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Bell::ring() noexcept {
    try {
        const std::lock_guard lock{mutex_};
        rung_ = true;
        if (!thread_.joinable()) thread_ = base::start_thread("pawl-bell", [this] { run(); });
    } catch (...) {
        return;  // without a thread the others find the work when they look by themselves
    }
    changed_.notify_one();
}

bool Bell::is_own(int backend) const {
    const std::lock_guard lock{mutex_};
    return backend == backend_;
}

void Bell::run() {
    std::unique_lock lock{mutex_};
    while (true) {
        changed_.wait(lock, [&] { return rung_ || stopping_; });
        if (!rung_) return;
        rung_ = false;
        lock.unlock();
        bool sent = true;
        try {
            send();
        } catch (const std::exception&) {
            // A lost bell costs a poll. Whoever listens has lost the same server.
            connection_.reset();
            sent = false;
        }
        lock.lock();
        if (stopping_ && !rung_) return;
        changed_.wait_for(lock, sent ? std::chrono::milliseconds{pause} : pause_after_failure,
                          [&] { return stopping_; });
        if (stopping_ && !sent) return;
    }
}

void Bell::send() {
    if (!connection_ || connection_->is_lost()) {
        connection_ = std::make_unique<PostgresConnection>(options_);
        const std::lock_guard lock{mutex_};
        // Behind a pooler it changes with every call, and nobody listens.
        backend_ = connection_->backend();
    }
    const auto to = channel(options_);
    connection_->query(postgres::ring, {text(to)}, [](const Row&) {});
}

}  // namespace pawl::store::sql::postgres
