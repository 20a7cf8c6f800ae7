/// Move-only callables that run once, on any thread.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pawl::inline v0 {

/// Holds any callable that takes A..., also a move-only one. Calling it twice is a bug.
template <class... A>
class Once {
public:
    Once() = default;
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, Once> &&
                 std::is_invocable_v<std::remove_cvref_t<F>&, A...>)
    Once(F&& f)  // NOLINT: a callable is one
        : body_(std::make_unique<Holder<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

    void operator()(A... arguments) {
        const auto body = std::move(body_);
        body->run(std::forward<A>(arguments)...);
    }
    explicit operator bool() const { return body_ != nullptr; }

private:
    struct Callable {
        virtual ~Callable() = default;
        virtual void run(A... arguments) = 0;
    };
    template <class F>
    struct Holder final : Callable {
        explicit Holder(F&& f) : call(std::move(f)) {}
        explicit Holder(const F& f) : call(f) {}
        void run(A... arguments) override { call(std::forward<A>(arguments)...); }
        F call;
    };
    std::unique_ptr<Callable> body_;
};

/// A piece of work.
using Task = Once<>;

}  // namespace pawl::inline v0
