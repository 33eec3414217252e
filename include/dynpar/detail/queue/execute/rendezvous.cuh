// Queue engine: rendezvous of a block's threads: return, barrier and wait() converge at one instruction. Owns no state.
#pragma once

#include "../memory/state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// A block's threads need not return together, but their warp can continue only when all of them are there. So every
// thread that returns, reaches a barrier or waits comes to one place, a single instruction for all.

enum arrival : unsigned { returned, at_barrier, waiting };

/// All lanes: as __syncwarp(), and they continue converged. Given a constant mask, nvcc tests whether they already are,
/// and if not, what follows is done once for each part of the warp: lanes return from kernels in several parts.
__device__ inline void bring_lanes_together() { __syncwarp(opaque(all_lanes)); }

inline namespace hot {
/// Of a warp: why its lanes have come; `returned` if all have returned.
__device__ __noinline__ inline arrival rendezvous(arrival why) {
    bring_lanes_together();
    const unsigned waits = __ballot_sync(all_lanes, why == waiting);
    const unsigned barriers = __ballot_sync(all_lanes, why == at_barrier);
    return waits != 0 ? waiting : barriers != 0 ? at_barrier : returned;
}
}  // namespace hot

// Barriers of a team. Unlike those of __syncthreads, its warps may come to them from different places: from a kernel,
// from where lanes wait that have returned from it or have no part in it, from a wait, from the search for work.

/// All warps of a team, each with its lanes together.
__device__ inline void sync_team() { barrier_of_warps(this_warp().team, this_team().threads); }

/// All threads of a team: whether any says yes.
__device__ __noinline__ inline bool any_of_team(bool says) {
    bring_lanes_together();
    return barrier_of_warps_or(this_warp().team, this_team().threads, says);
}

/// Of a team.
__device__ __noinline__ inline arrival team_rendezvous(arrival why) {
    if (!any_of_team(why != returned)) return returned;
    return any_of_team(why == waiting) ? waiting : at_barrier;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
