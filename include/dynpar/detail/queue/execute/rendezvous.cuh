// Queue engine: where the threads of a block meet, on a warp or on a worker block.
#pragma once

#include "../memory/state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// A block's threads need not return together, and a warp can go on only when all of them are there. So whoever returns, reaches a barrier
// or waits comes to one place, one instruction for all.

enum arrival : unsigned { returned, at_barrier, waiting };

/// All lanes: as __syncwarp(), and they go on as one. With a constant mask nvcc looks whether they are together already, and if not, what
/// comes next is done for each part of the warp: kernels return in several.
__device__ inline void bring_lanes_together() {
    __syncwarp(opaque(all_lanes));
}

inline namespace hot {
/// Of a warp: why it met. `returned` if all have.
__device__ __noinline__ inline arrival rendezvous(arrival why) {
    bring_lanes_together();
    const unsigned waits = __ballot_sync(all_lanes, why == waiting);
    const unsigned barriers = __ballot_sync(all_lanes, why == at_barrier);
    return waits != 0 ? waiting : barriers != 0 ? at_barrier : returned;
}
}  // namespace hot

// Barriers of the worker block. Unlike those of __syncthreads its warps may come to them from different places: from a kernel, from where
// those wait that have returned from it or have no part in it, from a wait, from the search for work.

__device__ inline void sync_block() { block_barrier(); }

/// All warps: whether any of them says so, to two questions. Votes are counted and never taken back, so that there is nothing to clear.
struct block_votes {
    bool first, second;
};
__device__ __noinline__ inline block_votes vote_of_block(bool first, bool second) {
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    bring_lanes_together();
    // Every thread for itself: a vote of the warp first, of which one lane makes use, has been compiled into that lane's branch.
    if (first) fetch_add_relaxed(gang.votes[0], 1u);
    if (second) fetch_add_relaxed(gang.votes[1], 1u);
    __syncwarp();  // threads may come one by one; the block's barrier counts whole warps
    sync_block();
    const unsigned votes[2] = {load_relaxed(gang.votes[0]), load_relaxed(gang.votes[1])};
    const block_votes result{votes[0] != warp.votes_seen[0], votes[1] != warp.votes_seen[1]};
    sync_block();
    if (lane_rank() == 0) {
        warp.votes_seen[0] = votes[0];
        warp.votes_seen[1] = votes[1];
    }
    __syncwarp();
    return result;
}
__device__ inline bool any_of_block(bool says) { return vote_of_block(says, false).first; }

/// Of a worker block.
__device__ __noinline__ inline arrival block_rendezvous(arrival why) {
    const block_votes votes = vote_of_block(why != returned, why == waiting);
    return votes.second ? waiting : votes.first ? at_barrier : returned;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
