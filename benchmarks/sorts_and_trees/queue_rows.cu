// The samples quicksort and quadtree on the queue engine.
#include <dynpar/dynpar.hpp>

#include <memory>
#include <string>

#include "../queue_engine/counted_run.cuh"
#include "on_device.hpp"

namespace sort_benchmark {

namespace {

/// `shared_bytes`: of a worker block of 16 warps. What a block has no room for there, it has in device memory.
std::unique_ptr<dynpar::queue_engine> make_engine(double seconds, unsigned shared_bytes) {
    dynpar::queue_options options;
    options.deadline_milliseconds = static_cast<unsigned long long>(seconds * 1e3);
    options.limits.sync_depth = 0;  // nothing waits
    options.shared_bytes = shared_bytes;
    return std::make_unique<dynpar::queue_engine>(options);
}

constexpr unsigned usual_bytes = 16 * 1024;
constexpr unsigned many_bytes = 64 * 1024;

struct sort_form {
    const char* name;
    unsigned threads;
    unsigned leaf;
    unsigned by_block;
    unsigned shared_bytes;
};
constexpr sort_form sort_forms[] = {
    {"128 threads", 128, quicksort::default_leaf, quicksort::default_by_block, usual_bytes},
    {"128, leaves of 2048", 128, 2048, quicksort::default_by_block, many_bytes},
    {a_block_each, 128, quicksort::default_leaf, never_split, usual_bytes},
    {"32 threads", 32, quicksort::default_leaf, quicksort::default_by_block, many_bytes},
};

struct tree_form {
    const char* name;
    quadtree::settings settings;
};
const tree_form tree_forms[] = {
    {"128 threads", {}},
    {a_block_each, {quadtree::default_leaf, quadtree::default_depth, 128, false, never_split}},
    {"moldable", {quadtree::default_leaf, quadtree::default_depth, 128, true, quadtree::default_by_block}},
};

}  // namespace

void measure_queue_sorts(queue_benchmark::table& t, const options& o) {
    for (const sort_work& what : work::sorts) {
        if (!t.wants(what.name)) continue;
        const keys_to_sort there(what.keys);
        for (const sort_form& form : sort_forms) {
            const auto engine = make_engine(o.seconds, form.shared_bytes);
            const quicksort::job job = there.job(form.threads, form.leaf, form.by_block);
            const dynpar::buffer<quicksort::job> on_engine = engine->make_buffer<quicksort::job>({job});
            queue_benchmark::measure_queue(
                t, *engine, what.name, form.name, [&] { there.prepare(); },
                [&](const dynpar::report&) { return what.keys; },
                [&](const queue_benchmark::run_facts&) { return there.is_right(); },
                quicksort::sort_part{on_engine.data()}, quicksort::shape_of(job, what.keys),
                quicksort::part{0, what.keys, 0});
        }
    }
}

void measure_queue_trees(queue_benchmark::table& t, const options& o) {
    const tree_work& what = work::tree_6;
    if (!t.wants(what.name)) return;
    for (const tree_form& form : tree_forms) {
        tree_to_build there(what.points, form.settings);
        const auto engine = make_engine(o.seconds, usual_bytes);
        queue_benchmark::measure_queue(
            t, *engine, what.name, form.name, [&] { there.prepare(); },
            [&](const dynpar::report&) { return what.points; },
            [&](const queue_benchmark::run_facts&) { return there.is_right(); }, quadtree::begin{there.address()},
            dynpar::shape(1, 1));
    }
}

}  // namespace sort_benchmark
