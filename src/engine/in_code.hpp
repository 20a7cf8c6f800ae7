/// Which code of a durable function this thread is in the middle of.
#pragma once

#include <string_view>

namespace pawl::engine {

class RunSurroundings;

/// For as long as it lives, this thread executes a run of this engine.
class InCode {
public:
    InCode(const RunSurroundings* engine, std::string_view run, std::string_view step);
    ~InCode();
    InCode(const InCode&) = delete;
    InCode& operator=(const InCode&) = delete;

    /// Of this thread and this engine; null where there is none.
    static const InCode* here(const RunSurroundings* engine);
    std::string_view run() const { return run_; }
    /// Empty in the function itself.
    std::string_view step() const { return step_; }

private:
    const RunSurroundings* engine_;
    std::string_view run_;
    std::string_view step_;
    const InCode* outer_;
};

}  // namespace pawl::engine
