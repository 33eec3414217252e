// Sorts keys by recursion: a grid for each side of a pivot.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"
#include "patterns.hpp"

namespace {

using quicksort::key;

template <class Engine>
void run(Engine& engine, const std::vector<key>& keys, quicksort::job work, const samples::command_line& command) {
    const auto count = static_cast<unsigned>(keys.size());
    dynpar::buffer<key> there = engine.template make_buffer<key>(count);
    dynpar::buffer<key> spare = engine.template make_buffer<key>(count);
    there.copy_from(keys.data());
    work.keys = there.data();
    work.spare = spare.data();
    const dynpar::buffer<quicksort::job> job = engine.template make_buffer<quicksort::job>({work});

    const dynpar::report report =
        engine.run(quicksort::sort_part{job.data()}, quicksort::shape_of(work, count), quicksort::part{0, count, 0});

    // Equal to what std::sort makes of the same keys: in order, and none is lost, changed or there twice.
    std::vector<key> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    const std::vector<key> found = there.to_vector();
    const auto different = std::mismatch(sorted.begin(), sorted.end(), found.begin()).first - sorted.begin();
    const bool right = static_cast<std::size_t>(different) == sorted.size();
    char line[160];
    std::snprintf(line, sizeof line, "%u keys sorted in %llu grids: %s  %.3f ms", count,
                  static_cast<unsigned long long>(report.grids), right ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!right) {
        throw samples::wrong_result("place " + std::to_string(different) + " has " +
                                    std::to_string(found[static_cast<std::size_t>(different)]) +
                                    ", and std::sort puts " +
                                    std::to_string(sorted[static_cast<std::size_t>(different)]) + " there");
    }
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "quicksort", "Sorts keys: a block partitions them around a pivot, and launches a grid for each side.");
    std::int64_t keys = 100000;
    std::string pattern = "random";
    std::optional<std::int64_t> kinds;
    std::int64_t seed = 1;
    std::int64_t threads = quicksort::default_threads;
    std::int64_t leaf = quicksort::default_leaf;
    std::int64_t by_block = quicksort::default_by_block;
    command.add_integer("--keys", keys, 1, 1 << 28, "how many to sort");
    command.add_choice("--pattern", pattern, {"random", "sorted", "reversed", "equal", "few"},
                       "how they lie; few: of --kinds different keys");
    command.add_integer("--kinds", kinds, 1, 1 << 28, "how many different keys there are with --pattern few", "16");
    command.add_integer("--seed", seed, 0, 2147483647, "the keys are drawn from it");
    command.add_integer("--threads", threads, 32, 512, "threads of every block");
    command.add_integer("--leaf", leaf, quicksort::samples_of_part, quicksort::most_leaf,
                        "as many keys are sorted by one block in shared memory, without launches");
    command.add_integer("--by-block", by_block, quicksort::samples_of_part, 1 << 28,
                        "as many are partitioned by one block; of more, many blocks take some each");
    if (const auto status = command.parse(argc, argv)) return *status;
    return samples::with_engine(command, [&](auto& engine) {
        if (kinds && pattern != "few") {
            throw samples::input_error(
                "--kinds: there are kinds only with --pattern few; give it as well, or leave this out");
        }
        const quicksort::job work{nullptr, nullptr, static_cast<unsigned>(threads), static_cast<unsigned>(leaf),
                                  static_cast<unsigned>(by_block)};
        const auto drawn = quicksort::make_keys(pattern, static_cast<std::size_t>(keys),
                                                static_cast<unsigned>(kinds.value_or(16)), static_cast<unsigned>(seed));
        run(engine, drawn, work, command);
        return samples::success;
    });
}
