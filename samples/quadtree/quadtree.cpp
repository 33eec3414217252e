// Builds a quadtree of points, and compares it with what the CPU makes of them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "build.hpp"
#include "kernels.hpp"
#include "on_cpu.hpp"

namespace {

using namespace quadtree;

template <class Engine>
void run(Engine& engine, const std::vector<point>& points, const settings& s, const samples::command_line& command) {
    const tree_memory memory(engine, points, s);
    const dynpar::report report = engine.run(begin{memory.address()}, dynpar::shape(1, 1));

    const built_tree built = memory.result();
    comparison with_cpu(built, points);
    const std::string wrong = with_cpu.run();
    const summary& facts = with_cpu.facts();
    char line[240];
    std::snprintf(line, sizeof line,
                  "%zu points: %zu nodes down to depth %u, %zu leaves with at most %u points, in %llu grids: %s  "
                  "%.3f ms",
                  points.size(), built.nodes.size(), facts.depth, facts.leaves, facts.most_in_leaf,
                  static_cast<unsigned long long>(report.grids), wrong.empty() ? "right" : "WRONG",
                  engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!wrong.empty()) throw samples::wrong_result(wrong);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "quadtree", "Builds a quadtree of points: a block divides a square, and launches a grid for its quarters.");
    std::int64_t points = 100000;
    std::string distribution = "uniform";
    std::optional<std::int64_t> clusters;
    std::int64_t seed = 1;
    std::int64_t leaf = default_leaf;
    std::int64_t depth = default_depth;
    std::int64_t threads = default_threads;
    bool is_moldable = false;
    std::int64_t by_block = default_by_block;
    command.add_integer("--points", points, 1, 1 << 24, "how many there are");
    command.add_choice("--distribution", distribution, {"uniform", "clustered"}, "where they lie in the unit square");
    command.add_integer("--clusters", clusters, 1, 1000000, "how many of them, with --distribution clustered", "20");
    command.add_integer("--seed", seed, 0, 2147483647, "the points are drawn from it");
    command.add_integer("--leaf", leaf, 1, 1 << 24, "a square with no more points is not divided");
    command.add_integer("--depth", depth, 0, most_depth, "nor is one in that depth; the root is in depth 0");
    command.add_integer("--threads", threads, 32, 512, "threads of every block");
    command.add_flag("--moldable", is_moldable, "as many as the engine likes instead, --threads at most");
    command.add_integer("--by-block", by_block, 1, 1 << 24,
                        "a square with as many points is divided by one block; of more, many blocks take some each");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        if (clusters && distribution != "clustered") {
            throw samples::input_error(
                "--clusters: there are clusters only with --distribution clustered; give it as well, or leave this "
                "out");
        }
        const auto count = static_cast<std::size_t>(points);
        const auto from = static_cast<unsigned>(seed);
        const settings s{static_cast<unsigned>(leaf), static_cast<unsigned>(depth), static_cast<unsigned>(threads),
                         is_moldable, static_cast<unsigned>(by_block)};
        run(engine,
            distribution == "uniform" ? draw_uniform(count, from)
                                      : draw_clusters(count, static_cast<unsigned>(clusters.value_or(20)), from),
            s, command);
        return samples::success;
    });
}
