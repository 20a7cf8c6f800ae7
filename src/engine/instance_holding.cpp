// A request that loses every race: while it reads the instance and decides, somebody who has all of
// it in memory has written again. So it takes the instance first, then reads, decides and commits.
#include <pawl/error.hpp>
#include <utility>

#include "engine/instances.hpp"

namespace pawl::engine {
namespace {

// Everybody else's inputs to the instance wait as long.
constexpr Duration longest_hold = std::chrono::seconds{10};

}  // namespace

// False: it can't be held, and the request is as it was.
bool Instances::decide_held(CachedInstance& instance, std::unique_ptr<Request>& request) {
    const store::LoadRequest wanted{.instance = {instance.workflow->name, instance.id},
                                    .snapshot_version = instance.workflow->model->version()};
    auto held = parts_.store.hold(wanted, longest_hold);
    if (!held) return false;
    auto answer = commit_held(instance, *request, *std::move(held));
    request->collateral = false;
    if (answer.fate != store::Fate::committed) instance.forget();
    std::vector<Job::Owned> later;
    conclude(std::move(request), std::move(answer), later);
    resume_later(parts_.callbacks, std::move(later));
    return true;
}

store::Answer Instances::commit_held(CachedInstance& instance, Request& request, store::Held held) {
    take_state(instance, held.instance);
    plan(instance, request);
    // Were the connection lost now, nobody would know that the items are this process's.
    cancel_born(request);
    try {
        return held.transaction->commit(request.commit);
    } catch (const Error&) {
        // Others were in the way, or the connection was: one more race that was lost.
        if (!held.transaction->may_be_repeated()) throw;
        return {.fate = store::Fate::stale};
    }
}

}  // namespace pawl::engine
