// The reductions of the texts on CUDA, from the first lesson to the last, as block kernels: one source for every
// engine.
//
// A kernel adds up the numbers of each block into one sum a block: kernel(block, numbers, sums, count). All of them are
// right for any count; as published, most need a multiple of what a block adds up. Those whose name ends in
// `_published` are wrong, and are here because they are in print: each says why.
//
// Blocks have 64, 128, 256, 512 or 1024 threads. `per_thread`: how many numbers a block adds up for each of its
// threads. `in_place`: the kernel overwrites the numbers.
#pragma once

#include <cstddef>

#include <dynpar/dynpar.hpp>

#include "../four.hpp"

namespace reduction_ladder {

// ---- what the kernels have in common

/// What holds for a kernel that does not say otherwise.
struct kernel_defaults {
    static constexpr bool as_published = false;       ///< it is wrong, and here because it is in print
    static constexpr unsigned shared_per_thread = 0;  ///< shared memory, in elements for each thread
    static constexpr unsigned shared_fixed = 0;       ///< and in elements for each block
};

/// The numbers of one block: `per_thread` for each of its threads, fewer for the last block. Never none.
template <class T>
struct segment {
    T* numbers;
    unsigned count;
};

template <class Block, class T>
DYNPAR_FUNCTION segment<T> segment_of(const Block& block, T* numbers, unsigned count, unsigned per_thread) {
    const unsigned room = block.num_threads() * per_thread;
    const std::size_t begin = std::size_t{block.block_rank()} * room;
    const std::size_t left = count - begin;
    return {numbers + begin, left < room ? static_cast<unsigned>(left) : room};
}

DYNPAR_FUNCTION constexpr unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

/// One step of an interleaved reduction: the first `stride` numbers take in those that are `stride` further on.
template <class T>
DYNPAR_FUNCTION void add_other_half(unsigned rank, T* numbers, unsigned width, unsigned stride) {
    if (rank < stride && rank + stride < width) numbers[rank] += numbers[rank + stride];
}

/// Halves the first `width` numbers, beginning with `stride`, while the stride is more than `last`. Ends with a
/// barrier.
template <class Block, class T>
DYNPAR_FUNCTION void halve(Block& block, T* numbers, unsigned width, unsigned stride, unsigned last = 0) {
    for (; stride > last; stride /= 2) {
        add_other_half(block.thread_rank(), numbers, width, stride);
        block.sync();
    }
}

/// The same without a loop, for as many as `threads` numbers. Where `threads` is known to the compiler, so are the
/// branches.
template <class Block, class T>
DYNPAR_FUNCTION void halve_unrolled(Block& block, T* numbers, unsigned width, unsigned threads) {
    const unsigned rank = block.thread_rank();
    if (threads >= 1024) add_other_half(rank, numbers, width, 512);
    block.sync();
    if (threads >= 512) add_other_half(rank, numbers, width, 256);
    block.sync();
    if (threads >= 256) add_other_half(rank, numbers, width, 128);
    block.sync();
    if (threads >= 128) add_other_half(rank, numbers, width, 64);
    block.sync();
}

/// What the calling thread has to add of its block's numbers: one of each tile of `num_threads()`, `Tiles` of them.
/// The loads of a full segment do not wait for one another, and neighbours in the block read neighbours in memory.
template <unsigned Tiles, class Block, class T>
DYNPAR_FUNCTION T sum_of_tiles(const Block& block, const T* numbers, unsigned count) {
    const unsigned rank = block.thread_rank();
    const unsigned threads = block.num_threads();
    T sum{};
    if (count == Tiles * threads) {
        for (unsigned tile = 0; tile < Tiles; ++tile) sum += numbers[rank + tile * threads];
    } else {
        for (unsigned i = rank; i < count; i += threads) sum += numbers[i];
    }
    return sum;
}

/// The barrier of one warp, for the first 32 threads of a block where all others have returned. The host engine knows
/// no warps; there the block's barrier does, because it waits for no thread that has returned.
template <class Block>
DYNPAR_FUNCTION void sync_first_warp(Block& block) {
#if DYNPAR_ON_DEVICE
    static_cast<void>(block);
    __syncwarp();
#else
    block.sync();
#endif
}

/// The sum of the values of the first 32 threads, all others having returned; the first thread's result counts. By
/// shuffles, from register to register; on the host engine through `lanes`, room for 32.
template <class Block, class T>
DYNPAR_FUNCTION T sum_of_first_warp(Block& block, T value, T* lanes) {
#if DYNPAR_ON_DEVICE
    static_cast<void>(block), static_cast<void>(lanes);
    for (unsigned offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
#else
    const unsigned rank = block.thread_rank();
    lanes[rank] = value;
    block.sync();
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        add_other_half(rank, lanes, 32, offset);
        block.sync();
    }
    return lanes[rank];
#endif
}

/// The last 64 numbers by one warp, in memory, all other threads having returned. Between a read and the write that
/// another lane makes to the same place there is a barrier, both ways.
template <class Block, class T>
DYNPAR_FUNCTION void halve_in_warp(Block& block, T* numbers, unsigned width) {
    const unsigned rank = block.thread_rank();
    T sum = rank < width ? numbers[rank] : T{};
    for (unsigned stride = 32; stride > 0; stride /= 2) {
        if (rank + stride < width) sum += numbers[rank + stride];
        sync_first_warp(block);
        if (rank < width) numbers[rank] = sum;
        sync_first_warp(block);
    }
}

// ---- one number a thread

/// reduceNeighbored: each number takes in its neighbour, then the next but one, and so on. Of the threads of a warp
/// half, then a quarter, ... have work, and all of them are kept.
struct neighbored : kernel_defaults {
    static constexpr const char* name = "neighbored";
    static constexpr unsigned per_thread = 1;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        // As published, threads beyond the end return here, and those before it still add what lies beyond.
        for (unsigned stride = 1; stride < block.num_threads(); stride *= 2) {
            if (rank % (2 * stride) == 0 && rank + stride < mine.count)
                mine.numbers[rank] += mine.numbers[rank + stride];
            block.sync();
        }
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// reduceNeighboredLess: the same additions by the first threads of the block, so that whole warps are done early.
struct neighbored_less : kernel_defaults {
    static constexpr const char* name = "neighbored_less";
    static constexpr unsigned per_thread = 1;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        for (unsigned stride = 1; stride < block.num_threads(); stride *= 2) {
            const unsigned index = 2 * stride * rank;
            if (index + stride < mine.count) mine.numbers[index] += mine.numbers[index + stride];
            block.sync();
        }
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// reduceInterleaved: the first half takes in the second, so that neighbours in the block read neighbours in memory.
struct interleaved : kernel_defaults {
    static constexpr const char* name = "interleaved";
    static constexpr unsigned per_thread = 1;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        halve(block, mine.numbers, mine.count, block.num_threads() / 2);
        if (block.thread_rank() == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

// ---- several numbers a thread

/// reduceUnrolling2, 4, 8 and 16: each thread first adds up one number of each of several tiles.
template <unsigned Tiles>
struct unrolling : kernel_defaults {
    static constexpr const char* name = Tiles == 2   ? "unrolling2"
                                        : Tiles == 4 ? "unrolling4"
                                        : Tiles == 8 ? "unrolling8"
                                                     : "unrolling16";
    static constexpr unsigned per_thread = Tiles;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        // As published, a thread that lacks one of its numbers adds none of the others either, and they are lost.
        const T sum = sum_of_tiles<Tiles>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve(block, mine.numbers, smaller(mine.count, block.num_threads()), block.num_threads() / 2);
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// reduceUnrolling8 with a pointer that walks from tile to tile (the third exercise).
struct unrolling8_pointer : kernel_defaults {
    static constexpr const char* name = "unrolling8_pointer";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        if (mine.count == per_thread * threads) {
            const T* next = mine.numbers + rank;
            T sum{};
            for (int i = 0; i < 8; ++i) {
                sum += *next;
                next += threads;
            }
            mine.numbers[rank] = sum;
        } else {
            const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
            if (rank < mine.count) mine.numbers[rank] = sum;
        }
        block.sync();
        halve(block, mine.numbers, smaller(mine.count, threads), threads / 2);
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

// ---- the last warp without a loop

/// reduceUnrollWarps8, word for word: WRONG. It takes the lanes of a warp to go in step, and since Volta they need not:
/// each has a program counter of its own. `volatile` makes the compiler read and write memory each time; it orders
/// nothing between lanes. A lane may be at its second line before another has begun with the first. Compilers happen to
/// keep the lanes together here; the host engine, where one thread runs until it must wait, shows the error every time.
struct unroll_warps8_published : kernel_defaults {
    static constexpr const char* name = "unroll_warps8_published";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;
    static constexpr bool as_published = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        if (mine.count < per_thread * threads) {  // what was published knows whole blocks only
            halve(block, mine.numbers, smaller(mine.count, threads), threads / 2);
        } else {
            halve(block, mine.numbers, threads, threads / 2, 32);
            if (rank < 32) {
                volatile T* const v = mine.numbers;
                v[rank] += v[rank + 32];
                v[rank] += v[rank + 16];
                v[rank] += v[rank + 8];
                v[rank] += v[rank + 4];
                v[rank] += v[rank + 2];
                v[rank] += v[rank + 1];
            }
        }
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// The same put right by barriers of the warp.
struct unroll_warps8_syncwarp : kernel_defaults {
    static constexpr const char* name = "unroll_warps8_syncwarp";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        const unsigned width = smaller(mine.count, threads);
        const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve(block, mine.numbers, width, threads / 2, 32);
        if (rank >= 32) return;
        halve_in_warp(block, mine.numbers, width);
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// The same by shuffles: the last warp needs no memory at all.
struct unroll_warps8_shuffle : kernel_defaults {
    static constexpr const char* name = "unroll_warps8_shuffle";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;
    static constexpr unsigned shared_fixed = 32;  // used on the host engine alone

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        T* const lanes = block.template shared<T>(shared_fixed);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        const unsigned width = smaller(mine.count, threads);
        T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve(block, mine.numbers, width, threads / 2, 32);
        if (rank >= 32) return;
        sum = rank < width ? mine.numbers[rank] : T{};
        if (rank + 32 < width) sum += mine.numbers[rank + 32];
        sum = sum_of_first_warp(block, sum, lanes);
        if (rank == 0) sums[block.block_rank()] = sum;
    }
};

// ---- no loop at all

/// reduceCompleteUnrollWarps8, with the warp's barriers that it lacks as published.
struct complete_unroll8 : kernel_defaults {
    static constexpr const char* name = "complete_unroll8";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned width = smaller(mine.count, block.num_threads());
        const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve_unrolled(block, mine.numbers, width, block.num_threads());
        if (rank >= 32) return;
        halve_in_warp(block, mine.numbers, width);
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// The same with the block's barrier in place of `volatile` (the fourth exercise). As published, all 32 threads add in
/// every step, also those whose number another thread reads in the same step; here those do that the sum needs.
struct complete_unroll8_barriers : kernel_defaults {
    static constexpr const char* name = "complete_unroll8_barriers";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned width = smaller(mine.count, block.num_threads());
        const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve_unrolled(block, mine.numbers, width, block.num_threads());
        for (unsigned stride = 32; stride > 0; stride /= 2) {
            add_other_half(rank, mine.numbers, width, stride);
            block.sync();
        }
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// reduceCompleteUnroll: the block's size is a template argument, so that the compiler decides the branches. To be
/// launched with blocks of that size only: see `visit_kernels` for the switch.
template <unsigned BlockSize>
struct complete_unroll8_template : kernel_defaults {
    static constexpr const char* name = "complete_unroll8_template";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = true;
    static constexpr unsigned max_threads = BlockSize;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned width = smaller(mine.count, BlockSize);
        const T sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        if (rank < mine.count) mine.numbers[rank] = sum;
        block.sync();
        halve_unrolled(block, mine.numbers, width, BlockSize);
        if (rank >= 32) return;
        halve_in_warp(block, mine.numbers, width);
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

// ---- the other textbook's way up: two numbers a thread from the start

/// The reduction tree of a segment, neighbour by neighbour: control divergence, and reads that lie ever further apart.
struct segmented : kernel_defaults {
    static constexpr const char* name = "segmented";
    static constexpr unsigned per_thread = 2;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        for (unsigned stride = 1; stride <= block.num_threads(); stride *= 2) {
            if (rank % stride == 0 && 2 * rank + stride < mine.count) {
                mine.numbers[2 * rank] += mine.numbers[2 * rank + stride];
            }
            block.sync();
        }
        if (rank == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// Coalesced reads, and threads that are done lie together.
struct coalesced : kernel_defaults {
    static constexpr const char* name = "coalesced";
    static constexpr unsigned per_thread = 2;
    static constexpr bool in_place = true;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, T* numbers, T* sums, unsigned count) const {
        const segment<T> mine = segment_of(block, numbers, count, per_thread);
        halve(block, mine.numbers, mine.count, block.num_threads());
        if (block.thread_rank() == 0) sums[block.block_rank()] = mine.numbers[0];
    }
};

/// Each number is read once from global memory; the tree is in shared memory, and the input stays as it was.
struct shared_memory : kernel_defaults {
    static constexpr const char* name = "shared_memory";
    static constexpr unsigned per_thread = 2;
    static constexpr bool in_place = false;
    static constexpr unsigned shared_per_thread = 1;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, const T* numbers, T* sums, unsigned count) const {
        const segment<const T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        T* const tree = block.template shared<T>(threads);
        tree[rank] = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        block.sync();
        halve(block, tree, threads, threads / 2);
        if (rank == 0) sums[block.block_rank()] = tree[0];
    }
};

/// Thread coarsening: each thread adds up 2 * Factor numbers before the tree begins, so that the tree is paid for less
/// often.
template <unsigned Factor>
struct coarsened : kernel_defaults {
    static constexpr const char* name = Factor == 4 ? "coarsened4" : "coarsened8";
    static constexpr unsigned per_thread = 2 * Factor;
    static constexpr bool in_place = false;
    static constexpr unsigned shared_per_thread = 1;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, const T* numbers, T* sums, unsigned count) const {
        const segment<const T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        T* const tree = block.template shared<T>(threads);
        tree[rank] = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        block.sync();
        halve(block, tree, threads, threads / 2);
        if (rank == 0) sums[block.block_rank()] = tree[0];
    }
};

/// The coarsened kernel as it is in one of the texts: WRONG. A block's segment has 2 * 4 tiles, and the loop goes over
/// 4 of them: half of the numbers are never read. The text's time for it is that of half the work.
struct coarsened4_published : kernel_defaults {
    static constexpr const char* name = "coarsened4_published";
    static constexpr unsigned per_thread = 8;
    static constexpr bool in_place = false;
    static constexpr bool as_published = true;
    static constexpr unsigned shared_per_thread = 1;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, const T* numbers, T* sums, unsigned count) const {
        const segment<const T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        T* const tree = block.template shared<T>(threads);
        T sum{};
        for (unsigned tile = 0; tile < 4; ++tile) {
            if (rank + tile * threads < mine.count) sum += mine.numbers[rank + tile * threads];
        }
        tree[rank] = sum;
        block.sync();
        halve(block, tree, threads, threads / 2);
        if (rank == 0) sums[block.block_rank()] = tree[0];
    }
};

// ---- one step beyond the texts

using samples::four;
using samples::load_four;

/// Coarsening by 16 numbers a thread in four loads, and warps that add up by shuffles: two barriers in all.
/// `numbers` must be aligned to 16 bytes, as all that an engine allocates is.
struct coarsened_vector : kernel_defaults {
    static constexpr const char* name = "coarsened_vector";
    static constexpr unsigned per_thread = 16;
    static constexpr bool in_place = false;
    static constexpr unsigned shared_per_thread = 1;

    template <class Block, class T>
    DYNPAR_FUNCTION void operator()(Block& block, const T* numbers, T* sums, unsigned count) const {
        const segment<const T> mine = segment_of(block, numbers, count, per_thread);
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        T* const tree = block.template shared<T>(threads);
        T sum{};
        if (mine.count == per_thread * threads) {
            four<T> loaded[4];
            for (unsigned i = 0; i < 4; ++i) loaded[i] = load_four(mine.numbers + 4 * (rank + i * threads));
            for (unsigned i = 0; i < 4; ++i) {
                sum += (loaded[i].value[0] + loaded[i].value[1]) + (loaded[i].value[2] + loaded[i].value[3]);
            }
        } else {
            sum = sum_of_tiles<per_thread>(block, mine.numbers, mine.count);
        }
#if DYNPAR_ON_DEVICE
        for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (rank % 32 == 0) tree[rank / 32] = sum;
        block.sync();
        if (rank >= 32) return;
        sum = sum_of_first_warp(block, rank < threads / 32 ? tree[rank] : T{}, tree);
        if (rank == 0) sums[block.block_rank()] = sum;
#else
        tree[rank] = sum;
        block.sync();
        halve(block, tree, threads, threads / 2);
        if (rank == 0) sums[block.block_rank()] = tree[0];
#endif
    }
};

// ---- the end of all of them

/// Adds the blocks' sums up into `*total`, in a wider type. One block; the texts leave this to the CPU.
struct add_sums {
    static constexpr const char* name = "add_sums";

    template <class Block, class T, class Total>
    DYNPAR_FUNCTION void operator()(Block& block, const T* sums, unsigned count, Total* total) const {
        const unsigned rank = block.thread_rank();
        const unsigned threads = block.num_threads();
        Total* const tree = block.template shared<Total>(threads);
        Total part{};
        unsigned i = rank;
        for (; i + 7 * std::size_t{threads} < count; i += 8 * threads) {
            T loaded[8];  // eight loads on their way at once: this grid has one block to hide their latency
            for (unsigned k = 0; k < 8; ++k) loaded[k] = sums[i + k * threads];
            for (unsigned k = 0; k < 8; ++k) part += loaded[k];
        }
        for (; i < count; i += threads) part += sums[i];
        tree[rank] = part;
        block.sync();
        halve(block, tree, threads, threads / 2);
        if (rank == 0) *total = tree[0];
    }
};

}  // namespace reduction_ladder
