// Queue engine: what the returns of blocks change in join counters, at once or later. Owns the warp batch
// (warp_state::batch, batch_of), and redirects the children in a deque to a node that was made after them.
#pragma once

#include "grid_node.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// All lanes together: applies the warp batch, after the writes of all lanes, which add_to_counter() releases.
__device__ inline void flush_warp_batch() {
    warp_state& warp = this_warp();
    const bool nothing = warp.batch == 0;
    sync_warp();  // all have read it before one writes it
    if (nothing) return;
    if (lane_rank() == 0) {
        const int change = warp.batch;
        warp.batch = 0;
        add_to_counter_as_wide(warp.batch_of, change);
    }
    sync_warp();
}

/// The same before this warp subtracts from a counter by itself (see join_counter.cuh). Withheld returns stay withheld.
__device__ inline void flush_withheld_children() {
    const bool children = this_warp().batch > 0;
    sync_warp();  // all have read it before one writes it
    if (children) flush_warp_batch();
}

/// All lanes together: adds to the batch of a node; the batch of another node is applied first.
__device__ inline void add_to_warp_batch(arena_index grid, int change) {
    warp_state& warp = this_warp();
    const bool another = warp.batch_of != grid;
    sync_warp();
    if (another) {
        flush_warp_batch();
        if (lane_rank() == 0) warp.batch_of = grid;
        sync_warp();
    }
    if (lane_rank() == 0) warp.batch += change;
    sync_warp();
}

/// One thread of a team while no block of it runs: flushes the team's batch.
__device__ __noinline__ inline void flush_team_batch(team_state& team) {
    const int change = team.batch;
    team.batch = 0;
    if (change != 0) add_to_counter_as_wide(team.batch_of, change);
}
/// The same: adds to the batch of a node; the batch of another node is applied first.
__device__ inline void add_to_team_batch(team_state& team, arena_index grid, int change) {
    if (team.batch_of != grid) {
        if (team.batch != 0) flush_team_batch(team);
        team.batch_of = grid;
    }
    team.batch += change;
}

/// All lanes together: redirects children that were launched before their parent had a node of its own to that node.
/// They are those from `base` to the owner end that count on the parent's grid and were launched by it.
template <class Task>
__device__ inline void point_to_own(std::uint32_t base, std::uint32_t owner_end, arena_index grid, arena_index own) {
    // Not unrolled: mostly there are two, and the path of every join should be short.
#pragma unroll 1
    for (std::uint32_t place = base + lane_rank(); static_cast<std::int32_t>(owner_end - place) > 0;
         place += warp_size) {
        Task& task = slot<Task>(place);
        if (task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
}

/// All lanes together: the same for the children of all lanes. `target`: of this lane's children; 0: they stay.
template <class Task>
__device__ inline void point_to_targets(std::uint32_t base, std::uint32_t owner_end, arena_index grid,
                                        arena_index target) {
#pragma unroll 1
    for (std::uint32_t first = base; static_cast<std::int32_t>(owner_end - first) > 0; first += warp_size) {
        const std::uint32_t place = first + lane_rank();
        const bool there = static_cast<std::int32_t>(owner_end - place) > 0;
        Task& task = slot<Task>(place);
        const unsigned launcher = there ? launcher_of(task) : 0;
        const arena_index own = __shfl_sync(all_lanes, target, static_cast<int>(launcher));
        const arena_index parents_grid = __shfl_sync(all_lanes, grid, static_cast<int>(launcher));
        if (there && own != 0 && is_for_lanes(task) && task.grid == parents_grid && (task.info & info::owner) == 0)
            task.grid = own;
    }
}

/// All lanes together: the same for all that they have launched. Out of line: every join passes by here, and few need
/// it.
__device__ __noinline__ inline void point_all_to_targets(arena_index grid, arena_index target) {
    const warp_state& warp = this_warp();
    point_to_targets<lane_task>(warp.lane_base, warp.lane_owner_end, grid, target);
    point_to_targets<wide_task>(warp.wide_base, warp.wide_owner_end, grid, target);
    sync_warp();
}

/// What a return still has to change: the counter of which node (0: none), and by how much.
struct count_change {
    arena_index grid;
    int change;
};
/// What a lane's return changes. A node that no other warp can know yet is changed here, at once.
__device__ inline count_change settle_lane(arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    const int launched = static_cast<int>(outcome.launched & block_outcome::count_mask);
    arena_index own = outcome.own;
    if (own == 0 && is_sole_owner(task_info)) own = grid;
    if (own == 0) return {launched == 1 ? 0u : grid, launched - 1};
    if ((outcome.launched & block_outcome::accounted) != 0) return {own, launched - 1};
    DYNPAR_QUEUE_INVARIANT(load_relaxed(counter_of(own)) == 1);  // the block alone
    if (launched != 0) {  // no other warp knows the node before its children run, so no atomic
        store_relaxed(at<grid_node>(own)->counter, launched);
        return {0, 0};
    }
    const node_view view = load_node(own);
    if (begin_continuation(own, view)) return {0, 0};
    if (view.parent == 0) {
        end_run();
        return {0, 0};
    }
    release_node(own, view);
    return {view.parent, -1};
}

/// All lanes together, when all blocks of a round have returned and none of them has a node: they only count on their
/// grids, mostly on one, and then their changes can be withheld. `returns`: 1; 0 for a block of a small grid that is
/// not its first. `Ordered`: whether there are such blocks. What they have launched must be counted before the first
/// block's return.
template <bool Ordered>
__device__ inline void settle_counting_round(bool have, arena_index grid, block_outcome outcome, int returns) {
    const int change = have ? static_cast<int>(outcome.launched & block_outcome::count_mask) - returns : 0;
    const arena_index first = __shfl_sync(all_lanes, grid, 0);
    if (__all_sync(all_lanes, change == 0 || grid == first)) {
        const int sum = __reduce_add_sync(all_lanes, change);
        if (sum != 0) add_to_warp_batch(first, sum);
        return;
    }
    flush_withheld_children();
    if constexpr (Ordered) {
        if (change > 0) add_to_counter(grid, change);
        sync_warp();
        if (change < 0) add_to_counter(grid, change);
    } else if (change != 0) {
        add_to_counter(grid, change);
    }
    sync_warp();
}

/// What a lane counts on: its task's grid; or, of a block of a small grid, that grid's node, if it has got one.
struct counted_on {
    arena_index grid;
    std::uint32_t task_info;
    arena_index target;  // of its children that count on the task's grid; 0: they stay

    __device__ counted_on(arena_index of_task, std::uint32_t task_info_, arena_index small_node, block_outcome outcome)
        : grid(of_task), task_info(task_info_), target(0) {
        if ((outcome.launched & block_outcome::late) != 0) target = outcome.own;
        if (small_node == 0) return;
        grid = small_node;
        task_info |= info::owner | info::one_of_several;
        if (outcome.own == 0 && (outcome.launched & block_outcome::count_mask) != 0) target = small_node;
    }
};

/// All lanes together, when all blocks of a round of lane tasks have returned.
__device__ inline void settle_round(bool have, arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    const bool joins = have && (outcome.own != 0 || is_sole_owner(task_info));
    if (!__any_sync(all_lanes, joins)) return settle_counting_round<false>(have, grid, outcome, 1);
    const arena_index target = have && (outcome.launched & block_outcome::late) != 0 ? outcome.own : 0;
    if (__any_sync(all_lanes, target != 0)) point_all_to_targets(grid, target);
    // The withheld children are counted before nodes change that other warps may read.
    flush_withheld_children();
    count_change change{0, 0};
    if (have) change = settle_lane(grid, task_info, outcome);
    if (change.grid != 0) add_to_counter(change.grid, change.change);
    sync_warp();
}

/// All lanes together, when all blocks of a round of wide tasks have returned and some of them have a node.
/// `small_node`: of the small grid whose block the lane has run; 0: it has none.
__device__ __noinline__ inline void settle_joining_round_of_wide_tasks(bool have, arena_index grid,
                                                                       std::uint32_t task_info, arena_index small_node,
                                                                       block_outcome outcome, int returns) {
    const counted_on mine(grid, task_info, small_node, outcome);
    const arena_index target = have ? mine.target : 0;
    if (__any_sync(all_lanes, target != 0)) point_all_to_targets(grid, target);
    flush_withheld_children();
    count_change change{0, 0};
    if (have && returns == 0 && small_node == 0) {
        change = {grid, static_cast<int>(outcome.launched & block_outcome::count_mask)};
    } else if (have) {
        change = settle_lane(mine.grid, mine.task_info, outcome);
    }
    if (change.change > 0) add_to_counter(change.grid, change.change);
    sync_warp();
    if (change.grid != 0 && change.change < 0) add_to_counter(change.grid, change.change);
    sync_warp();
}
/// All lanes together, when all blocks of a round of wide tasks have returned. They join less often than lane tasks, so
/// that part is out of line: what a round passes through should be short.
__device__ inline void settle_round_of_wide_tasks(bool have, arena_index grid, std::uint32_t task_info,
                                                  arena_index small_node, block_outcome outcome, int returns) {
    const bool joins = have && (outcome.own != 0 || small_node != 0 || is_sole_owner(task_info));
    if (!__any_sync(all_lanes, joins)) return settle_counting_round<true>(have, grid, outcome, returns);
    settle_joining_round_of_wide_tasks(have, grid, task_info, small_node, outcome, returns);
}

/// A lane that has returned while others of its round wait: its children must be counted before they run. Returns the
/// node to which they are to be redirected, when all lanes have come; 0: they stay.
__device__ __noinline__ inline arena_index settle_alone(arena_index grid, std::uint32_t task_info,
                                                        arena_index small_node, block_outcome outcome) {
    add_withheld_children();
    const counted_on mine(grid, task_info, small_node, outcome);
    const count_change change = settle_lane(mine.grid, mine.task_info, outcome);
    if (change.grid != 0) add_to_counter(change.grid, change.change);
    return mine.target;
}

/// The return of a block on a warp or a team, by one thread. `Often`: see finish_as_wide_inlined().
template <bool Often>
__device__ inline void settle_wide(arena_index grid, std::uint32_t task_info, arena_index own, unsigned counts,
                                   int launched) {
    if (own == 0 && is_sole_owner(task_info)) own = grid;
    if (own == 0) {
        if (launched != 1) add_to_counter_as_wide(grid, launched - 1);
    } else if ((counts & counted::block_and_visible_children) != 0) {
        add_to_counter_as_wide(own, launched - 1);
    } else if (launched != 0) {  // no other warp knows the node before its children run, so no atomic
        DYNPAR_QUEUE_INVARIANT(load_relaxed(counter_of(own)) == 1);
        store_relaxed(counter_of(own), launched);
    } else {
        DYNPAR_QUEUE_INVARIANT(load_relaxed(counter_of(own)) == 1);  // the block alone
        Often ? finish_as_wide_inlined(own) : finish_as_wide(own);
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
