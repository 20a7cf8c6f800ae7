/// The functions that perform a workflow's effects.
#pragma once

#include <pawl/policy.hpp>
#include <tuple>
#include <utility>

namespace pawl::inline v0 {

/// A handler with its own policy. Made by `with`.
template <class F>
struct WithPolicy {
    Policy policy{};
    F call;
};

/// Gives one handler its own policy: `pawl::with({.attempts = 3}, [](const Invoice& e) { ... })`.
template <class F>
WithPolicy<F> with(Policy policy, F call) {
    return {policy, std::move(call)};
}

/// Any callables, each for the effects it can be called with: `(const Effect&)` or
/// `(const Effect&, const pawl::Delivery&)`; the first that fits is taken. One returns nothing, an
/// input for the instance, or an optional input. Handlers run on many threads at once.
template <class... F>
class Handlers {
public:
    Handlers(F... handlers) : all_(std::move(handlers)...) {}  // NOLINT: one lambda is a set too
    std::tuple<F...> release() && { return std::move(all_); }

private:
    std::tuple<F...> all_;
};

}  // namespace pawl::inline v0
