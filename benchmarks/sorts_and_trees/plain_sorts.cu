// Quicksort on the device runtime: `__global__` functions and <<<>>>, launches unchecked. A block does what it does in
// the sample; the launches are fire and forget, and what follows a grid is a tail launch.
#include <cuda_runtime.h>

#include "../../samples/plain_block.cuh"
#include "on_device.hpp"
#include "plain_run.cuh"

namespace sort_benchmark {

namespace {

using namespace quicksort;

/// Places for parts that many blocks partition: plain kernels have no scratch memory.
struct split_pool {
    split* splits;
    unsigned* used;
    unsigned room;
};

__global__ void plain_sort_part(job work, split_pool pool, part p);

__device__ void plain_launch_sides(const job& work, const split_pool& pool, const part& p, const sides& taken) {
    const auto bytes = [&](unsigned count) {
        return count <= work.leaf ? bytes_to_sort(count) : bytes_to_partition(work.threads);
    };
    if (taken.less != 0) {
        plain_sort_part<<<1, work.threads, bytes(taken.less), cudaStreamFireAndForget>>>(work, pool,
                                                                                         less_side(p, taken));
    }
    if (taken.greater != 0) {
        plain_sort_part<<<1, work.threads, bytes(taken.greater), cudaStreamFireAndForget>>>(work, pool,
                                                                                            greater_side(p, taken));
    }
}

__global__ void plain_partition(job work, split* s) {
    samples::plain_block block;
    const partition_memory memory(block.shared<std::byte>(bytes_to_partition(work.threads)));
    const part p = s->of;
    partition_tiles(block, memory, array_of(work, p.in_spare != 0) + p.first, array_of(work, p.in_spare == 0) + p.first,
                    p.count, s->pivot, &s->taken);
}

__global__ void plain_sort_sides(job work, split_pool pool, const split* s) {
    const part p = s->of;
    const sides taken = s->taken;
    plain_launch_sides(work, pool, p, taken);
    for (unsigned i = taken.less; i < p.count - taken.greater; ++i) work.keys[p.first + i] = s->pivot;  // a few keys
}

__global__ void plain_sort_part(job work, split_pool pool, part p) {
    samples::plain_block block;
    const key* const from = array_of(work, p.in_spare != 0) + p.first;
    if (p.count <= work.leaf) {
        sort_leaf(block, block.shared<key>(power_of_two_from(p.count)), from, work.keys + p.first, p.count);
        return;
    }
    const partition_memory memory(block.shared<std::byte>(bytes_to_partition(work.threads)));
    const key pivot = choose_pivot(block, memory, from, p.count);
    if (p.count > work.by_block) {
        if (threadIdx.x != 0) return;
        const unsigned place = atomicAdd(pool.used, 1u);
        if (place >= pool.room) return;  // and the result is wrong
        split* const s = pool.splits + place;
        *s = {p, pivot, {0, 0}};
        plain_partition<<<blocks_for(work, p.count), work.threads, bytes_to_partition(work.threads),
                          cudaStreamFireAndForget>>>(work, s);
        plain_sort_sides<<<1, 1, 0, cudaStreamTailLaunch>>>(work, pool, s);
        return;
    }
    if (threadIdx.x == 0) *memory.taken = {0, 0};
    __syncthreads();
    partition_tiles(block, memory, from, array_of(work, p.in_spare == 0) + p.first, p.count, pivot, memory.taken);
    const sides taken = *memory.taken;
    if (threadIdx.x == 0) plain_launch_sides(work, pool, p, taken);
    for (unsigned i = taken.less + threadIdx.x; i < p.count - taken.greater; i += blockDim.x)
        work.keys[p.first + i] = pivot;
}

struct sort_form {
    const char* name;
    unsigned leaf;
    unsigned by_block;
};
constexpr sort_form forms[] = {
    {"128 threads", default_leaf, default_by_block},
    {"128, leaves of 2048", 2048, default_by_block},
    {a_block_each, default_leaf, never_split},
};

}  // namespace

void measure_plain_sorts(queue_benchmark::table& t) {
    const dynpar::scoped_limits raised(raised_limits());
    for (const sort_work& what : work::sorts) {
        if (!t.wants(what.name)) continue;
        const keys_to_sort there(what.keys);
        const unsigned room = 1024 + what.keys / 1024;
        const auto splits = queue_benchmark::on_device<split>(room);
        const auto used = queue_benchmark::on_device<unsigned>(1);
        const split_pool pool{splits.data(), used.data(), room};
        for (const sort_form& form : forms) {
            const job work = there.job(default_threads, form.leaf, form.by_block);
            measure_plain(
                t, what.name, form.name, what.keys,
                [&] {
                    there.prepare();
                    queue_benchmark::fill(used, 0);
                },
                [&] { return there.is_right(); },
                [&] {
                    plain_sort_part<<<1, work.threads, bytes_to_partition(work.threads), t.stream()>>>(
                        work, pool, part{0, what.keys, 0});
                });
        }
    }
}

}  // namespace sort_benchmark
