// The recursive sums of the sample recursive_reduce on the queue engine.
#include "../../samples/recursive_reduce/kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {

namespace {

/// The cut-off that makes as many parts as the engine has warps: 16 on each multiprocessor.
unsigned a_part_for_each_warp(std::size_t count) {
    int device = 0, multiprocessors = 0;
    dynpar::check(cudaGetDevice(&device), "finding the device");
    dynpar::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
                  "asking for the number of multiprocessors");
    return recursive_reduction::recursive_reduce_cutoff::part_of(static_cast<unsigned>(count),
                                                                 static_cast<unsigned>(multiprocessors) * 16);
}

}  // namespace

void measure_queue_reductions(table& t) {
    using namespace recursive_reduction;
    using dynpar::at_most;
    using dynpar::shape;
    dynpar::queue_engine engine;
    const std::pair<const char*, unsigned> sums[] = {{work::reduce_20, 20}, {work::reduce_24, 24}};
    for (const auto& [name, power] : sums) {
        if (!t.wants(name)) continue;
        const blocks_to_add d(std::size_t{1} << power);
        const auto prepare = [&] { d.prepare(); };
        measure_run(
            t, engine, name, "moldable", prepare, [&](const run_facts&) { return d.sums_are_right(); }, 0,
            recursive_reduce_moldable{}, shape(d.blocks(), at_most(block_size / 2)), d.numbers(), d.sums(), block_size);
        if (const auto wide = power == 24 ? engine_with_more_warps(t, name) : nullptr) {
            measure_run(
                t, *wide, name, more_warps, prepare, [&](const run_facts&) { return d.sums_are_right(); }, 0,
                recursive_reduce_moldable{}, shape(d.blocks(), at_most(block_size / 2)), d.numbers(), d.sums(),
                block_size);
        }
        if (power != 20) continue;
        measure_run(
            t, engine, name, "exact, sums added", prepare, [&](const run_facts&) { return d.total_is_right(); }, 0,
            recursive_reduce_then{}, shape(d.blocks(), block_size), d.numbers(), d.sums(), block_size, d.total());
        measure_run(
            t, engine, name, "exact, wait", prepare, [&](const run_facts&) { return d.sums_are_right(); }, 0,
            recursive_reduce_sync{}, shape(d.blocks(), block_size), d.numbers(), d.sums(), block_size);
    }
    if (t.wants(work::reduce2_20)) {
        const blocks_to_add d(1u << 20);
        const auto prepare = [&] { d.prepare(); };
        const auto is_right = [&](const run_facts&) { return d.sums_are_right(); };
        measure_run(t, engine, work::reduce2_20, "moldable", prepare, is_right, 0, recursive_reduce2_moldable{},
                    shape(d.blocks(), at_most(block_size / 2)), d.numbers(), d.sums(), block_size / 2, block_size);
        measure_run(t, engine, work::reduce2_20, "exact", prepare, is_right, 0, recursive_reduce2_tail{},
                    shape(d.blocks(), block_size / 2), d.numbers(), d.sums(), block_size / 2, block_size);
    }
    if (t.wants(work::cutoff_28)) {
        const blocks_to_add d(most_to_add);
        const auto prepare = [&] { d.prepare(); };
        const std::pair<const char*, unsigned> cutoffs[] = {
            {"cut-off 2^13", 1u << 13}, {"cut-off 2^14", 1u << 14},
            {"cut-off 2^15", 1u << 15}, {"cut-off 2^16", 1u << 16},
            {"cut-off 2^17", 1u << 17}, {"a part a warp", a_part_for_each_warp(most_to_add)}};
        for (const auto& [form, cutoff] : cutoffs) {
            measure_run(
                t, engine, work::cutoff_28, form, prepare, [&](const run_facts&) { return d.total_is_right(); }, 0,
                recursive_reduce_cutoff{}, recursive_reduce_cutoff::shape_for(1, cutoff), d.source(),
                static_cast<unsigned>(most_to_add), cutoff, d.total());
        }
    }
}

}  // namespace queue_benchmark
