// Parents with their children, and Bezier curves, on CUDA's device runtime: the engine's with nested loops, and plain
// kernels that launch a grid where there is more to do than a threshold.
#include "cdp_row.cuh"
#include "loops.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::table;

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

}  // namespace

void measure_cdp_families(table& t, const options&, const family_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    const families_on_device there(w);
    const auto prepare = [&] { there.prepare(); };
    const auto is_right = [&] { return there.is_right(); };
    {
        dynpar::cdp_engine engine;
        const dynpar::shape s = dynpar::shape_for(engine, there.view().parents, dynpar::at_most(256));
        measure_cdp(t, engine, w.work, "nested_for", prepare, is_right, visit_parents{families::form::share}, s,
                    there.view());
        measure_cdp(t, engine, w.work, "nested_reduce", prepare, is_right, visit_parents{families::form::reduce}, s,
                    there.view());
    }
    for (const unsigned threshold : {256u, 2048u, 16384u})
        measure_plain(t, w.work, threshold, prepare, is_right, [&](unsigned most, unsigned long long* launched) {
            plain_parents<<<(there.view().parents + 255) / 256, 256, 0, t.stream()>>>(there.view(), most, launched);
            return 1;
        });
}

void measure_cdp_curves(table& t, const options&, const curve_work& w) {
    const dynpar::scoped_limits raised(limits_of_launches());
    const curves_on_device there(w);
    const auto prepare = [&] { there.prepare(); };
    const auto is_right = [&] { return there.is_right(); };
    {
        dynpar::cdp_engine engine;
        measure_cdp(t, engine, w.work, "nested_for", prepare, is_right, curves::draw_curves{},
                    dynpar::shape_for(engine, there.count(), dynpar::at_most(256)), there.data());
    }
    for (const unsigned threshold : {64u, 256u, 1024u}) {
        // A grid for most of 100,000 curves: on an H200 that had not ended after 20 seconds, and cannot be given up.
        if (threshold == 64 && there.count() > 10000) continue;
        measure_plain(t, w.work, threshold, prepare, is_right, [&](unsigned most, unsigned long long* launched) {
            plain_curves<<<(there.count() + 255) / 256, 256, 0, t.stream()>>>(there.data(), most, launched);
            return 1;
        });
    }
}

}  // namespace nested_benchmark
