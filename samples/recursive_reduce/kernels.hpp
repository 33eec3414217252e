// The kernels of recursive_reduce, also for the benchmark that compares them with sums that do not nest.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

#include "../four.hpp"

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
        const unsigned first = dynpar::this_grid(block).thread_rank();
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
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned size, long long* total) const {
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

/// gpuRecursiveReduce for blocks of any width: the same additions in the same grids, each thread takes as many as there
/// are for it. The engine chooses how many threads a block has: one on a CPU, a warp on the queue engine. `size`:
/// numbers of a block.
struct recursive_reduce_moldable {
    static constexpr const char* name = "recursive_reduce_moldable";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned size) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * size;
        int* const sum = sums + block.block_rank();
        const unsigned rank = block.thread_rank();

        if (size == 2) {
            if (rank == 0) *sum = mine[0] + mine[1];
            return;
        }
        const unsigned half = size / 2;
        for (unsigned i = rank; i < half; i += block.num_threads()) mine[i] += mine[i + half];
        block.sync();

        if (rank == 0) block.launch(*this, dynpar::shape(1, dynpar::at_most(half / 2)), mine, sum, half);
    }
};

/// recursive_reduce2_tail for blocks of any width.
struct recursive_reduce2_moldable {
    static constexpr const char* name = "recursive_reduce2_moldable";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* numbers, int* sums, unsigned stride, unsigned dim) const {
        int* const mine = numbers + std::size_t{block.block_rank()} * dim;
        const unsigned rank = block.thread_rank();

        if (stride == 1) {
            if (rank == 0) sums[block.block_rank()] = mine[0] + mine[1];
            return;
        }
        for (unsigned i = rank; i < stride; i += block.num_threads()) mine[i] += mine[i + stride];
        if (rank == 0 && block.block_rank() == 0) {
            block.then(*this, dynpar::shape(block.num_blocks(), dynpar::at_most(stride / 2)), numbers, sums, stride / 2,
                       dim);
        }
    }
};

/// A recursive sum that stops where a block can finish the job: a block whose part is larger than the cut-off launches
/// one grid that divides it, any other adds up its part. `numbers` is aligned to 16 bytes; the sum is added to
/// `*total`.
struct recursive_reduce_cutoff {
    static constexpr const char* name = "recursive_reduce_cutoff";
    static constexpr unsigned most_parts = 1u << 15;  ///< blocks of a grid
    static constexpr unsigned most_threads = 128;     ///< of a block
    static constexpr unsigned least_cutoff = 4;       ///< parts are multiples of 4: fewer could not be divided

    /// The grid for `count` numbers: as many blocks as it takes, or, if those are too many, as few as can launch them.
    /// A wide grid at the bottom goes through the numbers in order; many grids side by side would be all over them.
    static DYNPAR_FUNCTION dynpar::shape shape_for(unsigned count, unsigned cutoff) {
        const unsigned parts = (count + cutoff - 1) / cutoff;
        return dynpar::shape(parts <= most_parts ? parts : (parts + most_parts - 1) / most_parts,
                             dynpar::at_most(most_threads), most_threads * static_cast<unsigned>(sizeof(long long)));
    }
    /// How many numbers a block of `blocks` takes: a multiple of 4, so that all parts are aligned as `numbers` is.
    static DYNPAR_FUNCTION unsigned part_of(unsigned count, unsigned blocks) {
        return ((count + blocks - 1) / blocks + 3) / 4 * 4;
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* numbers, unsigned count, unsigned cutoff,
                                    long long* total) const {
        const unsigned part = part_of(count, block.num_blocks());
        const std::size_t first = std::size_t{part} * block.block_rank();
        if (first >= count) return;
        const int* const mine = numbers + first;
        const auto left = static_cast<unsigned>(count - first);
        const unsigned my_count = left < part ? left : part;
        if (my_count > cutoff) {
            if (block.thread_rank() == 0)
                block.launch(*this, shape_for(my_count, cutoff), mine, my_count, cutoff, total);
            return;
        }
        const long long sum = sum_of_block(block, sum_of_thread(block, mine, my_count));
        if (block.thread_rank() == 0) dynpar::atomic_add(total, sum);
    }

private:
    /// What this thread adds: 16 bytes a load, 8 loads under way.
    template <class Block>
    static DYNPAR_FUNCTION long long sum_of_thread(const Block& block, const int* numbers, unsigned count) {
        constexpr unsigned under_way = 8;
        const unsigned threads = block.num_threads();
        const unsigned fours = count / 4;
        const auto sum_of = [](const samples::four<int>& f) {
            return (static_cast<long long>(f.value[0]) + f.value[1]) +
                   (static_cast<long long>(f.value[2]) + f.value[3]);
        };
        long long sum = 0;
        unsigned i = block.thread_rank();
        for (; i + (under_way - 1) * threads < fours; i += under_way * threads) {
            samples::four<int> loaded[under_way];
            for (unsigned k = 0; k < under_way; ++k) loaded[k] = samples::load_four(numbers + 4 * (i + k * threads));
            for (unsigned k = 0; k < under_way; ++k) sum += sum_of(loaded[k]);
        }
        for (; i < fours; i += threads) sum += sum_of(samples::load_four(numbers + 4 * i));
        for (i = 4 * fours + block.thread_rank(); i < count; i += threads) sum += numbers[i];
        return sum;
    }

    /// The sum over the threads, for the first one. Right for any number of them.
    template <class Block>
    static DYNPAR_FUNCTION long long sum_of_block(Block& block, long long mine) {
        unsigned width = block.num_threads();
        if (width == 1) return mine;
        long long* const sums = block.template shared<long long>(width);
        if (sums == nullptr) return 0;  // it is in the report
        const unsigned rank = block.thread_rank();
        sums[rank] = mine;
        block.sync();
        while (width > 1) {
            const unsigned half = (width + 1) / 2;
            if (rank + half < width) sums[rank] += sums[rank + half];
            block.sync();
            width = half;
        }
        return sums[0];
    }
};

}  // namespace recursive_reduction
