// Parents with their children, and Bezier curves, on CUDA's device runtime: the engine's with nested loops, and plain
// kernels that launch a grid where there is more to do than a threshold.
#include <cuda_runtime.h>

#include <cstdio>
#include <functional>
#include <string>

#include <dynpar/engine/cdp.cuh>
#include <dynpar/limits.hpp>

#include "loops.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::contender;
using queue_benchmark::run_facts;
using queue_benchmark::table;

template <class Kernel, class... Args>
void measure(table& t, dynpar::cdp_engine& engine, const char* work, const char* form,
             const std::function<void()>& prepare, const std::function<bool()>& is_right, Kernel kernel,
             const dynpar::shape& s, Args... args) {
    contender c;
    c.work = work;
    c.engine = queue_benchmark::by::cdp_engine;
    c.form = form;
    c.prepare = prepare;
    c.start = [&] {
        const dynpar::report r = engine.try_run(kernel, s, args...);
        if (r.failed_calls != 0)
            std::fprintf(stderr, "nested_loops: %s: %s\n", form, dynpar::describe_failures(r).c_str());
        const run_facts facts{r.grids, r.lost_launches, r.needed.live_bytes};
        return [facts] { return facts; };
    };
    c.is_right = [&](const run_facts&) { return is_right(); };
    t.measure(c);
}

// ---- Plain kernels. What cannot be launched is run in place.

__global__ void plain_children(families::add_child child, unsigned children) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < children) child(i);
}
__global__ void plain_parents(families::family_view f, unsigned threshold, unsigned long long* launched) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= f.parents) return;
    const unsigned first = f.begin[i];
    const unsigned children = f.begin[i + 1] - first;
    if (children > threshold) {
        plain_children<<<(children + 255) / 256, 256, 0, cudaStreamFireAndForget>>>({first, f.sums + i}, children);
        if (cudaGetLastError() == cudaSuccess) {
            atomicAdd(launched, 1ull);
            return;
        }
    }
    families::number sum = 0;
    for (unsigned k = 0; k < children; ++k) sum += families::work_of(first + k);
    atomicAdd(f.sums + i, sum);
}

__global__ void plain_points(curves::put_point put, unsigned points) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < points) put(i);
}
__global__ void plain_curves(curves::drawing* d, unsigned threshold, unsigned long long* launched) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= d->count) return;
    const unsigned lines = curves::lines_of(d->curves[i], d->tolerance);
    const unsigned begin = atomicAdd(d->used, lines + 1);
    d->chains[i] = begin;
    if (begin > d->room || lines >= d->room - begin) return;
    const curves::put_point put{d, i, {begin, lines}};
    if (lines + 1 > threshold) {
        plain_points<<<lines / 256 + 1, 256, 0, cudaStreamFireAndForget>>>(put, lines + 1);
        if (cudaGetLastError() == cudaSuccess) {
            atomicAdd(launched, 1ull);
            return;
        }
    }
    for (unsigned k = 0; k <= lines; ++k) put(k);
}

void measure_plain(table& t, const char* work, unsigned threshold, const std::function<void()>& prepare,
                   const std::function<bool()>& is_right,
                   const std::function<void(unsigned threshold, unsigned long long* launched)>& launch) {
    const auto launched = queue_benchmark::on_device<unsigned long long>(1);
    contender c;
    c.work = work;
    c.engine = queue_benchmark::by::plain_cdp2;
    c.form = "threshold " + std::to_string(threshold);
    c.prepare = [&] {
        prepare();
        queue_benchmark::fill(launched, 0);
    };
    c.start = [&] {
        launch(threshold, launched.data());
        dynpar::check(cudaGetLastError(), "launching a plain kernel");
        return [&] { return run_facts{1 + launched.value(), 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return is_right(); };
    t.measure(c);
}

dynpar::limits raised_limits() {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    limits.heap_bytes = std::size_t{256} << 20;
    return limits;
}

}  // namespace

void measure_cdp_families(table& t, const options&, const family_work& w) {
    const dynpar::scoped_limits raised(raised_limits());
    const families_on_device there(w);
    const auto prepare = [&] { there.prepare(); };
    const auto is_right = [&] { return there.is_right(); };
    {
        dynpar::cdp_engine engine;
        const dynpar::shape s = dynpar::shape_for(engine, there.view().parents, dynpar::at_most(256));
        measure(t, engine, w.work, "nested_for", prepare, is_right, visit_parents{families::form::share}, s,
                there.view());
        measure(t, engine, w.work, "nested_reduce", prepare, is_right, visit_parents{families::form::reduce}, s,
                there.view());
    }
    for (const unsigned threshold : {256u, 2048u, 16384u})
        measure_plain(t, w.work, threshold, prepare, is_right, [&](unsigned most, unsigned long long* launched) {
            plain_parents<<<(there.view().parents + 255) / 256, 256, 0, t.stream()>>>(there.view(), most, launched);
        });
}

void measure_cdp_curves(table& t, const options&, const curve_work& w) {
    const dynpar::scoped_limits raised(raised_limits());
    const curves_on_device there(w);
    const auto prepare = [&] { there.prepare(); };
    const auto is_right = [&] { return there.is_right(); };
    {
        dynpar::cdp_engine engine;
        measure(t, engine, w.work, "nested_for", prepare, is_right, curves::draw_curves{},
                dynpar::shape_for(engine, there.count(), dynpar::at_most(256)), there.data());
    }
    for (const unsigned threshold : {64u, 256u, 1024u}) {
        // A grid for most of 100,000 curves: on an H200 that had not ended after 20 seconds, and cannot be given up.
        if (threshold == 64 && there.count() > 10000) continue;
        measure_plain(t, w.work, threshold, prepare, is_right, [&](unsigned most, unsigned long long* launched) {
            plain_curves<<<(there.count() + 255) / 256, 256, 0, t.stream()>>>(there.data(), most, launched);
        });
    }
}

}  // namespace nested_benchmark
