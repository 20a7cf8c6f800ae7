/// Routing by tags: a workflow of pawl's own, with an instance for each tag that was ever used.
/// What listens to the tag and what is routed to it pass through its inbox, so neither overtakes
/// the other.
#pragma once

#include <memory>
#include <pawl/decision.hpp>
#include <pawl/detail/model.hpp>
#include <pawl/json.hpp>
#include <string>
#include <vector>

namespace pawl::engine {

inline constexpr const char* router_type = "pawl.router";

/// A tag belongs to a workflow type.
struct Address {
    std::string type;
    std::string tag;
};

/// An input for whoever listens, with what was said of it. Part of the wire format.
struct Routed {
    std::string input_id;  ///< empty: that of the message it becomes
    std::string correlation;
    std::string conversation;
    std::string tenant;
    std::string trace;
    json::Raw input;
};

/// Its names and fields are on the wire: in the inbox, the journal and snapshots.
struct Router {
    struct Listen {
        static constexpr auto tag = "pawl.listen";
        Address address;
        std::string instance;
    };
    struct Unlisten {
        static constexpr auto tag = "pawl.unlisten";
        std::string instance;
    };
    struct Route {
        static constexpr auto tag = "pawl.route";
        Address address;
        Routed routed;
    };
    using Input = std::variant<Listen, Unlisten, Route>;

    /// What waited is its from here on.
    struct Listens {
        static constexpr auto tag = "pawl.listens";
        std::string instance;
    };
    struct ListensNoMore {
        static constexpr auto tag = "pawl.listens_no_more";
        std::string instance;
    };
    /// To all that listened.
    struct HandedOver {
        static constexpr auto tag = "pawl.handed_over";
        int instances = 0;
    };
    /// Because nobody listened.
    struct Waits {
        static constexpr auto tag = "pawl.waits";
        Routed routed;
    };
    using Event = std::variant<Listens, ListensNoMore, HandedOver, Waits>;

    using Decision = pawl::Decision<Router>;

    /// Of one tag.
    static constexpr std::size_t most_listeners = 1'000;
    static constexpr std::size_t most_waiting = 1'000;
    /// Of the inputs that wait, in bytes; one alone may be larger.
    static constexpr std::size_t most_waiting_bytes = 1024 * 1024;

    std::vector<std::string> listeners;
    std::vector<Routed> waiting;

    void evolve(const Listens& e);
    void evolve(const ListensNoMore& e);
    void evolve(const HandedOver&) {}
    void evolve(const Waits& e) { waiting.push_back(e.routed); }

    Decision decide(const Listen& in) const;
    Decision decide(const Unlisten& in) const { return ListensNoMore{in.instance}; }
    Decision decide(const Route& in) const;

private:
    bool listens(const std::string& instance) const;
    bool has_room_for(const Routed& routed) const;
};

std::unique_ptr<detail::Model> router_model();

/// An input that has a tag, for the router of the tag. Throws Error (invalid) if it can't be one.
detail::OutgoingInput to_router(detail::OutgoingInput input);
/// That an instance listens to a tag, or no longer.
detail::OutgoingInput to_router(const Address& address, const std::string& instance, bool listens);

}  // namespace pawl::engine
