// The groups of rows of the benchmark of tree searches, and what it is asked for. Plain C++.
#pragma once

#include "../queue_engine/table.hpp"

namespace tree_benchmark {

struct options {
    queue_benchmark::options table;
    double seconds = 20;    ///< a run that takes longer is given up
    bool is_quick = false;  ///< without the largest trees
};

/// Who does the work, beside the queue engine.
namespace by {
inline constexpr const char* levels = "levels";
inline constexpr const char* stacks = "stacks";
inline constexpr const char* one_core = "CPU, one core";
}  // namespace by

// ---- A file each.

void measure_integrals(queue_benchmark::table& t, const options& o);
void measure_sudoku(queue_benchmark::table& t, const options& o);
void measure_uts(queue_benchmark::table& t, const options& o);

// ---- Names of works.

namespace work {
inline constexpr const char* uts_t1 = "UTS T1, geometric";
inline constexpr const char* uts_t3 = "UTS T3, binomial";
inline constexpr const char* uts_t1l = "UTS T1L, geometric";
inline constexpr const char* uts_t3l = "UTS T3L, binomial";
inline constexpr const char* sudoku_22 = "Sudoku, 22 clues";
inline constexpr const char* sudoku_many = "Sudoku, 1000 puzzles of 28 clues";
inline constexpr const char* sudoku_20 = "Sudoku, 20 clues";
inline constexpr const char* peak = "integral of a peak in 3 dimensions, 10 digits";
inline constexpr const char* bell = "integral of a bell in 3 dimensions, 10 digits";
inline constexpr const char* sharp_peak = "integral of a sharp peak in 3 dimensions, 10 digits";
inline constexpr const char* all[] = {uts_t1,      uts_t3,    uts_t1l, uts_t3l, sudoku_22,
                                      sudoku_many, sudoku_20, peak,    bell,    sharp_peak};
}  // namespace work

}  // namespace tree_benchmark
