/// What the processes of an outbox scene have in common: their messages, tables and files.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <pawl/pawl.hpp>
#include <random>
#include <string>
#include <system_error>
#include <variant>

namespace pawl::crash {

inline constexpr const char* channel = "notes";
inline constexpr int partitions = 5;
inline constexpr int poison_attempts = 3;
inline constexpr Duration notes_lease = std::chrono::seconds{1};

/// The numbers of a key are published in their order; some are missing.
struct Note {
    std::string key;
    int number = 0;
};

inline Options notes_options() {
    Options options;
    options.lease = notes_lease;
    options.workers = 4;
    return options;
}

inline SubscribeOptions subscription() {
    return {.partitions = partitions,
            .batch = 8,
            .policy = {.attempts = std::numeric_limits<int>::max(),
                       .base = std::chrono::milliseconds{5},
                       .cap = std::chrono::milliseconds{50}}};
}

/// Keeps what it was told, by whom.
struct Tally {
    struct Count {
        std::string by;
        int number = 0;
    };
    struct Listen {
        std::string tag;
    };
    using Input = std::variant<Count, Listen>;
    struct Counted {
        std::string by;
        int number = 0;
    };
    struct Listened {};
    using Event = std::variant<Counted, Listened>;

    std::int64_t total = 0;

    void evolve(const Counted& e) { total += e.number; }
    void evolve(const Listened&) {}
    Decision<Tally> decide(const Count& in) const { return Counted{in.by, in.number}; }
    Decision<Tally> decide(const Listen& in) const {
        return Decision<Tally>{Listened{}}.listen(in.tag);
    }
};

/// One write to a file that only grows: it stands there whole or not at all, and in order.
inline void append(const std::string& directory, const std::string& file, const std::string& line) {
    const auto path = directory + '/' + file;
    const int opened = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const auto whole = line + '\n';
    const auto written = ::write(opened, whole.data(), whole.size());
    const int error = errno;
    ::close(opened);
    if (written != static_cast<ssize_t>(whole.size()))
        throw std::system_error{error, std::generic_category(), path};
}

inline std::string line_of(const std::string& worker, const Note& note, const Received& received) {
    return fmt::format("{} {} {} {} {} {}", worker, received.partition, received.sequence, note.key,
                       note.number, received.message.text());
}

}  // namespace pawl::crash
