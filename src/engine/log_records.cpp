#include "engine/log_records.hpp"

#include <fmt/format.h>

namespace pawl::engine {

LogRecord record_of(LogLevel level, LogEvent event, const store::Item& item) {
    const bool is_run = item.line.kind == store::ItemKind::run;
    return {.level = level,
            .event = event,
            .type = item.instance.type,
            .id = item.instance.id,
            .item = is_run ? std::string{} : item.line.name,
            .attempt = item.attempts,
            .trace = item.envelope.trace};
}

std::string shown(const store::Item& item) {
    const auto& [type, id] = item.instance;
    if (item.line.kind == store::ItemKind::run)
        return fmt::format("run \"{}\" of \"{}\"", id, type);
    return fmt::format("{} \"{}\" of \"{}\" \"{}\"",
                       item.line.kind == store::ItemKind::effect ? "effect" : "timer",
                       item.line.name, type, id);
}

std::string shown_pause(Duration pause) {
    using std::chrono::duration_cast;
    const auto milliseconds = duration_cast<std::chrono::milliseconds>(pause).count();
    constexpr int short_pause = 10'000;
    return milliseconds < short_pause ? fmt::format("in {} ms", milliseconds)
                                      : fmt::format("in {} s", milliseconds / 1000);
}

}  // namespace pawl::engine
