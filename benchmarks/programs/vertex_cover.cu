// Smallest vertex covers: the sample on the queue engine, beside one core of the CPU and all of them.
#include <algorithm>
#include <thread>
#include <vector>

#include "../../samples/vertex_cover/search.hpp"
#include "../queue_engine/counted_run.cuh"
#include "rows.hpp"

namespace program_benchmark {

namespace {

using namespace vertex_cover;

struct task {
    const char* name;
    graph of;
    std::size_t size;  ///< of a smallest cover, as the CPU found it
    bool is_quick;
};

std::vector<task> tasks() {
    std::vector<graph> parts;
    for (unsigned seed = 1; seed <= 30; ++seed) parts.push_back(random_graph(60, 100, seed));
    return {{work::cover_p_hat_200, p_hat_graph(200, 250, 1), 168, true},
            {work::cover_p_hat_300, p_hat_graph(300, 250, 1), 257, false},
            {work::cover_grid, grid_graph(256, 850, 1), 127, true},
            {work::cover_random, random_graph(150, 60, 1), 102, true},
            {work::cover_parts, union_of(parts), 1091, true}};
}

void measure_forms(queue_benchmark::table& t, const options& o, const task& what, unsigned block_threads) {
    // Shared memory for as many warps as there are, unless it would take most of what a multiprocessor has.
    const unsigned warps = (block_threads == 0 ? 512 : block_threads) / 32;
    const unsigned wanted = std::max(16u << 10, warps * shared_bytes(what.of.vertices()));
    const auto engine =
        queue_benchmark::make_engine(o.seconds, block_threads, wanted <= 96u << 10 ? wanted : 16u << 10);
    search_on<dynpar::queue_engine> search(*engine, what.of, greedy_cover(what.of));
    queue_benchmark::measure_queue(
        t, *engine, what.name, block_threads == 0 ? "" : queue_benchmark::more_warps, [&] { search.prepare(); },
        [&](const dynpar::report&) { return search.nodes(); },
        [&](const queue_benchmark::run_facts&) {
            const vertex_set cover = search.cover();
            return cover.size() == what.size && is_cover(what.of, cover);
        },
        visit{}, search.shape(), search.root());
}

}  // namespace

void measure_vertex_cover(queue_benchmark::table& t, const options& o) {
    for (const task& what : tasks()) {
        if ((o.is_quick && !what.is_quick) || !t.wants(what.name)) continue;
        measure_forms(t, o, what, 0);
        if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, what, 1024);
        const unsigned cores = std::thread::hardware_concurrency();
        for (const unsigned threads : {1u, cores == 0 ? 1 : cores}) {
            queue_benchmark::measure_cpu(
                t, what.name, threads == 1 ? by::one_core : by::all_cores, what.is_quick && !o.is_quick ? 3 : 1, [&] {
                    const cpu_result r = solve_on_cpu(what.of, ~std::uint64_t{0}, threads);
                    return r.cover.size() == what.size && is_cover(what.of, r.cover) ? r.nodes : 0;
                });
        }
    }
}

}  // namespace program_benchmark
