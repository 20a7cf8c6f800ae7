/// What was tried, answered and performed, kept outside the database in files that only grow.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pawl::crash {

/// An input, noted before it is sent.
struct Sent {
    std::string input_id;
    std::string type;
    std::string id;
    std::string input;  // JSON
};

/// The answer to it. One that a kill kept from being noted is asked for again by a resend.
struct Answered {
    std::string input_id;
    bool accepted = false;
    bool duplicate = false;
    std::string reason;
};

/// A call of a handler.
struct Performed {
    std::string key;
    int attempt = 0;
    std::string type;
    std::string id;
    std::string what;
};

/// Shared by all processes of a scene. Each entry is one write to a file that is opened to append,
/// so it stands there whole or not at all, and a SIGKILL after it changes nothing. Thread-safe.
class Ledger {
public:
    explicit Ledger(std::filesystem::path directory);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    void note(const Sent& sent) const;
    void note(const Answered& answered) const;
    void note(const Performed& performed) const;
    /// That this process ends itself at this point.
    void note_end(const std::string& point) const;
    /// Something that must never be.
    void note_wrong(const std::string& what) const;

    std::vector<Sent> sent() const;
    std::vector<Answered> answered() const;
    std::vector<Performed> performed() const;
    std::vector<std::string> ends() const;
    std::vector<std::string> wrongs() const;

private:
    enum File { sent_file, answered_file, performed_file, ends_file, wrongs_file, file_count };
    void append(File file, const std::string& line) const;
    std::vector<std::string> lines(File file) const;

    std::filesystem::path directory_;
    int files_[file_count] = {};
};

}  // namespace pawl::crash
