/// Applies the inputs that wait in the inbox of one type.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <pawl/detail/subscriber.hpp>
#include <string>

#include "engine/inbox_records.hpp"

namespace pawl::engine {

/// A handler of batches. Each input has an id, so what is applied again changes nothing.
class InboxSubscriber final : public detail::Subscriber {
public:
    /// What came of one: nothing, if it was applied.
    struct Fate {
        std::exception_ptr error{};             ///< it is tried again, or buried
        std::optional<std::string> rejected{};  ///< it was refused for this reason
        bool finished = false;                  ///< because nothing is accepted there any more
        bool unbegun = false;                   ///< it comes again
    };
    /// Called from any thread.
    using Applied = std::function<void(Fate)>;
    /// Begins to apply one. Throws if it can't be.
    using Apply = std::function<void(records::Posted posted, const Received& received, Applied)>;
    explicit InboxSubscriber(Apply apply) : apply_(std::move(apply)) {}

    Form form() const override { return Form::batch; }
    void handle(detail::Arrivals& arrivals) override;

private:
    Apply apply_;
};

}  // namespace pawl::engine
