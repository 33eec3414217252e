// The kernels of recursive_reduce, also for the benchmark that compares them with sums that do not nest.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

namespace recursive_reduction {

/// gpuRecursiveReduce: a barrier, a child for the block's other half, and a wait for it.
struct recursive_reduce_sync {
    static constexpr const char* name = "recursive_reduce_sync";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned size) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * block.num_threads();
        int* const sum = sums + block.block_rank();
        const unsigned rank = block.thread_rank();

        if (size == 2) {
            if (rank == 0) *sum = mine[0] + mine[1];
            return;  // the whole block, so that nobody is left to wait
        }
        const unsigned half = size / 2;
        if (rank < half) mine[rank] += mine[rank + half];
        block.sync();  // the child reads what all threads wrote, and is promised that only after a barrier

        if (rank == 0) block.launch(*this, dynpar::shape(1, half), mine, sum, half);
        block.wait();
        // That was cudaDeviceSynchronize by one thread, and a barrier. wait() is called by all threads of the block,
        // and all of them see *sum here. As published, nothing is done with it.
    }
};

/// The sum of the blocks' sums. Right with any number of threads, so that the engine may choose how many.
struct add_up {
    static constexpr const char* name = "add_up";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* sums, unsigned count, long long* total) const {
        const unsigned first = block.block_rank() * block.num_threads() + block.thread_rank();
        const unsigned step = block.num_blocks() * block.num_threads();
        long long part = 0;
        for (unsigned i = first; i < count; i += step) part += sums[i];
        dynpar::atomic_add(total, part);
    }
};

/// The same without a wait, for GPUs that have none. No block has a use for its sum while it runs; what needs the sums
/// of all blocks is a continuation of the first grid. It begins when that grid and all that was launched from it,
/// however deep, is complete.
struct recursive_reduce_then {
    static constexpr const char* name = "recursive_reduce_then";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned size,
                                    long long* total) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * block.num_threads();
        int* const sum = sums + block.block_rank();
        const unsigned rank = block.thread_rank();

        // Once for the grid, not once for each block; and a child needs none, because the first grid's waits for it.
        if (block.depth() == 0 && block.block_rank() == 0 && rank == 0) {
            block.then(add_up{}, dynpar::shape(16, dynpar::at_most(256)), sums, block.num_blocks(), total);
        }

        if (size == 2) {
            if (rank == 0) *sum = mine[0] + mine[1];
            return;
        }
        const unsigned half = size / 2;
        if (rank < half) mine[rank] += mine[rank + half];
        block.sync();

        if (rank == 0) block.launch(*this, dynpar::shape(1, half), mine, sum, half, total);
    }
};

/// gpuRecursiveReduceNosync, as published: both barriers and the wait are gone. Leaving out the wait is right.
struct recursive_reduce_nosync {
    static constexpr const char* name = "recursive_reduce_nosync";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned size) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * block.num_threads();
        int* const sum = sums + block.block_rank();
        const unsigned rank = block.thread_rank();

        if (size == 2) {
            if (rank == 0) *sum = mine[0] + mine[1];
            return;
        }
        const unsigned half = size / 2;
        if (rank < half) {
            mine[rank] += mine[rank + half];
            // Here a block.sync() is missing. A child sees what the thread that launches it wrote before, and what the
            // block wrote before a barrier that this thread has passed; it is promised nothing else. This child reads
            // mine[1], mine[2], ..., which other threads of this block write, perhaps later. That it comes out right on
            // most machines is luck: a launch takes longer than an addition.
            if (rank == 0) block.launch(*this, dynpar::shape(1, half), mine, sum, half);
        }
    }
};

/// gpuRecursiveReduce2, as published: one child grid with as many blocks as its parent, where the kernels above launch
/// one for each block; blocks begin with half as many threads as numbers, so that no thread is idle. `stride`: from a
/// number to the one that is added to it; `dim`: numbers of a block.
struct recursive_reduce2 {
    static constexpr const char* name = "recursive_reduce2";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned stride, unsigned dim) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * dim;
        const unsigned rank = block.thread_rank();

        if (stride == 1) {
            sums[block.block_rank()] = mine[0] + mine[1];
            return;
        }
        mine[rank] += mine[rank + stride];
        // Here is an order missing that no barrier can give. The child works on the numbers of all blocks, and other
        // blocks of this grid may not have begun: their numbers are halved by the child first, or by both at once. A
        // barrier orders one block, and no block can wait for another. See the next kernel.
        if (rank == 0 && block.block_rank() == 0) {
            block.launch(*this, dynpar::shape(block.num_blocks(), stride / 2), numbers, sums, stride / 2, dim);
        }
    }
};

/// gpuRecursiveReduce2 put right by one word: the next grid is not a child but a continuation. It begins when this
/// whole grid is complete and sees all that it wrote. One thread gives it, for the whole grid.
struct recursive_reduce2_tail {
    static constexpr const char* name = "recursive_reduce2_tail";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned stride, unsigned dim) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * dim;
        const unsigned rank = block.thread_rank();

        if (stride == 1) {
            sums[block.block_rank()] = mine[0] + mine[1];
            return;
        }
        mine[rank] += mine[rank + stride];
        if (rank == 0 && block.block_rank() == 0) {
            block.then(*this, dynpar::shape(block.num_blocks(), stride / 2), numbers, sums, stride / 2, dim);
        }
    }
};

}  // namespace recursive_reduction
