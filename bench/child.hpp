/// Another process of a scenario, and a line to it.
#pragma once

#include <functional>

namespace pawl::bench {

/// Both ends of a line between two processes. An end that closes ends the benchmark.
class Line {
public:
    Line(int in, int out) : in_(in), out_(out) {}
    void say(double number) const;
    double hear() const;

private:
    int in_;
    int out_;
};

/// Runs `work(line)` in a process of its own, forked: start it before any engine.
class Child {
public:
    explicit Child(const std::function<void(const Line&)>& work);
    /// Waits for its end.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    const Line& line() const { return line_; }

private:
    Line line_{-1, -1};
    int process_ = 0;
};

}  // namespace pawl::bench
