/// An input on its way to an instance, whoever sent it.
#pragma once

#include <memory>
#include <optional>
#include <pawl/outcome.hpp>
#include <string>

#include "engine/committer.hpp"
#include "engine/registry.hpp"

namespace pawl::engine {

struct CachedInstance;
class Instances;

/// The end of a request whose item was taken over by another claim: its word changes nothing.
struct FenceLost {};

/// Lives from the send to its outcome; decided again as often as races make it necessary.
class Request : public Job {
public:
    void settled(Owned self, store::Answer answer, std::vector<Owned>& later) final;
    void resume(Owned self) final;

    /// The end, called once: an outcome, or an error.
    virtual void finish(std::unique_ptr<Request> self, OutcomeRecord outcome,
                        std::exception_ptr error) = 0;
    /// Whether `finish` may be called on the committing thread: it is quick and no user's code.
    virtual bool finishes_quickly(bool failed) const = 0;
    /// True if whoever waits for this request goes on deciding for its instance.
    virtual bool hand_over(const std::shared_ptr<CachedInstance>&) { return false; }
    /// Whether it is decided again for ever: the result of an effect must not be lost to a race.
    virtual bool never_gives_up() const { return false; }

    const Registered* workflow = nullptr;
    std::string id;
    std::unique_ptr<detail::Asked> input;
    store::Envelope envelope;
    std::string input_id;
    Duration timeout{};
    /// The item that this input results from; acknowledged in the same Commit.
    std::optional<store::Settlement> settlement;

    Instances* instances = nullptr;
    std::shared_ptr<CachedInstance> instance;
    std::unique_ptr<Request> next;  ///< in a mailbox
    std::uint64_t number = 0;       ///< among those of its instance, in the order of sending
    int races = 0;

private:
    friend class Instances;
    OutcomeRecord outcome_;     ///< what it will be once the Commit is durable
    std::exception_ptr error_;  ///< or the error it will be
    bool speculative_ = false;  ///< decided on an instance that was taken for new
    store::Version decided_on_ = 0;
    store::Head head_decided_on_ = 0;
};

}  // namespace pawl::engine
