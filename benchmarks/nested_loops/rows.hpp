// The groups of rows of the benchmark of nested loops, what it is asked for, and the graphs. Plain C++.
#pragma once

#include <string>
#include <vector>

#include "../../samples/graph/input.hpp"
#include "../queue_engine/table.hpp"

namespace nested_benchmark {

struct options {
    queue_benchmark::options table;
    double seconds = 20;     ///< a run that takes longer is given up
    bool is_quick = false;   ///< small inputs alone
    bool has_sweep = false;  ///< other thresholds as well
};

/// Who does the work, beside the engines.
namespace by {
inline constexpr const char* flat = "flat by hand";
inline constexpr const char* one_core = "CPU, one core";
}  // namespace by

/// A search of a graph, and what the CPU finds.
struct graph_search {
    const char* work;
    graphs::graph g;
    graphs::vertex first;
    std::vector<unsigned> steps;
};

/// One graph of the table after the other, those that are asked for; each is drawn once and given to all groups.
void measure_queue_bfs(queue_benchmark::table& t, const options& o, const graph_search& s);
void measure_cdp_bfs(queue_benchmark::table& t, const options& o, const graph_search& s);
void measure_flat_bfs(queue_benchmark::table& t, const options& o, const graph_search& s);

// ---- Names of works.

namespace work {
inline constexpr const char* bfs_small = "BFS, R-MAT 14";
inline constexpr const char* bfs_20 = "BFS, R-MAT 20";
inline constexpr const char* bfs_22 = "BFS, R-MAT 22";
inline constexpr const char* bfs_roads = "BFS, roads 1024";
inline constexpr const char* all[] = {bfs_small, bfs_20, bfs_22, bfs_roads};
}  // namespace work

}  // namespace nested_benchmark
