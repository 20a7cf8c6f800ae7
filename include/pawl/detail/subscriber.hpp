/// A user's handler of messages as the engine calls it: finds out what it takes, and decodes.
#pragma once

#include <functional>
#include <pawl/error.hpp>
#include <pawl/json.hpp>
#include <pawl/outbox.hpp>
#include <pawl/step.hpp>
#include <pawl/transaction.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pawl::inline v0 {

namespace detail {

/// A message in the hands of a handler.
struct Arrived {
    Received received{};
    std::string payload{};
};

/// What can't be read now can't be read later.
template <class T>
T decoded(std::string_view payload) {
    try {
        return json::decode<T>(payload);
    } catch (const Error& e) {
        throw Permanent{e.what()};
    }
}

/// A message that is never delivered again.
struct Buried {
    std::size_t at = 0;
    std::string reason{};
    bool rejected = false;  ///< an input that its instance took and refused
};

/// The messages that a handler of batches works through, and its word on them.
struct Arrivals {
    std::span<const Arrived> all{};
    std::size_t taken = 0;  ///< by `next`
    std::size_t done = 0;   ///< acknowledged or buried
    std::vector<Buried> buried{};
    std::function<bool()> is_held = [] { return true; };  ///< whether the partition is still ours
    bool granted = false;                                 ///< `remaining` has promised the next one

    bool may_take() { return taken < all.size() && (std::exchange(granted, false) || is_held()); }
};

}  // namespace detail

/// The next messages of a partition, for a handler that takes several at a time. When the handler
/// returns, all that `next` returned is acknowledged; when it throws, what it acknowledged by
/// itself. The acknowledgements of a call become durable together, after the call has ended.
template <class T>
class Batch {
public:
    explicit Batch(detail::Arrivals& arrivals) : arrivals_(&arrivals) {}

    /// The next message. Nothing when there are no more, or if this process may have lost the
    /// partition.
    std::optional<T> next() {
        if (!arrivals_->may_take()) return std::nullopt;
        return detail::decoded<T>(arrivals_->all[arrivals_->taken++].payload);
    }
    /// Up to `count` of them.
    std::vector<T> next(std::size_t count) {
        std::vector<T> chunk;
        while (chunk.size() < count) {
            auto one = next();
            if (!one) break;
            chunk.push_back(std::move(*one));
        }
        return chunk;
    }
    /// About the message that `next` returned last.
    const Received& received() const { return arrivals_->all[arrivals_->taken - 1].received; }
    /// Acknowledges every message that `next` has returned: they do not come again if this call
    /// throws later. If the process ends before the call does, all messages of the call come again.
    void ack() { arrivals_->done = arrivals_->taken; }
    /// Buries the message that `next` returned last, and acknowledges those before it. Holds as
    /// `ack` does.
    void bury(std::string reason) {
        arrivals_->buried.push_back({.at = arrivals_->taken - 1, .reason = std::move(reason)});
        ack();
    }
    /// Number of messages left. If it is not 0, the next `next` returns one.
    std::size_t remaining() const {
        arrivals_->granted = arrivals_->may_take();
        return arrivals_->granted ? arrivals_->all.size() - arrivals_->taken : 0;
    }
    std::size_t size() const { return arrivals_->all.size(); }

private:
    detail::Arrivals* arrivals_;
};

namespace detail {

class Subscriber {
public:
    virtual ~Subscriber() = default;
    enum class Form : std::uint8_t { message, batch, transaction };
    virtual Form form() const = 0;
    virtual void handle(const Arrived&) {}
    virtual void handle(Arrivals&) {}
    virtual void handle(Transaction&, const Arrived&) {}
};

/// The parameters of a handler.
template <class F>
struct HandlerSignature;
template <class R, class... A>
struct HandlerSignature<R(A...)> {
    template <std::size_t I>
    using At = std::tuple_element_t<I, std::tuple<A..., void, void>>;
    using First = At<0>;
    using Second = At<1>;
};
template <class R, class... A>
struct HandlerSignature<R(A...) noexcept> : HandlerSignature<R(A...)> {};
template <class F>
struct HandlerSignature<F*> : HandlerSignature<F> {};
template <class M>
struct HandlerMember;
template <class C, class R, class... A>
struct HandlerMember<R (C::*)(A...)> : HandlerSignature<R(A...)> {};
template <class C, class R, class... A>
struct HandlerMember<R (C::*)(A...) const> : HandlerSignature<R(A...)> {};
template <class C, class R, class... A>
struct HandlerMember<R (C::*)(A...) noexcept> : HandlerSignature<R(A...)> {};
template <class C, class R, class... A>
struct HandlerMember<R (C::*)(A...) const noexcept> : HandlerSignature<R(A...)> {};
template <class F>
    requires requires { &F::operator(); }
struct HandlerSignature<F> : HandlerMember<decltype(&F::operator())> {};

template <class T>
struct BatchOf {
    static constexpr bool is = false;
    using type = void;
};
template <class T>
struct BatchOf<Batch<T>> {
    static constexpr bool is = true;
    using type = T;
};

template <class F>
class TypedSubscriber final : public Subscriber {
    using First = std::remove_cvref_t<typename HandlerSignature<F>::First>;
    using Second = std::remove_cvref_t<typename HandlerSignature<F>::Second>;
    static constexpr bool in_transaction = std::is_same_v<First, Transaction>;
    static constexpr bool in_batch = BatchOf<First>::is;
    using T =
        std::conditional_t<in_transaction, Second,
                           std::conditional_t<in_batch, typename BatchOf<First>::type, First>>;
    static_assert(json::travels<T>,
                  "pawl: a handler of messages takes (const T&), (const T&, const "
                  "pawl::Delivery&), (pawl::Batch<T>&), (pawl::Transaction&, const T&) or "
                  "(pawl::Transaction&, const T&, const pawl::Delivery&), and T travels as JSON");

public:
    explicit TypedSubscriber(F handler) : handler_(std::move(handler)) {}

    Form form() const override {
        return in_transaction ? Form::transaction : in_batch ? Form::batch : Form::message;
    }
    void handle(const Arrived& arrived) override {
        if constexpr (!in_transaction && !in_batch) {
            if constexpr (std::is_invocable_v<F&, const T&, const Received&>)
                handler_(decoded<T>(arrived.payload), arrived.received);
            else
                handler_(decoded<T>(arrived.payload));
        }
    }
    void handle(Arrivals& arrivals) override {
        if constexpr (in_batch) {
            Batch<T> batch{arrivals};
            handler_(batch);
        }
    }
    void handle(Transaction& tx, const Arrived& arrived) override {
        if constexpr (in_transaction) {
            if constexpr (std::is_invocable_v<F&, Transaction&, const T&, const Received&>)
                handler_(tx, decoded<T>(arrived.payload), arrived.received);
            else
                handler_(tx, decoded<T>(arrived.payload));
        }
    }

private:
    F handler_;
};

}  // namespace detail
}  // namespace pawl::inline v0
