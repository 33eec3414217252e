// What the benchmark `reductions` measures: a row of its table, and the part of it that needs the engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spread.hpp"

namespace reductions {

struct options {
    unsigned runs = 21;
    unsigned nested_runs = 5;
    unsigned block_size = 512;
    unsigned pending_launches = 65536;
    std::vector<unsigned> elements = {1u << 20, 1u << 24, 1u << 28, (1u << 28) - 57};
    std::string json;
    std::string csv;
};

using benchmarks::spread;
using benchmarks::spread_of;

struct row {
    unsigned elements = 0;
    std::string type;
    std::string kernel;
    const char* kind = "ladder";  // or "copy", "cub", "nested", "nothing"
    const char* clock = "events on the GPU";
    bool as_published = false;  // may be wrong
    spread milliseconds;
    unsigned runs = 0;
    unsigned wrong_runs = 0;
    double error = 0;  // the greatest
    double bound = 0;
    std::uint64_t lost_launches = 0;  // in the last run
    double gb_per_s = 0;              // each number counted once
    double of_copy = 0;
    double of_cub = 0;

    bool adds_up() const { return kind != std::string("copy") && kind != std::string("nothing"); }
    std::string judgement() const {
        if (!adds_up()) return "-";
        if (lost_launches != 0) return "no sum: " + std::to_string(lost_launches) + " launches lost, and reported";
        if (wrong_runs == 0) return as_published ? "right, which nothing promises" : "right";
        return (as_published ? "wrong, as published" : "WRONG") + std::string(" in ") + std::to_string(wrong_runs) +
               " of " + std::to_string(runs);
    }
    bool acceptable() const { return !adds_up() || wrong_runs == 0 || as_published || lost_launches != 0; }
};

/// Adds the rows of the nested sums, through each engine of this build that runs on a GPU. `numbers` fill whole blocks,
/// and `expected` is their sum. In a file of its own: what nested kernels need of a compilation is nothing for the
/// others.
void measure_nested(const options& o, const std::vector<int>& numbers, long long expected, std::vector<row>& rows);

}  // namespace reductions
