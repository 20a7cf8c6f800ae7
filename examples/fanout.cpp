// Fan-out: a batch of files, each imported by a child run of its own, so many at a time. Whoever asks
// sees how far it is, and a batch that is interrupted imports no file twice.
#include <cstdio>
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>
using namespace std::chrono_literals;

struct Batch { std::vector<std::string> files; };
struct Progress { int done = 0; int of = 0; };

// [child]
int import_file(pawl::Context& ctx, const std::string& file) {
    auto text = ctx.step("fetch", [&] { return "rows of " + file; });
    return ctx.step("store", [&](const pawl::Attempt& attempt) {
        if (file == "c.csv" && attempt.number == 1) throw std::runtime_error("the disk is full");
        std::printf("store the %s\n", text.c_str());
        return static_cast<int>(text.size());
    });
}
// [/child]

int main() {
    pawl::testing::Fixture world;
    auto& engine = world.engine();
    // [parent]
    auto import = engine.add("import", import_file);
    auto batches = engine.add("batch", [import](pawl::Context& ctx, const Batch& batch) {
        const int files = static_cast<int>(batch.files.size());
        const int portion = 4;
        int rows = 0;
        for (int begin = 0; begin < files; begin += portion) {
            std::vector<pawl::Later<int>> imports;
            for (int i = begin; i < std::min(begin + portion, files); ++i) {
                const auto& file = batch.files[static_cast<std::size_t>(i)];
                imports.push_back(ctx.later_call(import, ctx.id() + "/" + file, file));
            }
            for (int count : ctx.all(std::move(imports), {.at_once = 2})) rows += count;
            ctx.set("progress", Progress{std::min(begin + portion, files), files});
        }
        return rows;
    });
    // [/parent]

    auto run = batches.start("monday", Batch{{"a.csv", "b.csv", "c.csv", "d.csv", "e.csv"}});
    world.run_until_idle();
    // [progress]
    auto progress = run.value<Progress>("progress");
    std::printf("%d files are done\n", progress ? progress->done : 0);
    // [/progress]
    world.advance(2s);  // past the backoff of c.csv
    progress = run.value<Progress>("progress");
    std::printf("%d files are done\n", progress ? progress->done : 0);
    if (auto rows = run.result(0s)) std::printf("%d bytes in all\n", *rows);
    for (const auto& one : import.runs().runs)
        std::printf("%s has %d entries\n", one.id.c_str(), static_cast<int>(one.entries));
}
