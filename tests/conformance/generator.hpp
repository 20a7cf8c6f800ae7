/// Random operations on a store, the same ones for the same seed.
#pragma once

#include <functional>
#include <memory>
#include <pawl/clock.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "conformance/describe.hpp"

namespace pawl::store::conformance {

/// One call, said in the words of `Subject`, so that every store can be asked the same.
struct Operation {
    std::string text;
    std::function<std::string(Subject& subject)> run;  ///< returns the answer
};

/// Looks into a reference store for what would be worth asking next: the versions, fences and
/// sessions that are right at this moment, and now and then wrong ones.
class Generator {
public:
    Generator(std::uint64_t seed, Store& reference, ManualClock& clock);

    Operation next();

private:
    struct Planned;

    std::size_t below(std::size_t bound);
    bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[below(from.size())];
    }

    InstanceName instance();
    Uuid id();
    Line line();
    Duration some_time();
    DeadLetterFilter dead_letter_filter();

    Planned plan_commit(std::vector<InstanceName>& finished);
    void plan_writes(Append& append);
    void plan_puts(Append& append);
    void plan_what_is_known(Append& append);
    void plan_run(Planned& planned);
    void plan_mail(Planned& planned);
    void plan_settlements(Planned& planned);

    Operation commit();
    Operation claim();
    Operation session();
    Operation release();
    Operation dead_letters();
    Operation read();
    Operation page();
    Operation vacuum();
    Operation wait();

    std::unique_ptr<base::Random> random_;
    Store& reference_;
    ManualClock& clock_;
    std::size_t operations_ = 0;
    std::size_t sessions_ = 0;
    bool calm_ = false;  ///< what is planned is what a process that nobody disturbs would do
    Fence last_fence_ = 0;
    std::set<InstanceName> planned_runs_;              ///< the same
    std::set<InstanceName> planned_timers_;            ///< the same: those that get some
    std::map<std::string, Version> planned_versions_;  ///< within the group that is being planned
    std::map<std::string, Head> planned_heads_;        ///< the same
};

}  // namespace pawl::store::conformance
