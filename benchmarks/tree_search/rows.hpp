// The groups of rows of the benchmark of tree searches, and what it is asked for. Plain C++.
#pragma once

#include "../queue_engine/table.hpp"

namespace tree_benchmark {

struct options {
    queue_benchmark::options table;
    double seconds = 20;    ///< a run that takes longer is given up
    bool is_quick = false;  ///< without the trees of 100 million nodes
};

/// Who does the work, beside the queue engine.
namespace by {
inline constexpr const char* levels = "levels";
inline constexpr const char* stacks = "stacks";
inline constexpr const char* one_core = "CPU, one core";
}  // namespace by

// ---- A file each.

void measure_uts(queue_benchmark::table& t, const options& o);

// ---- Names of works.

namespace work {
inline constexpr const char* uts_t1 = "UTS T1, geometric";
inline constexpr const char* uts_t3 = "UTS T3, binomial";
inline constexpr const char* uts_t1l = "UTS T1L, geometric";
inline constexpr const char* uts_t3l = "UTS T3L, binomial";
inline constexpr const char* all[] = {uts_t1, uts_t3, uts_t1l, uts_t3l};
}  // namespace work

}  // namespace tree_benchmark
