#include "store/sql/postgres/notifier.hpp"

#include "store/sql/postgres/postgres_statements.hpp"

namespace pawl::store::sql::postgres {

std::string Notifier::channel(const ConnectionOptions& options) { return "pawl_" + options.schema; }

bool Notifier::is_own(int backend) const {
    const std::lock_guard lock{mutex_};
    return backend == backend_;
}

void Notifier::send() try {
    if (!connection_ || connection_->is_lost()) {
        connection_ = std::make_unique<PostgresConnection>(options_);
        const std::lock_guard lock{mutex_};
        // Behind a pooler it changes with every call, and nobody listens.
        backend_ = connection_->backend();
    }
    const auto to = channel(options_);
    connection_->query(postgres::ring, {text(to)}, [](const Row&) {});
} catch (...) {
    connection_.reset();
    throw;
}

}  // namespace pawl::store::sql::postgres
