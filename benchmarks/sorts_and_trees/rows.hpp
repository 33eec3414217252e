// The groups of rows of the benchmark of sorts and trees, and what it is asked for. Plain C++.
#pragma once

#include "../queue_engine/table.hpp"

namespace sort_benchmark {

struct options {
    queue_benchmark::options table;
    double seconds = 30;  ///< a run of the queue engine that takes longer is given up
};

// ---- A file each. Those of the device runtime set its limit on pending launches and restore it.

void measure_queue_sorts(queue_benchmark::table& keys, const options& o);
void measure_queue_trees(queue_benchmark::table& points, const options& o);
void measure_cdp_sorts(queue_benchmark::table& keys);
void measure_cdp_trees(queue_benchmark::table& points);
void measure_plain_sorts(queue_benchmark::table& keys);
void measure_plain_trees(queue_benchmark::table& points);
void measure_cub_sorts(queue_benchmark::table& keys);

// ---- What there is to do.

struct sort_work {
    const char* name;
    unsigned keys;
};
struct tree_work {
    const char* name;
    unsigned points;
};

namespace work {
inline constexpr sort_work sort_6{"sort of 10^6 keys", 1000000};
inline constexpr sort_work sort_7{"sort of 10^7 keys", 10000000};
inline constexpr sort_work sorts[] = {sort_6, sort_7};
inline constexpr tree_work tree_6{"quadtree of 10^6 uniform points", 1000000};
inline constexpr const char* all[] = {sort_6.name, sort_7.name, tree_6.name};
}  // namespace work

}  // namespace sort_benchmark
