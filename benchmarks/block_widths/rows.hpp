// The rows of the benchmark of block widths. Plain C++.
#pragma once

#include "../queue_engine/table.hpp"

namespace width_benchmark {

using queue_benchmark::table;

// ---- A file each.

void measure_widths(table& t);
void measure_flat(table& t);

// ---- Names of works.

namespace work {
inline constexpr const char* tree = "empty tree, depth 18";
inline constexpr const char* launches = "a thread launches 4096 grids of a block";
inline constexpr const char* short_chain = "chain of 1000 grids of a block";
inline constexpr const char* wide_chain = "chain of 100 grids of 1024 blocks";
inline constexpr const char* rounds = "100 times a thread launches a grid and continues";
inline constexpr const char* flat = "flat grid that waits for memory, 2^20 threads";
inline constexpr const char* all[] = {rounds, tree, launches, short_chain, wide_chain, flat};
}  // namespace work

}  // namespace width_benchmark
