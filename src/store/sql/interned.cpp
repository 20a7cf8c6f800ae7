#include "store/sql/interned.hpp"

#include <fmt/format.h>

#include <mutex>
#include <pawl/error.hpp>

namespace pawl::store::sql {
namespace {

constexpr std::chrono::seconds oldest_comparison{1};

std::optional<Ref> look_up(Connection& connection, const Statements& sql, std::string_view name) {
    std::optional<Ref> ref;
    connection.query(sql.names.find, {text(name)}, [&](const Row& row) { ref = row.number(0); });
    return ref;
}

std::optional<Ref> look_up(Connection& connection, const Statements& sql, const LineView& line) {
    std::optional<Ref> ref;
    connection.query(sql.lines.find,
                     {static_cast<int>(line.kind), text(line.type), text(line.name)},
                     [&](const Row& row) { ref = row.number(0); });
    return ref;
}

std::string read_token(Connection& connection, const Statements& sql) {
    std::string token;
    connection.query(sql.dictionary.token, {}, [&](const Row& row) { token = row.view(0); });
    return token;
}

[[noreturn]] void fail_missing(const char* what, Ref ref) {
    throw Error{Code::corrupt, fmt::format("the store refers to {} {}, which is not there: the "
                                           "database is damaged, restore it from a backup",
                                           what, ref)};
}

}  // namespace

std::size_t Dictionary::LineHash::operator()(const LineView& line) const {
    const std::hash<std::string_view> hash;
    return hash(line.type) * 31 + hash(line.name) * 7 + static_cast<std::size_t>(line.kind);
}

std::optional<Ref> Dictionary::find(std::string_view name) const {
    const auto at = refs_.find(name);
    return at == refs_.end() ? std::nullopt : std::optional{at->second};
}

std::optional<Ref> Dictionary::find(const LineView& line) const {
    const auto at = line_refs_.find(line);
    return at == line_refs_.end() ? std::nullopt : std::optional{at->second};
}

const std::string* Dictionary::name(Ref ref) const {
    const auto at = names_.find(ref);
    return at == names_.end() ? nullptr : &at->second;
}

const Line* Dictionary::line(Ref ref) const {
    const auto at = lines_.find(ref);
    return at == lines_.end() ? nullptr : &at->second;
}

void Dictionary::add(Ref ref, std::string_view name) {
    const auto [at, added] = names_.try_emplace(ref, name);
    if (added) refs_.emplace(at->second, ref);
}

void Dictionary::add(Ref ref, const LineView& line) {
    const auto [at, added] = lines_.try_emplace(
        ref,
        Line{.kind = line.kind, .type = std::string{line.type}, .name = std::string{line.name}});
    if (added) line_refs_.emplace(LineView{line.kind, at->second.type, at->second.name}, ref);
}

void Dictionary::add(const Dictionary& other) {
    for (const auto& [ref, name] : other.names_) add(ref, name);
    for (const auto& [ref, line] : other.lines_)
        add(ref, LineView{line.kind, line.type, line.name});
}

std::string Interned::compare(Connection& connection) {
    auto token = read_token(connection, sql_);
    compared_at_ = Steady::now();
    {
        const std::shared_lock lock{mutex_};
        if (token == token_) return token;
    }
    const std::unique_lock lock{mutex_};
    if (token == token_) return token;
    token_ = token;
    all_.clear();
    ++generation_;
    return token;
}

void Interned::compare_sometimes(Connection& connection) {
    if (Steady::now() - compared_at_.load() > oldest_comparison) compare(connection);
}

std::string Interned::token() const {
    const std::shared_lock lock{mutex_};
    return token_;
}

template <class Word>
std::optional<Ref> Interned::known(const Word& word) const {
    const std::shared_lock lock{mutex_};
    return all_.find(word);
}

template <class Word>
std::optional<Ref> Interned::find(Connection& connection, const Word& word) {
    compare_sometimes(connection);
    if (const auto ref = known(word)) return ref;
    const auto ref = look_up(connection, sql_, word);
    if (ref) {
        Dictionary read;
        read.add(*ref, word);
        const auto token = compare(connection);
        add(read, token, token);
    }
    return ref;
}

template std::optional<Ref> Interned::find(Connection&, const std::string_view&);
template std::optional<Ref> Interned::find(Connection&, const LineView&);
template std::optional<Ref> Interned::known(const std::string_view&) const;
template std::optional<Ref> Interned::known(const LineView&) const;

void Interned::refresh(Connection& connection) {
    Dictionary all;
    connection.query(sql_.names.all, {},
                     [&](const Row& row) { all.add(row.number(0), row.view(1)); });
    connection.query(sql_.lines.all, {}, [&](const Row& row) {
        all.add(row.number(0),
                LineView{static_cast<ItemKind>(row.number(1)), row.view(2), row.view(3)});
    });
    const auto token = compare(connection);
    add(all, token, token);
}

std::string Interned::name(Connection& connection, Ref ref) {
    compare_sometimes(connection);
    for (const bool last_try : {false, true}) {
        {
            const std::shared_lock lock{mutex_};
            if (const auto* found = all_.name(ref)) return *found;
        }
        if (!last_try) refresh(connection);
    }
    fail_missing("name", ref);
}

Line Interned::line(Connection& connection, Ref ref) {
    compare_sometimes(connection);
    for (const bool last_try : {false, true}) {
        {
            const std::shared_lock lock{mutex_};
            if (const auto* found = all_.line(ref)) return *found;
        }
        if (!last_try) refresh(connection);
    }
    fail_missing("line", ref);
}

void Interned::add(const Dictionary& committed, const std::string& from, const std::string& to) {
    const std::unique_lock lock{mutex_};
    if (token_ != from) return;
    all_.add(committed);
    token_ = to;
}

void Words::begin(Connection& connection) {
    token_ = learned_ = interned_.compare(connection);
    generation_ = interned_.generation();
}

void Words::learn(Connection& connection) { learned_ = read_token(connection, sql_); }

void Words::renew(Connection& connection) {
    connection.run(sql_.dictionary.renew);
    learn(connection);
}

// In this order: if the dictionary changes between the two, the generation is the older one.
std::string_view Words::presume() {
    generation_ = interned_.generation();
    token_ = learned_ = interned_.token();
    return token_;
}

std::optional<Ref> Words::find(Connection& connection, std::string_view name) {
    if (const auto ref = interned_.known(name)) return ref;
    if (const auto ref = added_.find(name)) return ref;
    const auto ref = look_up(connection, sql_, name);
    if (ref) {
        added_.add(*ref, name);
        learn(connection);
    }
    return ref;
}

std::optional<Ref> Words::find(Connection& connection, const LineView& line) {
    if (const auto ref = interned_.known(line)) return ref;
    if (const auto ref = added_.find(line)) return ref;
    const auto ref = look_up(connection, sql_, line);
    if (ref) {
        added_.add(*ref, line);
        learn(connection);
    }
    return ref;
}

Ref Words::name(Connection& connection, std::string_view name) {
    if (const auto ref = find(connection, name)) return *ref;
    renew(connection);
    connection.run(sql_.names.add, {text(name)});
    const auto ref = find(connection, name);
    base::check(ref.has_value(), "a name that was added is there");
    return *ref;
}

Ref Words::line(Connection& connection, const LineView& line) {
    if (const auto ref = find(connection, line)) return *ref;
    name(connection, line.type);
    renew(connection);
    connection.run(sql_.lines.add, {static_cast<int>(line.kind), text(line.type), text(line.name)});
    const auto ref = find(connection, line);
    base::check(ref.has_value(), "a line that was added is there");
    return *ref;
}

void Words::keep() {
    if (added_.empty() && learned_ == token_) return;
    interned_.add(added_, token_, learned_);
    added_.clear();
}

}  // namespace pawl::store::sql
