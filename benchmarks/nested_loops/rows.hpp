// The groups of rows of the benchmark of nested loops, what it is asked for, and what they work on.
#pragma once

#include <string>
#include <vector>

#include "../../samples/bezier/curves.hpp"
#include "../../samples/graph/input.hpp"
#include "../../samples/parent_child/families.hpp"
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

/// A program on a graph: where it begins, if anywhere, and what the CPU finds for each vertex.
struct graph_work {
    const char* work;
    const graphs::graph& g;
    graphs::vertex first;
    std::vector<unsigned> expected;
};
/// Breadth first, and for shortest ways.
void measure_queue_bfs(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_cdp_bfs(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_flat_bfs(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_queue_ways(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_cdp_ways(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_flat_ways(queue_benchmark::table& t, const options& o, const graph_work& w);
/// Colours of the vertices.
void measure_queue_colours(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_cdp_colours(queue_benchmark::table& t, const options& o, const graph_work& w);
void measure_flat_colours(queue_benchmark::table& t, const options& o, const graph_work& w);

/// A minimum spanning forest, and what the CPU finds.
struct forest_work {
    const char* work;
    const graphs::graph& g;
    unsigned long long weight;
    unsigned edges;
};
void measure_queue_forest(queue_benchmark::table& t, const options& o, const forest_work& w);
void measure_cdp_forest(queue_benchmark::table& t, const options& o, const forest_work& w);
void measure_flat_forest(queue_benchmark::table& t, const options& o, const forest_work& w);

/// Where the children of each parent begin, and what the CPU finds.
struct family_work {
    const char* work;
    std::vector<unsigned> begin;
    std::vector<families::number> sums;
};
void measure_queue_families(queue_benchmark::table& t, const options& o, const family_work& w);
void measure_cdp_families(queue_benchmark::table& t, const options& o, const family_work& w);
void measure_flat_families(queue_benchmark::table& t, const options& o, const family_work& w);

/// Bezier curves, and how many points all of them need.
struct curve_work {
    const char* work;
    std::vector<curves::curve> drawn;
    float tolerance;
    unsigned points;
};
void measure_queue_curves(queue_benchmark::table& t, const options& o, const curve_work& w);
void measure_cdp_curves(queue_benchmark::table& t, const options& o, const curve_work& w);
void measure_flat_curves(queue_benchmark::table& t, const options& o, const curve_work& w);

// ---- Names of works.

namespace work {
inline constexpr const char* bfs_small = "BFS, R-MAT 14";
inline constexpr const char* bfs_20 = "BFS, R-MAT 20";
inline constexpr const char* bfs_22 = "BFS, R-MAT 22";
inline constexpr const char* bfs_roads = "BFS, roads 1024";
inline constexpr const char* ways_18 = "shortest ways, R-MAT 18";
inline constexpr const char* ways_roads = "shortest ways, roads 512";
inline constexpr const char* forest_18 = "forest, R-MAT 18";
inline constexpr const char* forest_20 = "forest, R-MAT 20";
inline constexpr const char* colours_18 = "colours, R-MAT 18";
inline constexpr const char* colours_roads = "colours, roads 1024";
inline constexpr const char* families_small = "families, 2^10 parents";
inline constexpr const char* families_20 = "families, 2^20 parents";
inline constexpr const char* curves_small = "curves, 10^3";
inline constexpr const char* curves_5 = "curves, 10^5";
inline constexpr const char* all[] = {
    bfs_small, bfs_20,     bfs_22,        bfs_roads,      ways_18,     ways_roads,   forest_18,
    forest_20, colours_18, colours_roads, families_small, families_20, curves_small, curves_5,
};
}  // namespace work

}  // namespace nested_benchmark
