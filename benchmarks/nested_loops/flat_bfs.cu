// Breadth-first searches by hand.
#include <cstdio>

#include "../queue_engine/device_memory.hpp"
#include "flat_bfs.cuh"
#include "rows.hpp"

namespace nested_benchmark {

void measure_flat_bfs(queue_benchmark::table& t, const options& o, const graph_search& s) {
    queue_benchmark::contender c;
    c.work = s.work;
    c.engine = by::flat;
    c.form = "levels";
    if (c.name().find(t.asked().only) == std::string::npos) return;
    int processors = 0;
    int blocks_of_one = 0;
    dynpar::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "asking for the GPU");
    dynpar::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_of_one, flat::search_breadth_first,
                                                                static_cast<int>(flat::block_threads), 0),
                  "asking how many blocks fit");
    const auto begin = queue_benchmark::on_device(s.g.begin, s.g.begin.size());
    const auto neighbours = queue_benchmark::on_device(s.g.neighbours, s.g.neighbours.size());
    flat::searcher searcher(begin.data(), neighbours.data(), s.g.vertices(), s.g.neighbours.size(),
                            static_cast<unsigned>(processors * blocks_of_one));
    c.prepare = [&] { searcher.prepare(s.first, s.g.begin[s.first], s.g.edges_of(s.first), o.seconds); };
    c.start = [&] {
        searcher.start(t.stream());
        return [] { return queue_benchmark::run_facts{1, 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) {
        if (searcher.is_out_of_time()) std::fprintf(stderr, "nested_loops: %s: given up: time is up\n", s.work);
        return searcher.distances() == s.steps;
    };
    t.measure(c);
}

}  // namespace nested_benchmark
