/// The two ways in which the word on a held item reaches the store: alone, or with a result input.
#pragma once

#include "engine/dispatcher.hpp"

namespace pawl::engine {

/// The word alone.
class ItemWord final : public Job {
public:
    ItemWord(Dispatcher& dispatcher, std::shared_ptr<Held> held, store::Settlement word);
    void settled(Owned self, store::Answer answer, std::vector<Owned>& later) override;
    void resume(Owned self) override;

private:
    Dispatcher& dispatcher_;
    std::shared_ptr<Held> held_;
    store::Settlement word_;
    std::exception_ptr error_;
};

/// An input that an item results in, and the word on the item: one Commit.
class ItemRequest final : public Request {
public:
    ItemRequest(Dispatcher& dispatcher, std::shared_ptr<Held> held)
        : dispatcher_(dispatcher), held_(std::move(held)) {}
    void finish(std::unique_ptr<Request> self, OutcomeRecord outcome,
                std::exception_ptr error) override;
    bool finishes_quickly(bool failed) const override { return !failed; }
    bool never_gives_up() const override { return true; }

private:
    Dispatcher& dispatcher_;
    std::shared_ptr<Held> held_;
};

}  // namespace pawl::engine
