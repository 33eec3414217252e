// Queue engine: wait() of a lane, of a warp and of a team: whether there is stack for it, and until when it
// lasts. Owns team_state's arrived and end_of_wait, warp_state::deepest_wait, and gang_state::ways_to_wait; adds the
// children of a waiting block to its node's counter.
//
// The code of waits is a sixth of the scheduler's, with all that runs on top of one, and many programs have no wait().
// So the scheduler names none of it: wait() of a block does, and leaves the address of its function for the threads of
// its round or block that have returned, which must come there as well. Programs without wait() do not compile it.
//
// A wait ends in one of two ways, for all threads of the block in the same: its children are complete, or the run is to
// stop. The second is seen first, also where no children are missing: blocks that launch and wait in turns end when a
// wait fails, and of a run that is to stop nothing begins any more, so that it ends soon.
#pragma once

#include <type_traits>

#include "../join/completion.cuh"
#include "../deadline.cuh"
#include "../queues/staged_blocks.cuh"
#include "rendezvous.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

enum way_to_wait : unsigned { in_round, on_warp, on_team };

/// A thread that is about to wait: before it comes to the rendezvous. It is the same address each time.
template <class Function>
__device__ inline void leave_way_to_wait(way_to_wait way, Function* function) {
    store_relaxed_in_block(this_block().gang.ways_to_wait[way], reinterpret_cast<unsigned long long>(function));
}
/// A thread of the scheduler, when others have come to the rendezvous to wait.
template <class Function>
__device__ inline Function* way_that_was_left(way_to_wait way) {
    const unsigned long long address = load_relaxed_in_block(this_block().gang.ways_to_wait[way]);
    DYNPAR_QUEUE_INVARIANT(address != 0);
    return reinterpret_cast<Function*>(address);
}

/// Whether a block at this depth may wait. The number of nested waits has a limit of its own, and each takes stack. How
/// much stack a kernel needs is not known beforehand, so what is left is measured.
__device__ inline bool may_wait(unsigned depth) {
    if (depth >= engine().sync_depth) return false;
    const int used = static_cast<int>(this_warp().stack_begin - stack_place());
    return used + static_cast<int>(stack_kept_free) <= static_cast<int>(engine().stack_bytes);
}

// The scheduler's only recursion: a waiting warp runs deeper tasks. The first two are in worker.cuh, the third in
// run_team.cuh.
__device__ bool nested_step(int depth, arena_index awaited);
__device__ bool is_wanted_in_wait(int depth);
__device__ void call_for_staged_children(team_state& team, bool stops);

/// All lanes of a warp whose last step found nothing: looks a few times whether there is something new, or the children
/// are complete. A step takes much longer than a look; but it also serves others, so not too many.
__device__ inline void pause_in_wait(unsigned depth, arena_index own) {
    if (lane_rank() == 0) {
        for (unsigned looks = 0; looks < tuning::looks_in_wait; ++looks) {
            __nanosleep(50);
            if (children_are_complete(own) || run_stopped() || is_wanted_in_wait(static_cast<int>(depth))) break;
        }
    }
    sync_warp();
}

/// How far a wait is. `stopped`: the run is to stop, whether children are missing or not.
enum class wait_state : unsigned { waits, complete, stopped };

/// One thread: of a wait for the children that are counted in `own`. Both are trips to device memory, at the same time.
__device__ inline wait_state look_at_wait(arena_index own) {
    const bool complete = children_are_complete(own);
    const bool stops = run_stopped();
    return stops ? wait_state::stopped : complete ? wait_state::complete : wait_state::waits;
}
/// All lanes of a warp: the same, and all of one mind.
__device__ inline wait_state look_at_wait_as_warp(arena_index own) {
    return static_cast<wait_state>(__shfl_sync(all_lanes, static_cast<unsigned>(look_at_wait(own)), 0));
}

/// All lanes of a round in which some wait, including those that have returned (`own` is 0). For a lane that waits: how
/// far it is. What runs on top of the round is deeper than all blocks that wait in it, since it keeps all
/// of them from going on. `grid` and `target`: this lane's children that count on `grid` are to count on `target`; 0:
/// they stay. Not before all lanes have come: until then others launch.
__device__ __noinline__ inline wait_state wait_in_round(arena_index own, std::uint32_t depth, arena_index grid,
                                                        arena_index target) {
    sync_warp();
    if (__any_sync(all_lanes, target != 0)) point_all_to_targets(grid, target);
    const wait_state state = own != 0 ? look_at_wait(own) : wait_state::waits;
    if (state == wait_state::stopped) count_at_stop(&stopped_workers::waits);
    if (__all_sync(all_lanes, state == wait_state::waits)) {
        const unsigned deepest = __reduce_max_sync(all_lanes, own != 0 ? depth : 0u);
        const unsigned deepest_waits = __ballot_sync(all_lanes, own != 0 && depth == deepest);
        const arena_index awaited = __shfl_sync(all_lanes, own, __ffs(static_cast<int>(deepest_waits)) - 1);
        if (!nested_step(static_cast<int>(deepest), awaited)) __nanosleep(100);
    }
    return state;
}

/// For every thread that calls wait().
__device__ inline void note_wait(std::uint32_t depth) {
    unsigned& deepest_wait = this_warp().deepest_wait;
    if (load_relaxed(deepest_wait) <= depth) fetch_max_relaxed(deepest_wait, depth + 1);
}

/// For a lane in wait(): returns when its children, all counted in `own`, are complete, or the run is to stop; then
/// false. `grid` and `target`: as above.
__device__ __noinline__ inline bool wait_for_children(arena_index own, std::uint32_t depth, arena_index grid,
                                                      arena_index target) {
    wait_state state = wait_state::waits;
    leave_way_to_wait(in_round, &wait_in_round);
    do {
        rendezvous(waiting);
        state = wait_in_round(own, depth, grid, target);
        target = 0;
    } while (state == wait_state::waits);
    fence();
    return state == wait_state::complete;
}

/// The result of a block's wait(), the same for all its threads; but if it fails by itself, for want of stack
/// (`refused`) or of memory, one of them reports that for all.
enum class wait_outcome : unsigned { done, stopped, refused, refused_and_first, no_memory, no_memory_and_first };

/// All lanes of a warp whose block waits, including those that have returned (`waits` is false). First it counts what
/// all of them have launched.
__device__ __noinline__ inline wait_outcome wait_on_warp(arena_index grid, std::uint32_t depth, unsigned& launched,
                                                         bool waits) {
    sync_warp();
    const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(all_lanes, waits)))) - 1;
    if (__any_sync(all_lanes, !may_wait(depth)))
        return lane_rank() == first ? wait_outcome::refused_and_first : wait_outcome::refused;
    warp_state& warp = this_warp();
    const int sum = static_cast<int>(__reduce_add_sync(all_lanes, launched));
    if (lane_rank() == 0 && warp.own == 0 && sum != 0) ensure_shared_node(warp.own, grid, depth);
    sync_warp();
    const arena_index own = warp.own;
    sync_warp();     // all have read it before one returns to its kernel and launches
    if (own == 0) {  // no children; or no memory for their node, and then they stay counted where they are
        if (__shfl_sync(all_lanes, run_stopped(), 0)) return wait_outcome::stopped;
        if (sum == 0) return wait_outcome::done;
        return lane_rank() == first ? wait_outcome::no_memory_and_first : wait_outcome::no_memory;
    }
    launched = 0;
    if ((warp.own_counts & counted::has_waited) == 0) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, grid, own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, grid, own);
    }
    fence();
    sync_warp();
    if (lane_rank() == 0) {
        warp.own_counts =
            (warp.own_counts & counted::continues) | counted::has_waited | counted::block_and_visible_children;
        if (sum != 0) count_children(own, sum);
    }
    sync_warp();
    wait_state state;
    while ((state = look_at_wait_as_warp(own)) == wait_state::waits) {
        if (!nested_step(static_cast<int>(depth), own)) pause_in_wait(depth, own);
    }
    const bool stopped = state == wait_state::stopped;
    if (lane_rank() == 0) {
        if (stopped) {
            count_at_stop(&stopped_workers::waits);
        } else {
            DYNPAR_QUEUE_INVARIANT(children_are_complete(own) && warp.own == own);
            warp.own_counts &= ~counted::block_and_visible_children;  // nobody else knows the node now
        }
    }
    fence();
    sync_warp();
    return stopped ? wait_outcome::stopped : wait_outcome::done;
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

/// All threads of a team whose block's wait fails: whether this one is the first of those that wait.
__device__ __noinline__ inline bool is_first_to_wait(team_state& team, bool waits) {
    sync_warp();
    sync_team();  // all have read what was there
    if (threadIdx.x == team.first_thread) team.end_of_wait = ~0u;
    sync_warp();
    sync_team();
    if (waits) fetch_min_relaxed(team.end_of_wait, threadIdx.x);
    sync_warp();
    sync_team();
    return load_relaxed_in_block(team.end_of_wait) == threadIdx.x;
}

/// All threads of a team whose block waits. As wait_on_warp.
__device__ __noinline__ inline wait_outcome wait_on_team(arena_index grid, std::uint32_t depth, unsigned& launched,
                                                         bool waits) {
    sync_warp();
    team_state& team = this_team();
    warp_state& warp = this_warp();
    const unsigned rank = threadIdx.x - team.first_thread;
    const bool is_first = rank == 0;
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    launched = 0;
    if (lane_rank() == 0 && sum != 0) fetch_add_relaxed(team.launched, sum);
    if (any_of_team(!may_wait(depth)))
        return is_first_to_wait(team, waits) ? wait_outcome::refused_and_first : wait_outcome::refused;
    bool stops = false;
    if (is_first) {
        check_deadline();  // all that runs may be a team's blocks, and teams that these call
        stops = run_stopped();
        if (team.own == 0 && team.launched != 0) ensure_shared_node(team.own, grid, depth);
        if (team.own == 0) team.end_of_wait = run_stopped();
    }
    sync_warp();
    sync_team();
    const arena_index own = team.own;
    if (own == 0) {  // as on a warp
        const bool stopped = load_relaxed_in_block(team.end_of_wait) != 0;
        if (!stopped && load_relaxed_in_block(team.launched) != 0)
            return is_first_to_wait(team, waits) ? wait_outcome::no_memory_and_first : wait_outcome::no_memory;
        sync_team();  // all have read them before one returns to its kernel and launches
        return stopped ? wait_outcome::stopped : wait_outcome::done;
    }
    if ((team.own_counts & counted::has_waited) == 0) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, grid, own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, grid, own);
        if (rank < warp_size) point_staged_to_own(team, grid, own);
    }
    fence();
    sync_warp();
    sync_team();
    unsigned others_arrived = 0;
    if (is_first) {
        team.own_counts =
            (team.own_counts & counted::continues) | counted::has_waited | counted::block_and_visible_children;
        if (team.launched != 0) count_children(own, static_cast<int>(team.launched));
        team.launched = 0;
        if (team.batch != 0) flush_team_batch(team);
        if (load_relaxed_in_block(team.staged) != 0) call_for_staged_children(team, stops);
        others_arrived = team.arrived;
        store_relaxed_in_block(team.arrived, 0u);
    }
    sync_warp();
    sync_team();
    // A warp that is called runs a child with others, who count on it.
    if (__shfl_sync(all_lanes, load_relaxed_in_block(warp.called), 0) != 0) nested_step(static_cast<int>(depth), own);
    // A warp that sees the children complete must not go to the barrier yet: what another warp runs on top of its wait
    // may need this one, for a block task or for a task on its deque. So all leave together, when none has anything
    // left to do: no tasks, or none that may run here.
    bool has_tasks = !has_no_tasks();
    wait_state state = wait_state::waits;
    while (true) {
        // Also when the children were complete before: this warp may have gone on with others' work meanwhile.
        if (state != wait_state::stopped) state = look_at_wait_as_warp(own);
        const bool ends = state != wait_state::waits;
        if (ends) {
            bool all_arrived = false;
            if (lane_rank() == 0) {
                fetch_or_relaxed(team.arrived, 1u << warp_rank());
                while (true) {
                    all_arrived = load_relaxed_in_block(team.arrived) == team.warps();
                    if (all_arrived) break;
                    // When the run is to stop, nothing new begins: there may always be more, and tasks that nobody can
                    // run any more.
                    if (state != wait_state::stopped && (has_tasks || is_wanted_in_wait(static_cast<int>(depth)))) {
                        all_arrived = !take_back(team.arrived, team.warps());
                        break;
                    }
                    __nanosleep(50);
                }
            }
            if (__shfl_sync(all_lanes, all_arrived, 0)) break;
        }
        const bool did = nested_step(static_cast<int>(depth), ends ? 0 : own);
        has_tasks = did && !has_no_tasks();
        if (!did && !ends) pause_in_wait(depth, own);
    }
    if (is_first) {
        team.end_of_wait = state == wait_state::stopped;
        if (state == wait_state::stopped) {
            count_at_stop(&stopped_workers::waits);
        } else {
            DYNPAR_QUEUE_INVARIANT(children_are_complete(own) && team.own == own);
            team.own_counts &= ~counted::block_and_visible_children;  // before any thread goes on, and launches
        }
    }
    fence();
    sync_warp();
    sync_team();
    const bool stopped = load_relaxed_in_block(team.end_of_wait) != 0;
    if (is_first) store_relaxed_in_block(team.arrived, others_arrived);
    sync_warp();
    return stopped ? wait_outcome::stopped : wait_outcome::done;
}

// What is done where some threads of a round or a block have returned and others wait is out of line: what every round
// passes through keeps few registers, and none of them in memory.

/// A lane that has returned while others of its round wait: goes along with them until all have returned. `grid` and
/// `target`: as in wait_in_round().
__device__ inline void go_along_in_round(arena_index grid, arena_index target) {
    do {
        way_that_was_left<decltype(wait_in_round)>(in_round)(0, 0, grid, target);
        target = 0;
    } while (rendezvous(returned) != returned);
}
/// A thread that has returned from a block on its warp or its team, or has no part in it, while others have not, for
/// the reason `why`: goes along with them until all have returned. `launched`: by this thread; returns how many are
/// still to be counted.
template <way_to_wait Way>
__device__ __noinline__ unsigned stay_in_block(arrival why, arena_index grid, std::uint32_t depth, unsigned launched) {
    static_assert(Way != in_round && std::is_same_v<decltype(wait_on_warp), decltype(wait_on_team)>);
    do {
        if (why == waiting) way_that_was_left<decltype(wait_on_warp)>(Way)(grid, depth, launched, false);
        why = Way == on_team ? team_rendezvous(returned) : rendezvous(returned);
    } while (why != returned);
    return launched;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
