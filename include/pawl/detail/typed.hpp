/// A user's workflow as a Model: encodes and decodes, decides nothing.
#pragma once

#include <memory>
#include <pawl/detail/checks.hpp>
#include <pawl/detail/model.hpp>
#include <pawl/json.hpp>
#include <tuple>
#include <variant>

namespace pawl::inline v0::detail {

template <class V>
std::string tag_of(const V& variant) {
    return std::visit([]<class A>(const A&) { return std::string{reflect::tag<A>()}; }, variant);
}

template <class V>
Encoded encoded(const V& variant) {
    return {tag_of(variant), json::encode(variant)};
}

template <class W>
struct TypedState final : State {
    W value{};
};

template <class W>
bool is_finished(const W& w) {
    if constexpr (requires { w.finished(); })
        return w.finished();
    else
        return false;
}

template <class W>
Decision<W> decide_typed(const W& w, const typename W::Input& input, const Moment& moment) {
    return std::visit(
        [&]<class I>(const I& in) -> Decision<W> {
            if constexpr (DecidesAtMoment<W, I>)
                return w.decide(in, moment);
            else
                return w.decide(in);
        },
        input);
}

template <class W>
void evolve_typed(W& w, const typename W::Event& event) {
    std::visit([&](const auto& e) { w.evolve(e); }, event);
}

template <class W>
Draft draft_of(const Decision<W>& decision) {
    Draft draft;
    if (decision.rejected()) {
        draft.rejected = true;
        if constexpr (std::same_as<RejectionOf<W>, std::string>)
            draft.rejection = decision.rejection();
        else
            draft.rejection = json::encode(decision.rejection());
        return draft;
    }
    draft.events.reserve(decision.events().size());
    for (const auto& e : decision.events()) draft.events.push_back(encoded(e));
    for (const auto& e : decision.effects())
        if constexpr (requires { typename W::Effect; }) draft.effects.push_back(encoded(e));
    for (const auto& t : decision.timers())
        draft.timers.push_back({encoded(t.input), t.key, t.at, t.after});
    draft.cancels = decision.cancels();
    draft.messages = decision.messages();
    draft.listenings = decision.listenings();
    return draft;
}

template <class W>
class TypedAsked final : public Asked {
public:
    explicit TypedAsked(typename W::Input input) : input_(std::move(input)) {}

    std::string_view name() const override {
        return std::visit([]<class A>(const A&) { return reflect::tag<A>(); }, input_);
    }

    Draft decide(State& state, const Moment& moment, bool& touched) const override {
        W& w = static_cast<TypedState<W>&>(state).value;
        const Decision<W> decision = decide_typed(std::as_const(w), input_, moment);
        Draft draft = draft_of<W>(decision);  // before evolve: what can't travel changes nothing
        touched = !decision.rejected();
        for (const auto& e : decision.events()) evolve_typed(w, e);
        draft.finished = is_finished(w);
        return draft;
    }

    std::optional<std::string> unique_key() const override {
        return std::visit(
            []<class I>(const I& in) -> std::optional<std::string> {
                if constexpr (requires { W::unique_key(in); })
                    return W::unique_key(in);
                else
                    return std::nullopt;
            },
            input_);
    }

    std::optional<std::string> route() const override {
        return std::visit(
            []<class I>(const I& in) -> std::optional<std::string> {
                if constexpr (requires { W::route(in); })
                    return W::route(in);
                else
                    return std::nullopt;
            },
            input_);
    }

private:
    typename W::Input input_;
};

template <class W, class R>
inline constexpr bool is_optional_input = false;
template <class W, class I>
inline constexpr bool is_optional_input<W, std::optional<I>> =
    std::constructible_from<typename W::Input, I&&>;

/// What a handler returned, as an input for the instance; null for none.
template <class W, class R>
std::unique_ptr<Asked> asked_by(R&& result) {
    if constexpr (std::constructible_from<typename W::Input, R&&>) {
        return std::make_unique<TypedAsked<W>>(typename W::Input(std::forward<R>(result)));
    } else {
        static_assert(
            is_optional_input<W, std::remove_cvref_t<R>>,
            "pawl: a handler returns nothing, an input of its workflow, or an optional one");
        if (!result.has_value()) return nullptr;
        return std::make_unique<TypedAsked<W>>(typename W::Input(*std::forward<R>(result)));
    }
}

template <class W, class... H>
class TypedModel final : public Model {
public:
    using Effect = typename EffectChoice<W>::type;

    explicit TypedModel(std::tuple<H...> handlers) : handlers_(std::move(handlers)) {
        if constexpr (sizeof...(H) > 0) {
            static_assert(
                requires { typename W::Effect; },
                "pawl: handlers for a workflow that has no Effect");
            static_assert(CheckEffects<W, Effect, H...>::ok);
            add_performers(static_cast<Effect*>(nullptr));
        }
    }

    std::unique_ptr<State> fresh() const override { return std::make_unique<TypedState<W>>(); }

    void evolve(State& state, std::string_view, std::string_view bytes) const override {
        evolve_typed(static_cast<TypedState<W>&>(state).value,
                     json::decode<typename W::Event>(bytes));
    }

    bool finished(const State& state) const override {
        return is_finished(static_cast<const TypedState<W>&>(state).value);
    }

    std::unique_ptr<Asked> input(std::string_view bytes,
                                 json::Strictness strictness) const override {
        return std::make_unique<TypedAsked<W>>(json::decode<typename W::Input>(bytes, strictness));
    }

    std::vector<std::string> input_names() const override {
        return names_of(static_cast<typename W::Input*>(nullptr));
    }

    int version() const override {
        if constexpr (requires { int{W::version}; })
            return W::version;
        else
            return 1;
    }

    std::optional<std::string> snapshot(const State& state) const override {
        if constexpr (json::travels<W>)
            return json::encode(static_cast<const TypedState<W>&>(state).value);
        else
            return std::nullopt;
    }

    std::unique_ptr<State> restore(std::string_view bytes) const override {
        auto state = std::make_unique<TypedState<W>>();
        if constexpr (json::travels<W>) state->value = json::decode<W>(bytes);
        return state;
    }

    const std::vector<Performer>& performers() const override { return performers_; }

    std::unique_ptr<Asked> perform(std::string_view bytes,
                                   const Delivery& delivery) const override {
        if constexpr (sizeof...(H) == 0) {
            throw Error{Code::unknown, "this process has no handlers"};
        } else {
            auto effect = decoded_effect(bytes);
            return std::visit([&](auto& e) { return perform_one(std::move(e), delivery); }, effect);
        }
    }

    std::unique_ptr<Asked> failed(std::string_view name, std::string_view bytes,
                                  const std::string& reason, int attempts) const override {
        return failed_one(static_cast<Effect*>(nullptr), name, bytes, reason, attempts);
    }

private:
    // What can't be decoded today can't be decoded tomorrow.
    static Effect decoded_effect(std::string_view bytes) {
        try {
            return json::decode<Effect>(bytes);
        } catch (const Error& e) {
            throw Permanent{std::string{"the effect can't be decoded: "} + e.what()};
        }
    }

    template <class E>
    std::unique_ptr<Asked> perform_one(E effect, const Delivery& delivery) const {
        auto& handler = std::get<handler_index<E, H...>()>(handlers_);
        if constexpr (std::is_void_v<decltype(call(handler, std::move(effect), delivery))>) {
            call(handler, std::move(effect), delivery);
            return nullptr;
        } else {
            return asked_by<W>(call(handler, std::move(effect), delivery));
        }
    }

    template <class... A>
    static std::vector<std::string> names_of(std::variant<A...>*) {
        return {std::string{reflect::tag<A>()}...};
    }

    template <class... E>
    void add_performers(std::variant<E...>*) {
        (performers_.push_back({std::string{reflect::tag<E>()},
                                policy_of(std::get<handler_index<E, H...>()>(handlers_))}),
         ...);
    }

    template <class... E>
    static std::unique_ptr<Asked> failed_one(std::variant<E...>*, std::string_view name,
                                             std::string_view bytes, const std::string& reason,
                                             int attempts) {
        std::unique_ptr<Asked> asked;
        const auto take = [&]<class One>(One*) {
            if constexpr (std::constructible_from<typename W::Input, Failed<One>>)
                if (reflect::tag<One>() == name)
                    asked = std::make_unique<TypedAsked<W>>(typename W::Input{
                        Failed<One>{std::get<One>(json::decode<Effect>(bytes)), reason, attempts}});
        };
        (take(static_cast<E*>(nullptr)), ...);
        return asked;
    }

    mutable std::tuple<H...> handlers_;
    std::vector<Performer> performers_;
};

}  // namespace pawl::inline v0::detail
