#include "engine/inbox.hpp"

#include <mutex>
#include <pawl/error.hpp>
#include <vector>

#include "base/latch.hpp"
#include "base/waits.hpp"

namespace pawl::engine {
namespace {

/// Shared with those who are called back.
struct Batch {
    std::mutex mutex;
    std::size_t left = 0;
    std::vector<std::exception_ptr> errors;
    base::Latch over;

    void applied(std::size_t at, std::exception_ptr error) {
        const std::lock_guard lock{mutex};
        errors[at] = std::move(error);
        if (--left == 0) over.set();
    }
};

// An input that can't be read, or that no instance can ever take, is not tried again.
void rethrow(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        if (e.code() == Code::invalid || e.code() == Code::codec) throw Permanent{e.what()};
        throw;
    }
}

}  // namespace

// All of them are on their way at a time, in their order. Where one fails, those before it are
// done; those behind it are applied again, and found to be.
void InboxSubscriber::handle(detail::Arrivals& arrivals) {
    const auto batch = std::make_shared<Batch>();
    batch->left = arrivals.all.size();
    batch->errors.resize(arrivals.all.size());
    for (std::size_t at = 0; at < arrivals.all.size(); ++at) {
        const auto& arrived = arrivals.all[at];
        try {
            auto posted = json::decode<records::Posted>(arrived.payload);
            if (posted.input_id.empty()) posted.input_id = arrived.received.key;
            apply_(std::move(posted), arrived.received,
                   [batch, at](std::exception_ptr error) { batch->applied(at, std::move(error)); });
        } catch (...) {
            batch->applied(at, std::current_exception());
        }
    }
    batch->over.wait_for(base::for_ever);
    for (arrivals.taken = 0; arrivals.taken < arrivals.all.size(); ++arrivals.taken) {
        arrivals.done = arrivals.taken;
        if (batch->errors[arrivals.taken]) rethrow(batch->errors[arrivals.taken]);
    }
    arrivals.done = arrivals.taken;
}

}  // namespace pawl::engine
