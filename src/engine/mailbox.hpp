/// The requests of one instance that wait for somebody to decide them.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/request.hpp"

namespace pawl::engine {

/// Requests in the order they came. Not thread-safe.
class Mailbox {
public:
    bool empty() const { return !first_; }
    /// True if one of those who wait for a request in here goes on deciding for the instance.
    bool hand_over(const std::shared_ptr<CachedInstance>& instance) const;
    void push(std::unique_ptr<Request> request);
    /// Where its number says. Usually that is the end.
    void insert(std::unique_ptr<Request> request);
    std::unique_ptr<Request> pop();

private:
    std::unique_ptr<Request> first_;
    Request* last_ = nullptr;
    std::size_t waited_for_ = 0;  ///< how many of them somebody waits for
};

}  // namespace pawl::engine
