/// A user's function as a FunctionModel: finds its input and its result, encodes and decodes.
#pragma once

#include <pawl/context.hpp>
#include <pawl/detail/execution.hpp>
#include <pawl/json.hpp>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

/// The parameters of a callable: `R (Context&)` or `R (Context&, Input)`.
template <class F>
struct Signature;
template <class R, class C>
struct Signature<R(C)> {
    using Input = std::monostate;
    using Output = R;
    using First = C;
};
template <class R, class C, class I>
struct Signature<R(C, I)> {
    using Input = std::remove_cvref_t<I>;
    using Output = R;
    using First = C;
};
template <class R, class... A>
struct Signature<R(A...) noexcept> : Signature<R(A...)> {
    static_assert(sizeof...(A) == 0 && sizeof...(A) != 0,
                  "pawl: a durable function is suspended by unwinding, so it can't be noexcept");
};
template <class F>
struct Signature<F*> : Signature<F> {};

template <class M>
struct MemberSignature;
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...)> : Signature<R(A...)> {};
template <class C, class R, class... A>
struct MemberSignature<R (C::*)(A...) const> : Signature<R(A...)> {};

template <class F>
    requires requires { &F::operator(); }
struct Signature<F> : MemberSignature<decltype(&F::operator())> {};

/// Whether it can be a durable function: anything that takes a Context& first.
template <class F>
concept DurableFunction = requires {
    typename Signature<std::remove_cvref_t<F>>::First;
} && std::is_same_v<typename Signature<std::remove_cvref_t<F>>::First, Context&>;

template <class F>
class TypedFunction final : public FunctionModel {
public:
    using In = typename Signature<F>::Input;
    using Out = typename Signature<F>::Output;
    static_assert(json::travels<In>, "pawl: the input of a durable function can't travel as JSON");
    static_assert(std::is_void_v<Out> || json::travels<detail::Value<Out>>,
                  "pawl: the result of a durable function can't travel as JSON");

    explicit TypedFunction(F function) : function_(std::move(function)) {}

    std::string run(Context& context, std::string_view input) override {
        if constexpr (std::is_void_v<Out>) {
            called(context, input);
            return "null";
        } else {
            return json::encode<std::remove_cvref_t<Out>>(called(context, input));
        }
    }

private:
    decltype(auto) called(Context& context, std::string_view input) {
        if constexpr (std::is_invocable_v<F&, Context&>)
            return function_(context);
        else
            return function_(context, json::decode<In>(input));
    }
    F function_;
};

}  // namespace pawl::inline v0::detail
