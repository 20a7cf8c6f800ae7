#include "json/path.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace pawl::inline v0::json {
namespace {

constexpr std::size_t longest_excerpt = 40;

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
}

// One object or array that is still open.
struct Level {
    bool is_object = false;
    std::size_t index = 0;
    std::string_view key;  // as it stands in the text, with its escapes
};

std::size_t end_of_text(std::string_view json, std::size_t quote) {
    for (std::size_t i = quote + 1; i < json.size(); ++i) {
        if (json[i] == '\\')
            ++i;
        else if (json[i] == '"')
            return i;
    }
    return json.size();
}

}  // namespace

void append_key(std::string& path, std::string_view key) {
    if (!key.empty() && std::all_of(key.begin(), key.end(), is_plain)) {
        path += '.';
        path += key;
        return;
    }
    path += '[';
    path += quoted_excerpt(key);
    path += ']';
}

void append_index(std::string& path, std::size_t index) {
    path += '[';
    path += std::to_string(index);
    path += ']';
}

std::string path_after(std::string_view unfinished) {
    std::vector<Level> open;
    for (std::size_t i = 0; i < unfinished.size(); ++i) {
        switch (unfinished[i]) {
            case '{':
            case '[':
                open.push_back({.is_object = unfinished[i] == '{', .index = 0, .key = {}});
                break;
            case '}':
            case ']':
                if (!open.empty()) open.pop_back();
                break;
            case ',':
                if (!open.empty()) ++open.back().index;
                break;
            case '"': {
                const auto end = end_of_text(unfinished, i);
                if (!open.empty() && end + 1 < unfinished.size() && unfinished[end + 1] == ':')
                    open.back().key = unfinished.substr(i + 1, end - i - 1);
                i = end;
                break;
            }
            default:
                break;
        }
    }
    std::string path = "$";
    for (const auto& level : open) {
        if (level.is_object)
            append_key(path, level.key);
        else
            append_index(path, level.index);
    }
    return path;
}

std::string quoted_excerpt(std::string_view text) {
    const bool whole = text.size() <= longest_excerpt;
    if (!whole) text = text.substr(0, longest_excerpt);
    std::string out = "\"";
    for (const char c : text) {
        // Control characters would break the line of a log.
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            out += '?';
        else
            out += c;
    }
    while (out.size() > 1 && !base::is_utf8(out)) out.pop_back();
    out += whole ? "\"" : "...\"";
    return out;
}

}  // namespace pawl::inline v0::json
