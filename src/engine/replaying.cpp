#include "engine/replaying.hpp"

#include <fmt/format.h>

#include <map>
#include <pawl/clock.hpp>
#include <pawl/context.hpp>
#include <pawl/detail/replay.hpp>
#include <pawl/error.hpp>

#include "base/pool.hpp"
#include "base/random.hpp"
#include "engine/run_execution.hpp"
#include "store/memory/memory_store.hpp"

namespace pawl::engine {
namespace {

/// What a line holds.
struct ExportedEntry {
    std::string type;
    std::string id;
    std::int64_t sequence = 0;
    Time at{};
    std::string name;
    json::Raw payload{"null"};
};

/// Nothing outside of the journal is touched: an execution for replay never gets this far.
class NoSurroundings final : public RunSurroundings {
public:
    bool start_children(const store::Item&, const store::Settlement&,
                        std::vector<NewChild>) override {
        return true;
    }
    bool cancel_child(const store::Settlement&, const store::InstanceName&,
                      const std::string&) override {
        return true;
    }
    void journal_has_grown(const store::InstanceName&) override {}
    bool run_beside(Task) override { return false; }
    void published(std::span<const store::Message>) override {}
    bool is_stopping(bool) const override { return false; }
};

struct Recorded {
    store::Item item;
    RunJournal journal;
    Time last{};
};

std::vector<Recorded> read(std::string_view lines) {
    std::vector<Recorded> runs;
    std::map<std::pair<std::string, std::string>, std::size_t> at;
    int number = 0;
    while (!lines.empty()) {
        ++number;
        const auto end = lines.find('\n');
        const auto line = lines.substr(0, end);
        lines = end == lines.npos ? std::string_view{} : lines.substr(end + 1);
        if (line.find_first_not_of(" \t\r") == line.npos) continue;
        try {
            auto entry = json::decode_enveloped<ExportedEntry>(line);
            const auto [found, added] = at.try_emplace({entry.type, entry.id}, runs.size());
            if (added) runs.emplace_back().item.instance = {entry.type, entry.id};
            auto& run = runs[found->second];
            store::Event event;
            event.name = std::move(entry.name);
            event.kind = store::EventKind::engine;
            event.payload.bytes = std::move(entry.payload.text);
            run.journal.fold(event);
            run.last = std::max(run.last, entry.at);
        } catch (const Error& e) {
            throw Error{Code::codec, fmt::format("line {} of the journal: {}", number, e.what())};
        }
    }
    return runs;
}

std::string replayed(detail::FunctionModel& model, Recorded run) {
    ManualClock clock{run.last};
    const auto store = store::open_memory(clock);
    const auto random = base::seeded_random(1);
    base::Pool pool{"replay"};
    CommitterLanes lanes{*store, pool, {.queue = 1}};
    StopTimers stops{*store, clock};
    NoSurroundings surroundings;
    const std::string input = run.journal.started().input.text;
    base::Log log{{}, clock};
    base::Slot slot{nullptr};
    RunWriter writer{{.store = *store,
                      .log = log,
                      .slot = slot,
                      .lanes = lanes,
                      .random = *random,
                      .clock = clock,
                      .at_point = {},
                      .payload_limit = std::numeric_limits<std::size_t>::max(),
                      .journal_limit = std::numeric_limits<std::int64_t>::max(),
                      .is_held = [] { return false; }},
                     run.item,
                     std::move(run.journal),
                     {.status = static_cast<std::int32_t>(RunStatus::running)}};
    RunExecution execution{{.store = *store,
                            .log = log,
                            .random = *random,
                            .stops = stops,
                            .surroundings = surroundings,
                            .is_held = [] { return false; },
                            .at_point = {},
                            .stop = {},
                            .replay_only = true},
                           writer,
                           run.item};
    Context context{execution};
    try {
        (void)model.run(context, input);
        if (execution.flow() == RunExecution::Flow::running) execution.check_end();
    } catch (const Unwinding&) {
    } catch (...) {
        // It may fail as it did when it was recorded, or after the end of what was.
        try {
            if (execution.flow() == RunExecution::Flow::running) execution.check_end();
        } catch (const Unwinding&) {
        }
    }
    return execution.mismatch();
}

}  // namespace

std::string exported(const store::StoredEvent& entry) {
    return json::encode_enveloped(ExportedEntry{.type = entry.instance.type,
                                                .id = entry.instance.id,
                                                .sequence = entry.sequence,
                                                .at = entry.at,
                                                .name = entry.event.name,
                                                .payload = {entry.event.payload.bytes}});
}

}  // namespace pawl::engine

namespace pawl::inline v0::detail {

Replayed replay(FunctionModel& model, std::string_view lines) {
    Replayed out;
    for (auto& run : engine::read(lines)) {
        ++out.runs;
        if (auto mismatch = engine::replayed(model, std::move(run)); !mismatch.empty())
            out.mismatches.push_back(std::move(mismatch));
    }
    return out;
}

}  // namespace pawl::inline v0::detail
