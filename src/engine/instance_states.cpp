// The states of instances: read from the store, one by one or ahead, and folded from their events.
#include <fmt/format.h>

#include <pawl/error.hpp>
#include <utility>

#include "engine/instances.hpp"

namespace pawl::engine {
namespace {

constexpr const char* not_standard = "something that is not a std::exception";

}  // namespace

void Instances::preload(const std::vector<std::pair<const Registered*, std::string>>& wanted) {
    std::vector<std::shared_ptr<CachedInstance>> missing;
    std::vector<store::LoadRequest> requests;
    const auto idle_without_state = [](const CachedInstance& instance) {
        return !instance.busy && instance.in_flight == 0 && !instance.state;
    };
    for (const auto& [workflow, id] : wanted) {
        auto instance = find(*workflow, id);
        const std::lock_guard lock{instance->mutex};
        if (!idle_without_state(*instance)) continue;
        requests.push_back(
            {.instance = {workflow->name, id}, .snapshot_version = workflow->model->version()});
        missing.push_back(std::move(instance));
    }
    if (missing.size() < 2) return;
    auto loaded = parts_.store.load(requests);
    for (std::size_t i = 0; i < missing.size(); ++i) {
        const std::lock_guard lock{missing[i]->mutex};
        if (idle_without_state(*missing[i])) missing[i]->preloaded = std::move(loaded[i]);
    }
}

// Whether another instance may have its name by now, and happen to be at the same version: it would
// have to be finished first, and removed.
bool Instances::may_be_replaced(CachedInstance& instance, Duration now) const {
    if (now - instance.decided_at < options_.believed_for) return false;
    const std::lock_guard lock{instance.mutex};
    return instance.in_flight == 1;  // the one that is decided now
}

void Instances::ensure_state(CachedInstance& instance, const Request& request) {
    const Duration now = parts_.clock.elapsed();
    if (instance.state && may_be_replaced(instance, now)) instance.forget();
    instance.decided_at = now;
    if (instance.state) return;
    const auto& workflow = *instance.workflow;
    auto preloaded = [&] {
        const std::lock_guard lock{instance.mutex};
        return std::exchange(instance.preloaded, std::nullopt);
    }();
    if (request.races > 0 || request.collateral) preloaded.reset();
    if (!preloaded && request.races == 0 && !request.collateral && workflow.guess.likely_new()) {
        instance.state = workflow.model->fresh();
        instance.speculative = true;
    } else {
        const store::LoadRequest wanted{.instance = {workflow.name, instance.id},
                                        .snapshot_version = workflow.model->version()};
        const auto loaded =
            preloaded ? std::move(*preloaded) : std::move(parts_.store.load({&wanted, 1}).front());
        loaded.row ? workflow.guess.was_known() : workflow.guess.was_new();
        return take_state(instance, loaded);
    }
    instance.has_timers = false;
    instance.chain = std::make_shared<Chain>();
}

void Instances::take_state(CachedInstance& instance, const store::Loaded& loaded) {
    const auto& workflow = *instance.workflow;
    instance.state = loaded.row ? state_of(workflow, instance.id, loaded) : workflow.model->fresh();
    instance.version = loaded.row ? loaded.row->version : 0;
    instance.head = loaded.row ? loaded.row->head : 0;
    instance.snapshot_at = loaded.snapshot ? loaded.snapshot->sequence : 0;
    instance.speculative = false;
    instance.has_timers = instance.version > 0;
    instance.chain = std::make_shared<Chain>();
}

std::unique_ptr<detail::State> Instances::state_of(const Registered& workflow,
                                                   const std::string& id,
                                                   const store::Loaded& loaded) {
    const auto& model = *workflow.model;
    auto sequence = loaded.snapshot ? loaded.snapshot->sequence : 0;
    const auto fail = [&](const std::string& name, const char* what) -> Error {
        return {Code::workflow, fmt::format("workflow \"{}\", instance \"{}\", sequence {}, {}: {}",
                                            workflow.name, id, sequence, name, what)};
    };
    std::string name = "snapshot";
    try {
        auto state =
            loaded.snapshot ? model.restore(loaded.snapshot->payload.bytes) : model.fresh();
        for (const auto& event : loaded.events) {
            ++sequence;
            name = event.name;
            if (event.kind == store::EventKind::user)
                model.evolve(*state, event.name, event.payload.bytes);
        }
        return state;
    } catch (const Error& e) {
        throw Error{e.code(), fail(name, e.what()).what()};
    } catch (const std::exception& e) {
        throw fail(name, e.what());
    } catch (...) {
        throw fail(name, not_standard);
    }
}

std::unique_ptr<detail::State> Instances::load_state(const Registered& workflow,
                                                     const std::string& id, store::Version at) {
    const store::LoadRequest wanted{.instance = {workflow.name, id},
                                    .snapshot_version = workflow.model->version(),
                                    .up_to = at};
    const auto loaded = std::move(parts_.store.load({&wanted, 1}).front());
    if (!loaded.row) return nullptr;
    return state_of(workflow, id, loaded);
}

}  // namespace pawl::engine
