// Sorts integers by recursion: quarters in children, merges in continuations.
#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

/// The same in every run; `kinds` of different numbers, 0: as they come.
std::vector<int> make_numbers(std::size_t count, std::int64_t kinds) {
    std::mt19937 random;
    std::vector<int> numbers(count);
    for (int& number : numbers) {
        const std::uint32_t drawn = static_cast<std::uint32_t>(random());
        number = kinds == 0 ? static_cast<int>(drawn) : static_cast<int>(drawn % static_cast<std::uint32_t>(kinds));
    }
    if (kinds == 0 && count >= 3) numbers[0] = numbers[count / 2] = INT_MAX, numbers[count - 1] = INT_MIN;
    return numbers;
}

template <class Engine>
void run(Engine& engine, const std::vector<int>& numbers, cilksort::job work, const samples::command_line& command) {
    const auto count = static_cast<unsigned>(numbers.size());
    dynpar::buffer<int> there = engine.template make_buffer<int>(count);
    dynpar::buffer<int> spare = engine.template make_buffer<int>(count);
    dynpar::buffer<cilksort::job> job = engine.template make_buffer<cilksort::job>(1);
    there.copy_from(numbers.data());
    work.numbers = there.data();
    work.spare = spare.data();
    job.copy_from(&work);

    const dynpar::report report = engine.run(cilksort::sort_range{job.data()}, cilksort::shape_of(work, 1), 0u, count);

    std::vector<int> sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const std::vector<int> found = there.to_vector();
    const auto different = std::mismatch(sorted.begin(), sorted.end(), found.begin()).first - sorted.begin();
    const bool right = static_cast<std::size_t>(different) == sorted.size();
    char line[160];
    std::snprintf(line, sizeof line, "%u integers sorted in %llu grids: %s  %.3f ms", count,
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

/// Throws `input_error` unless the value is a multiple of 4, as 16-byte stores need it.
unsigned multiple_of_four(const char* option, std::int64_t value) {
    if (value % 4 != 0) {
        throw samples::input_error(std::string(option) + ": " + std::to_string(value) + " is no multiple of 4; give " +
                                   std::to_string(value / 4 * 4) + " or " + std::to_string(value / 4 * 4 + 4));
    }
    return static_cast<unsigned>(value);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "cilksort", "Sorts integers: quarters in child grids, merges in continuations, all of them parallel.");
    std::int64_t elements = 100000;
    std::int64_t kinds = 0;
    std::int64_t threads = 0;
    std::int64_t leaf = cilksort::default_leaf;
    std::int64_t by_block = cilksort::default_merged_by_block;
    std::int64_t by_thread = cilksort::default_merged_by_thread;
    command.add_integer("--elements", elements, 1, std::int64_t{1} << 30, "how many integers to sort");
    command.add_integer("--kinds", kinds, 0, 1 << 30, "how many different integers there are; 0: random ones");
    command.add_integer("--threads", threads, 0, dynpar::bounds::block_threads,
                        "threads of every block; 0: as many as the engine likes, at most 32");
    command.add_integer("--leaf", leaf, cilksort::least_leaf, 1 << 24,
                        "as many integers are sorted by one block without launches");
    command.add_integer("--merged-by-block", by_block, 4, 1 << 24, "integers that one block of a merge writes");
    command.add_integer("--merged-by-thread", by_thread, 4, 1 << 24, "integers that one thread of it writes at a time");
    if (const auto status = command.parse(argc, argv)) return *status;
    try {
        const cilksort::job work{nullptr,
                                 nullptr,
                                 static_cast<unsigned>(threads),
                                 static_cast<unsigned>(leaf),
                                 multiple_of_four("--merged-by-block", by_block),
                                 multiple_of_four("--merged-by-thread", by_thread)};
        const std::vector<int> numbers = make_numbers(static_cast<std::size_t>(elements), kinds);
        return samples::with_engine(command, [&](auto& engine) {
            run(engine, numbers, work, command);
            return samples::success;
        });
    } catch (...) {
        return command.explain_exception();
    }
}
