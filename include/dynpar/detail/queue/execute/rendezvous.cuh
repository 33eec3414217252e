// Queue engine: rendezvous of a block's threads: return, barrier and wait() converge at one instruction. Owns the
// votes of a team (team_state::votes, other_votes, warp_state::turns).
#pragma once

#include "../memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

// A block's threads need not return together, but their warp can continue only when all of them are there. So every
// thread that returns, reaches a barrier or waits comes to one place, a single instruction for all.

enum arrival : unsigned { returned, at_barrier, waiting };

inline namespace hot {
/// Of a warp: why its lanes have come; `returned` if all have returned.
__device__ __noinline__ inline arrival rendezvous(arrival why) {
    sync_warp();
    const unsigned waits = __ballot_sync(all_lanes, why == waiting);
    const unsigned barriers = __ballot_sync(all_lanes, why == at_barrier);
    return waits != 0 ? waiting : barriers != 0 ? at_barrier : returned;
}
}  // namespace hot

// Barriers of a team. Unlike those of __syncthreads, its warps may come to them from different places: from a kernel,
// from where lanes wait that have returned from it or have no part in it, from a wait, from the search for work.

/// All warps of a team, each with its lanes together.
__device__ inline void sync_team() { barrier_of_warps(this_warp().team, this_team().threads); }

// A vote takes one barrier. Who says yes says so in the word of this turn; behind the barrier all read it, and one
// thread clears that of the turn before, which all have read, since all have come to this barrier. It is used again two
// votes later. CUDA's own barrier with a vote, barrier.red, answers one question, and runs with it took as long.

/// All threads of a team: whether any says yes, to two questions.
struct team_votes {
    bool first, second;
};
__device__ __forceinline__ team_votes vote_of_team(bool first, bool second) {
    warp_state& warp = this_warp();
    sync_warp();
    const unsigned number = warp.team;
    team_state& team = team_of_number(number);
    // The teams of one warp have numbers of different lengths.
    const unsigned shift = (31 - static_cast<unsigned>(__clz(static_cast<int>(number)))) * 8;
    const unsigned turn = warp.turns >> shift & 0xff;
    if (first) store_relaxed_in_block(team.votes[turn], 1u);
    if (second) store_relaxed_in_block(team.other_votes[turn], 1u);
    sync_warp();  // threads may come one by one; the barrier counts whole warps
    barrier_of_warps(number, team.threads);
    const team_votes result{load_relaxed_in_block(team.votes[turn]) != 0,
                            load_relaxed_in_block(team.other_votes[turn]) != 0};
    if (lane_rank() == 0) {
        warp.turns += (turn + 1 == vote_turns ? 0u - turn : 1u) << shift;
        if (threadIdx.x == team.first_thread) {
            const unsigned before = turn == 0 ? vote_turns - 1 : turn - 1;
            store_relaxed_in_block(team.votes[before], 0u);
            store_relaxed_in_block(team.other_votes[before], 0u);
        }
    }
    sync_warp();
    return result;
}
__device__ __noinline__ inline bool any_of_team(bool says) { return vote_of_team(says, false).first; }

/// Of a team.
__device__ __noinline__ inline arrival team_rendezvous(arrival why) {
    const team_votes votes = vote_of_team(why != returned, why == waiting);
    return votes.second ? waiting : votes.first ? at_barrier : returned;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
