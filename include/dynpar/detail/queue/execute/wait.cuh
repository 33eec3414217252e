// Queue engine: wait() of a lane, of a warp and of a team: whether there is stack for it, and until when it
// lasts. Owns team_state's arrived and first_waiter, and warp_state::deepest_wait; adds the children of a waiting block
// to its node's counter.
#pragma once

#include "../join/completion.cuh"
#include "../deadline.cuh"
#include "../queues/staged_blocks.cuh"
#include "rendezvous.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// Whether a block at this depth may wait. The number of nested waits has a limit of its own, and each takes stack. How
/// much stack a kernel needs is not known beforehand, so what is left is measured.
__device__ inline bool may_wait(unsigned depth) {
    if (depth >= engine().sync_depth) return false;
    const int used = static_cast<int>(this_warp().stack_begin - stack_place());
    return used + static_cast<int>(stack_kept_free) <= static_cast<int>(engine().stack_bytes);
}

// The scheduler's only recursion: a waiting warp runs deeper tasks. The first two are in worker.cuh, the others in
// run_team.cuh.
__device__ bool nested_step(int depth, arena_index awaited);
__device__ bool is_wanted_in_wait(int depth);

/// All lanes of a round in which some wait, including those that have returned (`own` is 0). True for a lane whose
/// children are complete. What runs on top of the round is deeper than all blocks that wait in it, since it keeps all
/// of them from going on. `grid` and `target`: this lane's children that count on `grid` are to count on `target`; 0:
/// they stay. Not before all lanes have come: until then others launch.
__device__ __noinline__ inline bool wait_in_round(arena_index own, std::uint32_t depth, arena_index grid,
                                                  arena_index target) {
    __syncwarp();
    if (__any_sync(all_lanes, target != 0)) point_all_to_targets(grid, target);
    bool done = own != 0 && children_are_complete(own);
    if (own != 0 && run_stopped()) {
        done = true;
        count_at_stop(&stopped_workers::waits);
    }
    if (!__any_sync(all_lanes, done)) {
        const unsigned deepest = __reduce_max_sync(all_lanes, own != 0 ? depth : 0u);
        const unsigned deepest_waits = __ballot_sync(all_lanes, own != 0 && depth == deepest);
        const arena_index awaited = __shfl_sync(all_lanes, own, __ffs(static_cast<int>(deepest_waits)) - 1);
        if (!nested_step(static_cast<int>(deepest), awaited)) __nanosleep(100);
    }
    return done;
}

/// For every thread that calls wait().
__device__ inline void note_wait(std::uint32_t depth) {
    unsigned& deepest_wait = this_warp().deepest_wait;
    if (load_relaxed(deepest_wait) <= depth) fetch_max_relaxed(deepest_wait, depth + 1);
}

/// For a lane in wait(): returns when its children, all counted in `own`, are complete. `grid` and `target`: as above.
__device__ __noinline__ inline void wait_for_children(arena_index own, std::uint32_t depth, arena_index grid,
                                                      arena_index target) {
    bool done = false;
    do {
        rendezvous(waiting);
        done = wait_in_round(own, depth, grid, target);
        target = 0;
    } while (!done);
    fence();
}

/// The result of a block's wait(). If it is refused, one of the block's threads reports that for all.
enum class wait_outcome : unsigned { done, refused, refused_and_first };

/// All lanes of a warp whose block waits, including those that have returned (`waits` is false). First it counts what
/// all of them have launched.
__device__ __noinline__ inline wait_outcome wait_on_warp(arena_index grid, std::uint32_t depth, unsigned& launched,
                                                         bool waits) {
    __syncwarp();
    if (__any_sync(all_lanes, !may_wait(depth))) {
        const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(all_lanes, waits)))) - 1;
        return lane_rank() == first ? wait_outcome::refused_and_first : wait_outcome::refused;
    }
    warp_state& warp = this_warp();
    const int sum = static_cast<int>(__reduce_add_sync(all_lanes, launched));
    launched = 0;
    if (lane_rank() == 0 && warp.own == 0 && sum != 0) {
        ensure_shared_node(warp.own, grid, depth);
        if (warp.own == 0) stop_run(no_memory);
    }
    __syncwarp();
    const arena_index own = warp.own;
    __syncwarp();  // all have read it before one returns to its kernel and launches
    if (own == 0) return wait_outcome::done;
    if (warp.own_counts < counted::all_before_wait) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, grid, own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, grid, own);
    }
    fence();
    __syncwarp();
    if (lane_rank() == 0) {
        warp.own_counts = counted::all_before_wait;
        if (sum != 0) count_children(own, sum);
    }
    __syncwarp();
    bool stopped = false;
    while (__shfl_sync(all_lanes, !children_are_complete(own) && !(stopped = run_stopped()), 0)) {
        if (!nested_step(static_cast<int>(depth), own)) __nanosleep(100);
    }
    if (lane_rank() == 0 && stopped) count_at_stop(&stopped_workers::waits);
    fence();
    __syncwarp();
    return wait_outcome::done;
}

/// One lane: takes this warp's bit back. False if all warps of the team have set theirs: then what they agreed on must
/// be done.
__device__ inline bool take_back(unsigned& bits, unsigned team_warps) {
    unsigned seen = load_relaxed_in_block(bits);
    while (seen != team_warps) {
        const unsigned found = compare_exchange_relaxed(bits, seen, seen & ~(1u << warp_rank()));
        if (found == seen) return true;
        seen = found;
    }
    return false;
}

/// All threads of a team whose block waits. As wait_on_warp.
__device__ __noinline__ inline wait_outcome wait_on_team(arena_index grid, std::uint32_t depth, unsigned& launched,
                                                         bool waits) {
    __syncwarp();
    team_state& team = this_team();
    warp_state& warp = this_warp();
    const unsigned rank = threadIdx.x - team.first_thread;
    const bool is_first = rank == 0;
    if (any_of_team(!may_wait(depth))) {
        if (is_first) team.first_waiter = ~0u;
        __syncwarp();
        sync_team();
        if (waits) fetch_min_relaxed(team.first_waiter, threadIdx.x);
        __syncwarp();
        sync_team();
        return load_relaxed_in_block(team.first_waiter) == threadIdx.x ? wait_outcome::refused_and_first
                                                                       : wait_outcome::refused;
    }
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    launched = 0;
    if (lane_rank() == 0 && sum != 0) fetch_add_relaxed(team.launched, sum);
    __syncwarp();
    sync_team();
    if (is_first && team.own == 0 && team.launched != 0) {
        ensure_shared_node(team.own, grid, depth);
        if (team.own == 0) stop_run(no_memory);
    }
    __syncwarp();
    sync_team();
    const arena_index own = team.own;
    if (own != 0) {
        if (team.own_counts < counted::all_before_wait) {
            point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, grid, own);
            point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, grid, own);
            if (rank < warp_size) point_staged_to_own(team, grid, own);
        }
        fence();
        __syncwarp();
        sync_team();
        if (is_first) {
            team.own_counts = counted::all_before_wait;
            if (team.launched != 0) count_children(own, static_cast<int>(team.launched));
            team.launched = 0;
            flush_team_batch(team);
            push_staged(team, load_relaxed_in_block(team.staged));
            team.staged_before = 0;
        }
        __syncwarp();
        // A warp that sees the children complete must not go to the barrier yet: what another warp runs on top of its
        // wait may need this one, for a block task or for a task on its deque. So all leave together, when none has
        // anything left to do.
        const unsigned others_arrived = team.arrived;
        sync_team();
        if (is_first) store_relaxed_in_block(team.arrived, 0u);
        __syncwarp();
        sync_team();
        bool complete = false;
        bool stopped = false;
        bool did = true;
        while (true) {
            complete = complete || __shfl_sync(all_lanes, children_are_complete(own) || (stopped = run_stopped()), 0);
            if (complete) {
                bool all_arrived = false;
                if (lane_rank() == 0) {
                    stopped = stopped || run_stopped();
                    fetch_or_relaxed(team.arrived, 1u << warp_rank());
                    while (true) {
                        all_arrived = load_relaxed_in_block(team.arrived) == team.warps;
                        if (all_arrived) break;
                        // When the run is to stop, nothing new begins: there may always be more.
                        if (!stopped && (did || is_wanted_in_wait(static_cast<int>(depth)))) {
                            all_arrived = !take_back(team.arrived, team.warps);
                            break;
                        }
                        __nanosleep(50);
                    }
                }
                if (__shfl_sync(all_lanes, all_arrived, 0)) break;
            }
            did = nested_step(static_cast<int>(depth), complete ? 0 : own);
            if (!did && !complete) __nanosleep(100);
        }
        sync_team();
        if (is_first) store_relaxed_in_block(team.arrived, others_arrived);
        if (is_first && stopped) count_at_stop(&stopped_workers::waits);
        fence();
        __syncwarp();
    }
    sync_team();
    return wait_outcome::done;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
