// What the flat programs on graphs have in common.
#pragma once

#include <dynpar/detail/cuda_memory.hpp>

#include "../cooperative_grid.cuh"

namespace flat {

using namespace cooperative;

inline constexpr unsigned block_threads = 512;
inline constexpr unsigned shared_bytes = 16;  ///< of each block

inline const dynpar::memory_space& device_memory() { return dynpar::detail::cuda_memory(); }

/// How many bits of the lanes before this one are set.
__device__ inline unsigned bits_before(unsigned bits, unsigned lane) {
    return static_cast<unsigned>(__popc(bits & ((1u << lane) - 1)));
}

/// All lanes of a warp: a place in a list for each lane that has something to put there.
__device__ inline unsigned place_in(unsigned* count, bool has_something, unsigned lane) {
    const unsigned bits = __ballot_sync(all_lanes, has_something);
    unsigned first = 0;
    if (lane == 0 && bits != 0) first = atomicAdd(count, static_cast<unsigned>(__popc(bits)));
    return __shfl_sync(all_lanes, first, 0) + bits_before(bits, lane);
}

}  // namespace flat
