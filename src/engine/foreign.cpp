// Transactions of the user's own clients, as an Engine offers them.
#include "store/foreign.hpp"

#include <fmt/format.h>

#include <pawl/engine.hpp>
#include <pawl/error.hpp>

#include "engine/impl.hpp"
#include "engine/outgoing.hpp"

namespace pawl::inline v0 {

struct JoinedTransaction::Impl {
    Impl(Engine& of, const store::ForeignHandle& handle) : engine(of), core(of.impl_->core) {
        use();
        transaction = core->store().outbox().join(handle);
    }

    // Before the first message makes a channel: a subscription says how many partitions it has.
    void use() {
        try {
            core->use();
        } catch (const Error& error) {
            if (error.code() != Code::busy) throw;
            throw Error{Code::busy,
                        fmt::format("join: the channels that this engine subscribes to can't be "
                                    "made while your transaction writes: start the engine before "
                                    "it begins: {}",
                                    error.what())};
        }
    }

    Engine& engine;
    std::shared_ptr<engine::Core> core;
    std::unique_ptr<store::ForeignTransaction> transaction;

    void write(const engine::OutgoingBuffer& outgoing) {
        core->check_process();
        transaction->publish(outgoing.messages());
    }
};

JoinedTransaction::JoinedTransaction(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JoinedTransaction::JoinedTransaction(JoinedTransaction&&) noexcept = default;
JoinedTransaction::~JoinedTransaction() = default;

std::vector<Uuid> JoinedTransaction::publish_all(std::vector<detail::OutgoingMessage> messages) {
    auto outgoing = impl_->core->outgoing();
    std::vector<Uuid> ids;
    for (auto& message : messages) ids.push_back(outgoing.publish(std::move(message)));
    impl_->write(outgoing);
    return ids;
}

void JoinedTransaction::post(detail::OutgoingInput input) {
    auto outgoing = impl_->core->outgoing();
    outgoing.post(std::move(input));
    impl_->write(outgoing);
}

Wake JoinedTransaction::wake() const { return Wake{impl_->engine}; }

void Wake::operator()() const noexcept {
    if (!engine_ || engine_->impl_->core->is_foreign_process()) return;
    engine_->impl_->core->published_by_others();
    engine_->impl_->core->store().outbox().announce();
}

JoinedTransaction Engine::join(sqlite3* connection) {
    return JoinedTransaction{std::make_unique<JoinedTransaction::Impl>(*this, connection)};
}
JoinedTransaction Engine::join(pg_conn* connection) {
    return JoinedTransaction{std::make_unique<JoinedTransaction::Impl>(*this, connection)};
}
JoinedTransaction Engine::join(st_mysql* connection) {
    return JoinedTransaction{std::make_unique<JoinedTransaction::Impl>(*this, connection)};
}

namespace {

SqlText spelled(engine::Core& core, const engine::OutgoingBuffer& outgoing, Marks marks,
                const Wake& wake) {
    core.use();
    const store::Message& message = outgoing.messages().front();
    auto statement = core.store().outbox().spell(message, marks);
    return {.sql = std::move(statement.sql),
            .parameters = std::move(statement.parameters),
            .message = message.id,
            .wake = wake};
}

}  // namespace

SqlText Engine::sql_of(detail::OutgoingMessage message, Marks marks) {
    auto outgoing = impl_->core->outgoing();
    outgoing.publish(std::move(message));
    return spelled(*impl_->core, outgoing, marks, Wake{*this});
}

SqlText Engine::sql_of(detail::OutgoingInput input, Marks marks) {
    auto outgoing = impl_->core->outgoing();
    outgoing.post(std::move(input));
    return spelled(*impl_->core, outgoing, marks, Wake{*this});
}

}  // namespace pawl::inline v0
