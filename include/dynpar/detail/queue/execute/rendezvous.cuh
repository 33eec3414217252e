// Queue engine: rendezvous of a block's threads: return, barrier and wait() converge at one instruction. Owns the votes
// of a worker block (gang_state::votes, warp_state::votes_seen).
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

// Barriers of the worker block. Unlike those of __syncthreads, its warps may come to them from different places: from a
// kernel, from where lanes wait that have returned from it or have no part in it, from a wait, from the search for
// work.

__device__ inline void sync_block() { block_barrier(); }

/// All warps: whether any thread says yes, to two questions. Votes are counted and never taken back, so there is
/// nothing to clear.
struct block_votes {
    bool first, second;
};
__device__ __noinline__ inline block_votes vote_of_block(bool first, bool second) {
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    bring_lanes_together();
    // Every thread adds for itself: an earlier vote of the warp, whose result only one lane uses, was compiled into
    // that lane's branch.
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
