// A quadtree on the device runtime: `__global__` functions and <<<>>>, launches unchecked. A block does what it does in
// the sample; the launches are fire and forget, and what follows a grid is a tail launch.
#include <cuda_runtime.h>

#include <cstddef>

#include "../../samples/plain_block.cuh"
#include "on_device.hpp"
#include "plain_run.cuh"

namespace sort_benchmark {

namespace {

using namespace quadtree;

/// Places for squares that many blocks divide: plain kernels have no scratch memory.
struct division_pool {
    division* divisions;
    unsigned* used;
    unsigned room;
};

constexpr unsigned bytes = block_memory::bytes;

__device__ unsigned blocks_for(unsigned points) { return (points + points_of_block - 1) / points_of_block; }

__global__ void plain_divide(const tree* t, division_pool pool, unsigned first, unsigned in_spare);
__global__ void plain_divide_large(const tree* t, division_pool pool, unsigned square, unsigned in_spare);

__device__ void plain_divide_squares(const tree* t, const division_pool& pool, unsigned first, unsigned squares,
                                     unsigned in_spare) {
    unsigned blocks = 0;
    for (unsigned k = 0; k < squares; ++k) {
        const node& n = t->nodes[first + k];
        if (!is_divided(*t, n)) continue;
        if (n.count > t->by_block) {
            plain_divide_large<<<1, 1, 0, cudaStreamFireAndForget>>>(t, pool, first + k, in_spare);
        } else {
            ++blocks;
        }
    }
    if (blocks != 0) plain_divide<<<blocks, t->threads, bytes, cudaStreamFireAndForget>>>(t, pool, first, in_spare);
}

__global__ void plain_count(const tree* t, division* d) {
    samples::plain_block block;
    const block_memory memory(block.shared<std::byte>(bytes));
    const node n = t->nodes[d->square];
    const four found =
        count_points(block, memory, {blockIdx.x, gridDim.x}, n, quadtree::array_of(*t, d->in_spare != 0) + n.begin);
    if (threadIdx.x == 0)
        for (unsigned k = 0; k < 4; ++k) atomicAdd(&d->counts.of[k], found.of[k]);
}

__global__ void plain_move(const tree* t, division* d) {
    samples::plain_block block;
    const block_memory memory(block.shared<std::byte>(bytes));
    const node n = t->nodes[d->square];
    move_points(block, memory, {blockIdx.x, gridDim.x}, n, quadtree::array_of(*t, d->in_spare != 0) + n.begin,
                quadtree::array_of(*t, d->in_spare == 0) + n.begin, begins_of(d->counts), &d->taken);
}

__global__ void plain_move_back(const tree* t, unsigned begin, unsigned count) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        t->points[begin + i] = t->spare[begin + i];
}

__global__ void plain_end_large(const tree* t, division_pool pool, const division* d) {
    const unsigned first = add_children(*t, d->square, d->counts);
    if (first == 0) return;
    plain_divide_squares(t, pool, first, 4, 1 - d->in_spare);
    if (d->in_spare != 0) return;
    for (unsigned k = 0; k < 4; ++k) {
        const node& n = t->nodes[first + k];
        if (n.count != 0 && !is_divided(*t, n)) {
            plain_move_back<<<blocks_for(n.count), t->threads, 0, cudaStreamFireAndForget>>>(t, n.begin, n.count);
        }
    }
}

__global__ void plain_divide_large(const tree* t, division_pool pool, unsigned square, unsigned in_spare) {
    const unsigned place = atomicAdd(pool.used, 1u);
    if (place >= pool.room) return;  // and the result is wrong
    division* const d = pool.divisions + place;
    *d = {square, in_spare, {}, {}};
    const unsigned blocks = blocks_for(t->nodes[square].count);
    plain_count<<<blocks, t->threads, bytes, cudaStreamFireAndForget>>>(t, d);
    plain_move<<<blocks, t->threads, bytes, cudaStreamTailLaunch>>>(t, d);
    plain_end_large<<<1, 1, 0, cudaStreamTailLaunch>>>(t, pool, d);
}

__global__ void plain_divide(const tree* t, division_pool pool, unsigned first, unsigned in_spare) {
    samples::plain_block block;
    const block_memory memory(block.shared<std::byte>(bytes));
    const unsigned square = square_of(*t, blockIdx.x, first);
    const unsigned first_child = divide_by_block(block, memory, *t, square, in_spare);
    if (threadIdx.x == 0 && first_child != 0) plain_divide_squares(t, pool, first_child, 4, 1 - in_spare);
}

__global__ void plain_begin(const tree* t, division_pool pool) { plain_divide_squares(t, pool, 0, 1, 0); }

struct tree_form {
    const char* name;
    unsigned by_block;
};
constexpr tree_form forms[] = {{"128 threads", default_by_block}, {a_block_each, never_split}};

}  // namespace

void measure_plain_trees(queue_benchmark::table& t) {
    const tree_work& what = work::tree_6;
    if (!t.wants(what.name)) return;
    const dynpar::scoped_limits raised(raised_limits());
    const unsigned room = 1024 + what.points / 1024;
    const auto divisions = queue_benchmark::on_device<division>(room);
    const auto used = queue_benchmark::on_device<unsigned>(1);
    const division_pool pool{divisions.data(), used.data(), room};
    for (const tree_form& form : forms) {
        settings s;
        s.by_block = form.by_block;
        tree_to_build there(what.points, s);
        measure_plain(
            t, what.name, form.name, what.points,
            [&] {
                there.prepare();
                queue_benchmark::fill(used, 0);
            },
            [&] { return there.is_right(); }, [&] { plain_begin<<<1, 1, 0, t.stream()>>>(there.address(), pool); });
    }
}

}  // namespace sort_benchmark
