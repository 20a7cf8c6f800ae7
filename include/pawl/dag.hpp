/// A static graph of tasks, `a >> all(b, c) >> d`, that runs as a durable function.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <pawl/context.hpp>
#include <pawl/export.hpp>
#include <pawl/json.hpp>
#include <pawl/step.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::inline v0 {

namespace detail {

/// Which task comes after which. Tasks are numbered in the order in which they were added.
class PAWL_API Graph {
public:
    /// Throws Error (invalid) if there is a task of this name.
    std::size_t add(std::string_view name);
    void follow(std::size_t before, std::size_t after);
    /// Tasks that can run at the same time, in order: each as early as its predecessors allow.
    /// Throws Error (invalid) if there is no task, or if they go round in a circle.
    std::vector<std::vector<std::size_t>> waves() const;

private:
    struct Node {
        std::string name{};
        std::vector<std::size_t> before{};
    };
    std::string circle_among(const std::vector<bool>& done) const;
    std::vector<Node> nodes_;
};

}  // namespace detail

template <class In>
class Dag;

/// One task of a dag, or several that stand beside each other. Cheap to copy; valid while its dag
/// lives.
class PAWL_API DagTasks {
public:
    /// Everything on the right begins when everything on the left has succeeded. Returns the right
    /// side. Throws Error (misuse) if they are of different dags.
    friend PAWL_API DagTasks operator>>(const DagTasks& before, const DagTasks& after);

    /// What `pawl::all` does; at least one.
    static DagTasks beside(std::initializer_list<DagTasks> tasks);

private:
    template <class In>
    friend class Dag;
    DagTasks(detail::Graph& graph, std::size_t task) : graph_(&graph), tasks_{task} {}
    void join(const DagTasks& other);

    detail::Graph* graph_;
    std::vector<std::size_t> tasks_;
};

/// These beside each other. Throws Error (misuse) if they are of different dags.
template <std::same_as<DagTasks>... T>
    requires(sizeof...(T) > 0)
DagTasks all(const T&... tasks) {
    return DagTasks::beside({tasks...});
}

/// Tasks and their order. Each task is a step of the run. They run in waves: all whose predecessors
/// are done at the same time, and the next when the whole wave has ended. A task that fails for
/// good fails the run when its wave has ended. Not thread-safe.
///
/// A dag has no name of its own and can be changed until it is added; the engine takes a copy.
template <class In = std::monostate>
class Dag {
public:
    /// A body takes nothing, the run's input, a `const pawl::Attempt&`, or both in this order. What
    /// it returns is recorded, for `Run::steps`. Throws Error (invalid) if the name is taken.
    template <class F>
    DagTasks task(std::string_view name, F body) {
        return task(name, StepOptions{}, std::move(body));
    }
    template <class F>
    DagTasks task(std::string_view name, StepOptions options, F body) {
        detail::check_options(name, options);
        const auto number = graph_->add(name);
        // Shared, because a std::function is copied and a body need not be.
        auto held = std::make_shared<F>(std::move(body));
        tasks_.push_back({std::string{name}, options, [held](const In& in, const Attempt& attempt) {
                              return json::Raw{encoded(*held, in, attempt)};
                          }});
        return DagTasks{*graph_, number};
    }

    /// The durable function that it is, for `testing::replay`; `Engine::add` takes the dag itself.
    /// Throws Error (invalid) if it has no tasks, or if they go round in a circle.
    auto function() const {
        return [tasks = tasks_, waves = graph_->waves()](Context& ctx, const In& in) {
            for (const auto& wave : waves) {
                std::vector<Later<json::Raw>> together;
                for (const auto number : wave) {
                    const auto& task = tasks[number];
                    together.push_back(
                        ctx.later(task.name, task.options,
                                  [&](const Attempt& attempt) { return task.body(in, attempt); }));
                }
                ctx.all(std::move(together));
            }
        };
    }

private:
    struct Task {
        std::string name{};
        StepOptions options{};
        std::function<json::Raw(const In&, const Attempt&)> body{};
    };

    template <class F>
    static decltype(auto) called(F& body, const In& in, const Attempt& attempt) {
        if constexpr (std::is_invocable_v<F&, const In&, const Attempt&>)
            return body(in, attempt);
        else if constexpr (std::is_invocable_v<F&, const In&>)
            return body(in);
        else if constexpr (std::is_invocable_v<F&, const Attempt&>)
            return body(attempt);
        else {
            static_assert(std::is_invocable_v<F&>,
                          "pawl: a task of a dag takes nothing, the dag's input, a "
                          "const pawl::Attempt&, or both in this order");
            return body();
        }
    }
    template <class F>
    static std::string encoded(F& body, const In& in, const Attempt& attempt) {
        using R = decltype(called(body, in, attempt));
        if constexpr (std::is_void_v<R>) {
            called(body, in, attempt);
            return "null";
        } else {
            return json::encode<std::remove_cvref_t<R>>(called(body, in, attempt));
        }
    }

    std::unique_ptr<detail::Graph> graph_ = std::make_unique<detail::Graph>();
    std::vector<Task> tasks_;
};

}  // namespace pawl::inline v0
