#include "engine/inbox.hpp"

#include <map>
#include <mutex>
#include <pawl/error.hpp>
#include <pawl/step.hpp>
#include <vector>

#include "base/latch.hpp"
#include "base/waits.hpp"

namespace pawl::engine {
namespace {

/// The inputs of a batch, in a chain for each instance: one is applied when the one before it is.
/// Shared with those who are called back.
class Applying : public std::enable_shared_from_this<Applying> {
public:
    Applying(const detail::Arrivals& arrivals, const InboxSubscriber::Apply& apply)
        : all_(arrivals.all),
          is_held_(arrivals.is_held),
          apply_(apply),
          left_(all_.size()),
          fates_(all_.size()) {
        for (std::size_t at = 0; at < all_.size(); ++at)
            chains_[all_[at].received.id].at.push_back(at);
    }

    /// That of each, when all are over.
    std::vector<InboxSubscriber::Fate>& wait() {
        for (auto& [id, chain] : chains_) go_on(chain);
        over_.wait_for(base::for_ever);
        return fates_;
    }

private:
    struct Chain {
        std::vector<std::size_t> at;
        std::size_t next = 0;
        bool beginning = false;  ///< one is, on some thread
        bool again = false;      ///< it has ended already: that thread begins the next
    };

    // A loop and not a recursion where they end as soon as they begin.
    void go_on(Chain& chain) {
        for (;;) {
            std::size_t at = 0;
            {
                const std::lock_guard lock{mutex_};
                if (chain.next == chain.at.size()) return;
                if (chain.beginning) {
                    chain.again = true;
                    return;
                }
                chain.beginning = true;
                at = chain.at[chain.next];
            }
            begin(chain, at);
            const std::lock_guard lock{mutex_};
            chain.beginning = false;
            if (!std::exchange(chain.again, false)) return;
        }
    }

    void begin(Chain& chain, std::size_t at) {
        if (!is_held_()) return ended(chain, {.unbegun = true});
        try {
            auto posted = json::decode_enveloped<records::Posted>(all_[at].payload);
            if (posted.input_id.empty()) posted.input_id = all_[at].received.key;
            apply_(std::move(posted), all_[at].received,
                   [self = shared_from_this(), &chain](InboxSubscriber::Fate fate) {
                       self->ended(chain, std::move(fate));
                   });
        } catch (...) {
            ended(chain, {.error = std::current_exception()});
        }
    }

    void ended(Chain& chain, InboxSubscriber::Fate fate) {
        // Those behind one that failed wait for it; those behind one that was rejected, until the
        // store knows. If it came again, it would be decided on what they had made of the instance.
        const bool ends = fate.error || fate.unbegun || (fate.rejected && !fate.finished);
        {
            const std::lock_guard lock{mutex_};
            fates_[chain.at[chain.next++]] = std::move(fate);
            --left_;
            for (; ends && chain.next < chain.at.size(); ++chain.next) {
                fates_[chain.at[chain.next]].unbegun = true;
                --left_;
            }
            if (left_ == 0) over_.set();
        }
        if (!ends) go_on(chain);
    }

    const std::span<const detail::Arrived> all_;
    const std::function<bool()>& is_held_;  // while somebody waits, as `all_`
    const InboxSubscriber::Apply& apply_;
    std::mutex mutex_;
    std::size_t left_;
    std::vector<InboxSubscriber::Fate> fates_;
    std::map<std::string, Chain> chains_;
    base::Latch over_;
};

// An input that can't be read, or that no instance can ever take, is not tried again.
[[noreturn]] void rethrow(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        if (e.code() == Code::invalid || e.code() == Code::codec) throw Permanent{e.what()};
        throw;
    }
}

}  // namespace

// Inputs of different instances are on their way at a time. Where one fails, those before it are
// done; those behind it that were applied are applied again, and found to be.
void InboxSubscriber::handle(detail::Arrivals& arrivals) {
    const auto applying = std::make_shared<Applying>(arrivals, apply_);
    for (auto& fate : applying->wait()) {
        if (fate.error) rethrow(fate.error);
        if (fate.unbegun) return;
        if (fate.rejected)
            arrivals.buried.push_back(
                {.at = arrivals.taken, .reason = std::move(*fate.rejected), .rejected = true});
        arrivals.done = ++arrivals.taken;
    }
}

}  // namespace pawl::engine
