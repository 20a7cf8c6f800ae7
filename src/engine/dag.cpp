#include <fmt/format.h>

#include <algorithm>
#include <pawl/dag.hpp>
#include <pawl/error.hpp>

#include "base/text.hpp"

namespace pawl::inline v0 {
namespace detail {

std::size_t Graph::add(std::string_view name) {
    base::check_id("name of a task", std::string{name});
    for (const auto& node : nodes_)
        if (node.name == name)
            throw Error{Code::invalid,
                        fmt::format("a dag has two tasks \"{}\": give each its own name", name)};
    nodes_.push_back({std::string{name}, {}});
    return nodes_.size() - 1;
}

void Graph::follow(std::size_t before, std::size_t after) {
    nodes_[after].before.push_back(before);
}

std::vector<std::vector<std::size_t>> Graph::waves() const {
    if (nodes_.empty()) throw Error{Code::invalid, "a dag has no tasks: there is nothing to run"};
    std::vector<std::vector<std::size_t>> waves;
    std::vector<bool> done(nodes_.size());
    for (std::size_t left = nodes_.size(); left > 0; left -= waves.back().size()) {
        auto& wave = waves.emplace_back();
        for (std::size_t task = 0; task < nodes_.size(); ++task)
            if (!done[task] && std::ranges::all_of(nodes_[task].before, [&](std::size_t before) {
                    return done[before];
                }))
                wave.push_back(task);
        if (wave.empty())
            throw Error{Code::invalid, fmt::format("the tasks of a dag go round in a circle: {}",
                                                   circle_among(done))};
        for (const auto task : wave) done[task] = true;
    }
    return waves;
}

// Every task that is left has a predecessor that is left: going back, one of them comes again.
std::string Graph::circle_among(const std::vector<bool>& done) const {
    std::vector<std::size_t> path;
    auto task = static_cast<std::size_t>(std::ranges::find(done, false) - done.begin());
    while (std::ranges::count(path, task) == 0) {
        path.push_back(task);
        task = *std::ranges::find_if(nodes_[task].before,
                                     [&](std::size_t before) { return !done[before]; });
    }
    std::string text = nodes_[task].name;
    for (auto at = path.size(); at-- > 0;) {
        text += " >> " + nodes_[path[at]].name;
        if (path[at] == task) break;
    }
    return text;
}

}  // namespace detail

void DagTasks::join(const DagTasks& other) {
    if (other.graph_ != graph_)
        throw Error{Code::misuse,
                    "tasks of different dags stand in one order: a task can only "
                    "be before, after or beside tasks of its own dag"};
    tasks_.insert(tasks_.end(), other.tasks_.begin(), other.tasks_.end());
}

DagTasks DagTasks::beside(std::initializer_list<DagTasks> tasks) {
    DagTasks all{*tasks.begin()};
    for (auto at = tasks.begin() + 1; at != tasks.end(); ++at) all.join(*at);
    return all;
}

DagTasks operator>>(const DagTasks& before, const DagTasks& after) {
    DagTasks{before}.join(after);  // only to see that they are of one dag
    for (const auto first : before.tasks_)
        for (const auto then : after.tasks_) after.graph_->follow(first, then);
    return after;
}

}  // namespace pawl::inline v0
