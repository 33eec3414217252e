// A binary tree of grids with the same work in every node, inner nodes after their children.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

template <class Engine>
void run(Engine& engine, int height, unsigned threads, const samples::command_line& command) {
    using namespace work_tree;
    const auto count = static_cast<std::size_t>(nodes(height));
    std::vector<double> entries(table_size);
    for (unsigned i = 0; i < table_size; ++i) entries[i] = table_entry(i);
    const std::vector<double> unwritten(count, -1.0);
    const unsigned no_width = 0;

    dynpar::buffer<double> table = engine.template make_buffer<double>(table_size);
    dynpar::buffer<double> results = engine.template make_buffer<double>(count);
    dynpar::buffer<unsigned> width = engine.template make_buffer<unsigned>(1);
    dynpar::buffer<tree> there = engine.template make_buffer<tree>(1);
    const tree here{table.data(), results.data(), threads, width.data()};
    table.copy_from(entries.data());
    results.copy_from(unwritten.data());
    width.copy_from(&no_width);
    there.copy_from(&here);

    const dynpar::report report = engine.run(work_node{there.data()}, shape_of(here), 0u, height);

    const unsigned found_width = width.value();
    const std::vector<double> found = results.to_vector();
    std::string wrong;
    if (report.grids != grids(height)) wrong = "not " + std::to_string(grids(height)) + " grids";
    if (found_width == 0 || found_width > threads)
        wrong = "the root's block had " + std::to_string(found_width) + " threads";
    for (std::size_t node = 0; node < count && wrong.empty(); ++node) {
        const double expected = work_of(entries.data(), static_cast<unsigned>(node), 0, found_width);
        if (found[node] != expected) {
            wrong = "node " + std::to_string(node) + " has " + std::to_string(found[node]) + ", the CPU has " +
                    std::to_string(expected);
        }
    }
    char line[200];
    std::snprintf(line, sizeof line, "%zu nodes in %llu grids, blocks of %u: %s  %.3f ms", count,
                  static_cast<unsigned long long>(report.grids), found_width, wrong.empty() ? "right" : "WRONG",
                  engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!wrong.empty()) throw samples::wrong_result(wrong);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "work_tree",
        "A binary tree of grids: every node loads 256 numbers from random places and does 256 "
        "multiply-adds, inner nodes when their children are complete.");
    std::int64_t depth = 8;
    std::int64_t threads = 1;
    command.add_integer("--depth", depth, 0, 24, "levels below the root");
    command.add_integer("--threads", threads, 1, dynpar::bounds::block_threads,
                        "1: a block of one thread for each node; more: at most so many, as the engine likes");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        run(engine, static_cast<int>(depth), static_cast<unsigned>(threads), command);
        return samples::success;
    });
}
