// Airflow's first example as a dag of pawl's: a graph that is written down, not called. It runs as a
// durable function, so a task that is done is not done again, whatever ends the process in between.
#include <cstdio>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
using namespace std::chrono_literals;

struct Day { std::string date; int rows = 0; };

int main() {
    pawl::testing::Fixture world;
    int naps = 0;

    // [dag]
    pawl::Dag<Day> dag;
    auto print_date = dag.task("print_date", [](const Day& day) {
        std::printf("it is %s\n", day.date.c_str());
    });
    auto sleep = dag.task("sleep", {.attempts = 3, .base = 5s}, [&] {
        if (++naps == 1) throw std::runtime_error("too loud to sleep");
        std::printf("slept\n");
    });
    auto templated = dag.task("templated", [](const Day& day) {
        for (int row = 1; row <= day.rows; ++row)
            std::printf("row %d of %s\n", row, day.date.c_str());
    });
    auto done = dag.task("done", [] { std::printf("done\n"); });

    print_date >> pawl::all(sleep, templated) >> done;
    auto my_dag = world.engine().add("my_dag", dag);
    // [/dag]

    auto run = my_dag.start("2023-01-01", Day{"2023-01-01", 2});
    world.run_until_idle();
    std::printf("-- sleep failed once, and is tried again in some seconds\n");
    world.advance(10s);
    for (const auto& step : run.steps())
        std::printf("%s: %d attempt%s\n", step.name.c_str(), step.attempts,
                    step.attempts == 1 ? "" : "s");
}
