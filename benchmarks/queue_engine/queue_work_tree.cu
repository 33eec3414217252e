// The sample work_tree on the queue engine, and the same work in a flat kernel: the least that any scheduler could
// need.
#include "../../samples/work_tree/kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {
namespace {

constexpr int depth = 22;
constexpr unsigned spot = 4099;  // the CPU looks at every so manieth node, the flat kernel at all

/// `threads` of them for each node, 1 to 32.
__global__ void all_nodes(work_tree::tree t, unsigned nodes, unsigned threads) {
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned node = place / threads;
    const unsigned thread = place % threads;
    if (node >= nodes) return;
    const double x = work_tree::work_of(t.table, node, thread, threads);
    if (thread == 0 || x == -1.0) t.results[node] = x;  // never -1: see the sample
}

}  // namespace

void measure_queue_work_tree(table& t) {
    if (!t.wants(work::work_tree_lane) && !t.wants(work::work_tree_wide)) return;
    using namespace work_tree;
    dynpar::queue_engine engine;
    const auto count = static_cast<unsigned>(nodes(depth));
    std::vector<double> entries(table_size);
    for (unsigned i = 0; i < table_size; ++i) entries[i] = table_entry(i);
    const dynpar::buffer<double> numbers = on_device(entries, table_size);
    const dynpar::buffer<double> results = on_device<double>(count);
    const dynpar::buffer<unsigned> width = on_device<unsigned>(1);
    dynpar::buffer<tree> there = on_device<tree>(1);
    const auto forget = [&] { fill(results, 0xff); };

    std::vector<double> expected;  // by the flat kernel, with blocks of `expected_width`
    unsigned expected_width = 0;
    const auto compute_flat = [&](unsigned threads) {
        const tree here{numbers.data(), results.data(), threads, width.data()};
        constexpr unsigned block = 256;
        all_nodes<<<(count * threads + block - 1) / block, block, 0, t.stream()>>>(here, count, threads);
        dynpar::check(cudaGetLastError(), "launching the flat kernel");
    };
    const auto agrees_with_cpu = [&](unsigned threads) {
        for (unsigned node = 0; node < count; node += spot) {
            if (expected[node] != work_of(entries.data(), node, 0, threads)) return false;
        }
        return true;
    };

    for (const unsigned threads : {1u, 256u}) {
        const char* const name = threads == 1 ? work::work_tree_lane : work::work_tree_wide;
        const unsigned flat_threads = threads == 1 ? 1 : 32;
        const tree here{numbers.data(), results.data(), threads, width.data()};
        there.copy_from(&here);
        contender flat;
        flat.work = name;
        flat.engine = by::flat;
        flat.form = threads == 1 ? "a thread a node" : "a warp a node";
        flat.prepare = forget;
        flat.start = [&] {
            compute_flat(flat_threads);
            return [] { return run_facts{}; };
        };
        flat.is_right = [&](const run_facts&) {
            expected = results.to_vector();
            expected_width = flat_threads;
            return agrees_with_cpu(flat_threads);
        };
        t.measure(flat);

        const auto is_right = [&](const run_facts& f) {
            const unsigned found_width = width.to_vector()[0];
            const std::vector<double> found = results.to_vector();
            if (found_width == 0 || found_width > 32 || f.grids != grids(depth)) return false;
            if (expected_width != found_width) {
                compute_flat(found_width);
                dynpar::check(cudaStreamSynchronize(t.stream()), "running the flat kernel");
                expected = results.to_vector();
                expected_width = found_width;
                if (!agrees_with_cpu(found_width)) return false;
            }
            return found == expected;
        };
        measure_run(t, engine, name, "", forget, is_right, 0, work_node{there.data()}, shape_of(here), 0u, depth);
        if (const auto wide = threads > 1 ? engine_with_more_warps(t, name) : nullptr) {
            measure_run(t, *wide, name, more_warps, forget, is_right, 0, work_node{there.data()}, shape_of(here), 0u,
                        depth);
        }
    }
}

}  // namespace queue_benchmark
