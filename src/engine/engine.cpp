#include <fmt/format.h>

#include <pawl/engine.hpp>
#include <pawl/error.hpp>

#include "engine/check_options.hpp"
#include "engine/core.hpp"
#include "engine/impl.hpp"
#include "engine/open_store.hpp"

namespace pawl::inline v0 {

Engine::Engine(std::string_view url, Options options) : impl_(std::make_unique<Impl>()) {
    engine::check_options(options);
    auto store = engine::open_store(url, options);
    impl_->core = std::make_shared<engine::Core>(std::move(store), std::move(options));
}

Engine::~Engine() {
    if (impl_->core->is_foreign_process()) {
        // After a fork the threads are the parent's: there is nothing here that could be ended.
        impl_.release();
        return;
    }
    try {
        impl_->core->stop(impl_->core->options().stop_deadline);
    } catch (const std::exception& e) {
        impl_->core->log().say(
            {.level = LogLevel::error,
             .event = LogEvent::store_failed,
             .error = e.what(),
             .text = fmt::format("the engine could not stop in good order: {}", e.what())});
    }
}

void Engine::add_model(std::string name, std::unique_ptr<detail::Model> model,
                       WorkflowOptions options) {
    impl_->core->add(std::move(name), std::move(model), options);
}

void Engine::add_function(std::string name, std::unique_ptr<detail::FunctionModel> model,
                          FunctionOptions options) {
    impl_->core->add(std::move(name), std::move(model), options);
}

void Engine::start() { impl_->core->start(); }
bool Engine::stop(Duration deadline) { return impl_->core->stop(deadline); }
void Engine::run_until_idle() { impl_->core->run_until_idle(); }
Time Engine::now() { return impl_->core->store().now(); }

OutcomeRecord Engine::send_asked(Sending sending) {
    return impl_->core->send(
        {sending.type, sending.id, std::move(sending.input), std::move(sending.options)});
}

void Engine::send_asked(Sending sending, detail::Completion done) {
    impl_->core->send(
        {sending.type, sending.id, std::move(sending.input), std::move(sending.options)},
        std::move(done));
}

OutcomeRecord Engine::send(std::string_view type, std::string_view id, std::string_view input,
                           SendOptions options) {
    const auto& workflow = impl_->core->registry().get(type);
    std::unique_ptr<detail::Asked> asked;
    try {
        asked = workflow.model->input(
            input, options.lenient ? json::Strictness::unique : json::Strictness::exact);
    } catch (const Error& e) {
        throw Error{e.code(), fmt::format("input to workflow \"{}\", instance \"{}\": {}", type, id,
                                          e.what())};
    }
    return send_asked({type, id, std::move(asked), std::move(options)});
}

std::unique_ptr<detail::State> Engine::load_state(std::string_view type, std::string_view id,
                                                  std::int64_t at) {
    impl_->core->check_process();
    return impl_->core->instances().load_state(impl_->core->workflow(type), std::string{id}, at);
}

std::optional<std::string> Engine::state(std::string_view type, std::string_view id) {
    const auto state = load_state(type, id, 0);
    if (!state) return std::nullopt;
    auto text = impl_->core->workflow(type).model->snapshot(*state);
    if (!text)
        throw Error{Code::misuse,
                    fmt::format("the state of workflow \"{}\" can't travel as JSON", type)};
    return text;
}

}  // namespace pawl::inline v0
