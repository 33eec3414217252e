// Parents with their children, and Bezier curves, by hand: a thread for some iterations that follow each other, whose
// owner it finds in the sums of the counts.
#include <cuda_runtime.h>

#include <cub/device/device_scan.cuh>

#include "loops.cuh"

namespace nested_benchmark {
namespace {

using queue_benchmark::contender;
using queue_benchmark::on_device;
using queue_benchmark::run_facts;
using queue_benchmark::table;

constexpr unsigned each = 8;  // iterations of a thread
constexpr unsigned block_threads = 256;

/// The last of `count` places whose number is at most `number`; the first number is 0.
__device__ unsigned owner_of(const unsigned* begin, unsigned count, unsigned number) {
    unsigned low = 0, high = count - 1;
    while (low < high) {
        const unsigned middle = (low + high + 1) / 2;
        if (begin[middle] <= number) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

__global__ void flat_children(families::family_view f, unsigned children) {
    const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    if (first >= children) return;
    const unsigned last = min(first + each, children);
    unsigned owner = owner_of(f.begin, f.parents, first);
    families::number sum = 0;
    for (unsigned child = first; child < last; ++child) {
        if (child >= f.begin[owner + 1]) {
            atomicAdd(f.sums + owner, sum);
            sum = 0;
            while (child >= f.begin[owner + 1]) ++owner;
        }
        sum += families::work_of(child);
    }
    atomicAdd(f.sums + owner, sum);
}

__global__ void flat_counts(const curves::drawing* d, unsigned* counts) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d->count) counts[i] = curves::lines_of(d->curves[i], d->tolerance) + 1;
}
__global__ void flat_points(const curves::drawing* d, unsigned all) {
    const unsigned count = d->count;
    for (unsigned k = 0; k < each; ++k) {  // a warp's threads write side by side
        const unsigned at = (blockIdx.x * each + k) * blockDim.x + threadIdx.x;
        if (at >= all) return;
        const unsigned owner = owner_of(d->chains, count, at);
        const unsigned begin = d->chains[owner], end = owner + 1 == count ? all : d->chains[owner + 1];
        d->points[at] = curves::point_of(d->curves[owner], at - begin, end - begin - 1);
    }
}

unsigned blocks_for(unsigned iterations) { return (iterations - 1) / (each * block_threads) + 1; }

}  // namespace

void measure_flat_families(table& t, const options&, const family_work& w) {
    const families_on_device there(w);
    const unsigned children = w.begin.back();
    contender c;
    c.work = w.work;
    c.engine = by::flat;
    c.form = "by search";
    c.prepare = [&] { there.prepare(); };
    c.start = [&] {
        flat_children<<<blocks_for(children), block_threads, 0, t.stream()>>>(there.view(), children);
        dynpar::check(cudaGetLastError(), "launching a flat kernel");
        return [] { return run_facts{1, 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return there.is_right(); };
    t.measure(c);
}

void measure_flat_curves(table& t, const options&, const curve_work& w) {
    const curves_on_device there(w);
    const auto counts = on_device<unsigned>(there.count());
    std::size_t bytes = 0;
    const int count = static_cast<int>(there.count());
    dynpar::check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, counts.data(), counts.data(), count, t.stream()),
                  "asking for memory");
    const auto memory = on_device<unsigned char>(bytes);
    contender c;
    c.work = w.work;
    c.engine = by::flat;
    c.form = "scan, by search";
    c.prepare = [&] { there.prepare(); };
    c.start = [&] {
        flat_counts<<<(there.count() + 255) / 256, 256, 0, t.stream()>>>(there.data(), counts.data());
        dynpar::check(cudaGetLastError(), "launching a flat kernel");
        dynpar::check(
            cub::DeviceScan::ExclusiveSum(memory.data(), bytes, counts.data(), there.chains(), count, t.stream()),
            "scanning");
        flat_points<<<blocks_for(w.points), block_threads, 0, t.stream()>>>(there.data(), w.points);
        dynpar::check(cudaGetLastError(), "launching a flat kernel");
        return [] { return run_facts{3, 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return there.is_right(); };
    t.measure(c);
}

}  // namespace nested_benchmark
