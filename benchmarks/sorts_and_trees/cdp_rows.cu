// The samples quicksort and quadtree on dynpar's engine on the device runtime.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <functional>

#include <dynpar/engine/cdp.cuh>
#include <dynpar/limits.hpp>

#include "on_device.hpp"

namespace sort_benchmark {

namespace {

dynpar::limits raised_limits() {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    return limits;
}

template <class Kernel, class... Args>
void measure(queue_benchmark::table& t, dynpar::cdp_engine& engine, const char* work, const char* form,
             std::uint64_t counted, const std::function<void()>& prepare, const std::function<bool()>& is_right,
             Kernel kernel, const dynpar::shape& s, Args... args) {
    queue_benchmark::contender c;
    c.work = work;
    c.engine = queue_benchmark::by::cdp_engine;
    c.form = form;
    c.prepare = prepare;
    c.start = [&] {
        const dynpar::report r = engine.try_run(kernel, s, args...);
        if (r.failed_calls != 0) std::fprintf(stderr, "%s: %s\n", work, dynpar::describe_failures(r).c_str());
        const queue_benchmark::run_facts facts{counted, r.lost_launches, r.needed.live_bytes};
        return [facts] { return facts; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right(); };
    t.measure(c);
}

}  // namespace

void measure_cdp_sorts(queue_benchmark::table& t) {
    const dynpar::scoped_limits raised(raised_limits());
    dynpar::cdp_engine engine;
    for (const sort_work& what : work::sorts) {
        if (!t.wants(what.name)) continue;
        const keys_to_sort there(what.keys);
        for (const unsigned leaf : {quicksort::default_leaf, 2048u}) {
            const quicksort::job job = there.job(128, leaf, quicksort::default_by_block);
            const dynpar::buffer<quicksort::job> on_engine = engine.make_buffer<quicksort::job>({job});
            measure(
                t, engine, what.name, leaf == 2048 ? "128, leaves of 2048" : "128 threads", what.keys,
                [&] { there.prepare(); }, [&] { return there.is_right(); }, quicksort::sort_part{on_engine.data()},
                quicksort::shape_of(job, what.keys), quicksort::part{0, what.keys, 0});
        }
    }
}

void measure_cdp_trees(queue_benchmark::table& t) {
    const tree_work& what = work::tree_6;
    if (!t.wants(what.name)) return;
    const dynpar::scoped_limits raised(raised_limits());
    dynpar::cdp_engine engine;
    for (const bool is_moldable : {false, true}) {
        quadtree::settings s;
        s.is_moldable = is_moldable;
        tree_to_build there(what.points, s);
        measure(
            t, engine, what.name, is_moldable ? "moldable" : "128 threads", what.points, [&] { there.prepare(); },
            [&] { return there.is_right(); }, quadtree::begin{there.address()}, dynpar::shape(1, 1));
    }
}

}  // namespace sort_benchmark
