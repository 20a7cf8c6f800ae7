#include "crash/ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <pawl/json.hpp>
#include <system_error>

namespace pawl::crash {
namespace {

constexpr const char* names[] = {"sent", "answered", "performed", "ends", "wrongs"};
constexpr char end_of_line = '\x1e';

template <class T>
std::vector<T> decoded(const std::vector<std::string>& lines) {
    std::vector<T> entries;
    entries.reserve(lines.size());
    for (const auto& line : lines) entries.push_back(json::decode<T>(line));
    return entries;
}

}  // namespace

Ledger::Ledger(std::filesystem::path directory) : directory_(std::move(directory)) {
    for (int i = 0; i < file_count; ++i) {
        const auto path = directory_ / names[i];
        files_[i] = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (files_[i] < 0) throw std::system_error{errno, std::generic_category(), path.string()};
    }
}

Ledger::~Ledger() {
    for (const int file : files_) ::close(file);
}

void Ledger::append(File file, const std::string& line) const {
    // A kill may leave a part of it, where it goes over the end of a page.
    const std::string whole = '\n' + line + end_of_line + '\n';
    if (::write(files_[file], whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
        throw std::system_error{errno, std::generic_category(), "ledger"};
}

std::vector<std::string> Ledger::lines(File file) const {
    std::ifstream in{directory_ / names[file]};
    std::vector<std::string> lines;
    // A line without an end is being written, or its writer was killed before it went on.
    for (std::string line; std::getline(in, line);)
        if (line.ends_with(end_of_line)) lines.push_back(line.substr(0, line.size() - 1));
    return lines;
}

void Ledger::note(const Sent& sent) const { append(sent_file, json::encode(sent)); }
void Ledger::note(const Answered& answered) const { append(answered_file, json::encode(answered)); }
void Ledger::note(const Performed& performed) const {
    append(performed_file, json::encode(performed));
}
void Ledger::note_end(const std::string& point) const { append(ends_file, point); }
void Ledger::note_wrong(const std::string& what) const { append(wrongs_file, what); }

std::vector<Sent> Ledger::sent() const { return decoded<Sent>(lines(sent_file)); }
std::vector<Answered> Ledger::answered() const { return decoded<Answered>(lines(answered_file)); }
std::vector<Performed> Ledger::performed() const {
    return decoded<Performed>(lines(performed_file));
}
std::vector<std::string> Ledger::ends() const { return lines(ends_file); }
std::vector<std::string> Ledger::wrongs() const { return lines(wrongs_file); }

}  // namespace pawl::crash
