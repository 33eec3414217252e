// A grid whose threads have a loop each that they share: few loops are spread over many warps.
//
//     block.launch(visit{}, dynpar::shape_for_loops(block, vertices, dynpar::at_most(256)), vertices, ...);
//
//     const unsigned i = dynpar::loop_of(block, vertices);  // in visit
//     const unsigned edges = i < vertices ? degree(i) : 0;
//     dynpar::nested_for(block, edges, ...);
#pragma once

#include "collectives.hpp"
#include "platform.hpp"
#include "shape.hpp"

namespace dynpar {

namespace detail {

/// Warps that fill a GPU: as long as there are no more loops each has a warp to itself.
inline constexpr unsigned warps_for_loops = 2048;

}  // namespace detail

/// A shape for a grid that has so many loops of nested_for.hpp or nested_reduce.hpp: as `shape_for`, but with as many
/// warps as fill a GPU, if there are so many loops. Its threads ask `loop_of` for the number of their loop. On the host
/// engine it is what `shape_for` gives.
#if defined(__NVCC__)
#pragma nv_exec_check_disable  // an engine is asked by the host alone
#endif
template <class Where>
DYNPAR_FUNCTION shape shape_for_loops(const Where& where, unsigned long long loops, at_most most, unsigned shared = 0) {
    const unsigned long long few = loops < detail::warps_for_loops ? loops : detail::warps_for_loops;
    const shape wide = shape_for(where, few * warp_threads, most, shared);
    const unsigned warps = wide.threads.x / warp_threads;
    if (warps == 0 || loops >= few * warp_threads) return shape_for(where, loops, most, shared);
    return shape(static_cast<unsigned>((few + warps - 1) / warps), wide.threads.x, shared);
}

/// The number of the calling thread's loop in a grid that has `loops`, or `loops` if the thread has none. In a grid of
/// at least as many threads, in one dimension, each number below `loops` is that of one thread. A warp has numbers that
/// follow each other, and where blocks consist of whole warps none has many more than another one.
template <class Block>
DYNPAR_FUNCTION unsigned loop_of(const Block& block, unsigned loops) {
    const unsigned blocks = block.num_blocks(), threads = block.num_threads(), rank = block.thread_rank();
    const unsigned of_block = loops / blocks + (loops % blocks != 0 ? 1 : 0);
    unsigned place = rank;
    if (threads % warp_threads == 0) {
        const unsigned warps = threads / warp_threads, of_warp = (of_block + warps - 1) / warps;
        const unsigned lane = rank % warp_threads;
        place = lane < of_warp ? rank / warp_threads * of_warp + lane : threads;
    }
    if (place >= of_block) return loops;
    const unsigned long long number = static_cast<unsigned long long>(block.block_rank()) * of_block + place;
    return number < loops ? static_cast<unsigned>(number) : loops;
}

}  // namespace dynpar
