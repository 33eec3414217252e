// What the device runtime does without any code of dynpar: `__global__` functions and <<<>>>, launches unchecked, as
// published.
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>

#include <dynpar/limits.hpp>

#include "device_memory.hpp"
#include "table.hpp"

namespace queue_benchmark {
namespace {

using counter = unsigned long long;

__global__ void empty_tree(counter* grids, int levels, unsigned threads) {
    if (threadIdx.x != 0) return;
    atomicAdd(grids, counter{1});
    if (levels == 0) return;
    empty_tree<<<1, threads, 0, cudaStreamFireAndForget>>>(grids, levels - 1, threads);
    empty_tree<<<1, threads, 0, cudaStreamFireAndForget>>>(grids, levels - 1, threads);
}

__global__ void launch_many(counter* grids, int children, unsigned threads) {
    atomicAdd(grids, counter{1});
    for (int i = 0; i < children; ++i) empty_tree<<<1, threads, 0, cudaStreamFireAndForget>>>(grids, 0, threads);
}

enum class way { fire_and_forget, default_stream, tail };

template <way Launched>
__global__ void gpu_recursive_reduce(int* numbers, int* sums, unsigned size) {
    int* const mine = numbers + blockIdx.x * blockDim.x;
    int* const sum = sums + blockIdx.x;
    if (size == 2) {
        if (threadIdx.x == 0) *sum = mine[0] + mine[1];
        return;
    }
    const unsigned half = size / 2;
    if (threadIdx.x < half) mine[threadIdx.x] += mine[threadIdx.x + half];
    __syncthreads();
    if (threadIdx.x != 0) return;
    if constexpr (Launched == way::fire_and_forget) {
        gpu_recursive_reduce<Launched><<<1, half, 0, cudaStreamFireAndForget>>>(mine, sum, half);
    } else {
        gpu_recursive_reduce<Launched><<<1, half>>>(mine, sum, half);
    }
}

template <way Launched>
__global__ void gpu_recursive_reduce2(int* numbers, int* sums, unsigned stride, unsigned dim) {
    int* const mine = numbers + blockIdx.x * dim;
    if (stride == 1) {
        sums[blockIdx.x] = mine[0] + mine[1];
        return;
    }
    mine[threadIdx.x] += mine[threadIdx.x + stride];
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    if constexpr (Launched == way::fire_and_forget) {
        gpu_recursive_reduce2<Launched>
            <<<gridDim.x, stride / 2, 0, cudaStreamFireAndForget>>>(numbers, sums, stride / 2, dim);
    } else {
        gpu_recursive_reduce2<Launched>
            <<<gridDim.x, stride / 2, 0, cudaStreamTailLaunch>>>(numbers, sums, stride / 2, dim);
    }
}

void check_launch() { dynpar::check(cudaGetLastError(), "launching a plain kernel"); }

/// Rows of grids that count themselves.
void measure_counted(table& t, const char* work, std::uint64_t grids, const std::function<void(counter*)>& launch) {
    if (!t.wants(work)) return;
    const dynpar::buffer<counter> count = on_device<counter>(1);
    contender c;
    c.work = work;
    c.engine = by::plain_cdp2;
    c.form = "fire and forget";
    c.may_be_wrong = true;
    c.prepare = [&] { fill(count, 0); };
    c.start = [&] {
        launch(count.data());
        check_launch();
        return [&] { return run_facts{count.to_vector()[0], 0, {}}; };
    };
    c.is_right = [&](const run_facts& f) { return f.grids == grids; };
    t.measure(c);
}

void measure_sum(table& t, const char* work, std::size_t count, const char* form, std::uint64_t grids,
                 unsigned most_runs, const std::function<void(const blocks_to_add&)>& launch) {
    if (!t.wants(work)) return;
    const blocks_to_add data(count);
    contender c;
    c.work = work;
    c.engine = by::plain_cdp2;
    c.form = form;
    c.may_be_wrong = true;
    c.most_runs = most_runs;
    c.prepare = [&] { data.prepare(); };
    c.start = [&] {
        launch(data);
        check_launch();
        return [&] { return run_facts{grids, 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return data.sums_are_right(); };
    t.measure(c);
}

}  // namespace

void measure_plain_cdp2(table& t) {
    dynpar::limits limits;
    limits.pending_launches = pending_launches;
    const dynpar::scoped_limits raised(limits);
    const cudaStream_t stream = t.stream();

    measure_counted(t, work::empty_task, 1, [&](counter* n) { empty_tree<<<1, 1, 0, stream>>>(n, 0, 1); });
    measure_counted(t, work::tree_14, 32767, [&](counter* n) { empty_tree<<<1, 32, 0, stream>>>(n, 14, 32); });
    measure_counted(t, work::tree_64, 8191, [&](counter* n) { empty_tree<<<1, 64, 0, stream>>>(n, 12, 64); });
    measure_counted(t, work::many_64, 4097, [&](counter* n) { launch_many<<<1, 1, 0, stream>>>(n, 4096, 64); });

    constexpr unsigned levels = 9;  // 512 numbers are halved until 2 are left
    measure_sum(t, work::reduce_20, 1u << 20, "fire and forget", 1 + (1u << 20) / block_size * (levels - 1), 0,
                [&](const blocks_to_add& d) {
                    gpu_recursive_reduce<way::fire_and_forget>
                        <<<d.blocks(), block_size, 0, stream>>>(d.numbers(), d.sums(), block_size);
                });
    // With fire and forget 2^24 loses launches, at any limit that could be set: its sum is wrong.
    measure_sum(t, work::reduce_24, 1u << 24, "default stream", 1 + (1u << 24) / block_size * (levels - 1), 3,
                [&](const blocks_to_add& d) {
                    gpu_recursive_reduce<way::default_stream>
                        <<<d.blocks(), block_size, 0, stream>>>(d.numbers(), d.sums(), block_size);
                });
    measure_sum(t, work::reduce2_20, 1u << 20, "fire and forget", levels, 0, [&](const blocks_to_add& d) {
        gpu_recursive_reduce2<way::fire_and_forget>
            <<<d.blocks(), block_size / 2, 0, stream>>>(d.numbers(), d.sums(), block_size / 2, block_size);
    });
    measure_sum(t, work::reduce2_20, 1u << 20, "tail launch", levels, 0, [&](const blocks_to_add& d) {
        gpu_recursive_reduce2<way::tail>
            <<<d.blocks(), block_size / 2, 0, stream>>>(d.numbers(), d.sums(), block_size / 2, block_size);
    });
}

}  // namespace queue_benchmark
