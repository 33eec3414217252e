// Queue engine: what the returns of blocks change in join counters, at once or later. Owns the warp batch
// (warp_state::batch, batch_of), and redirects the children in a deque to a node that was made after them.
#pragma once

#include "grid_node.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// All lanes together: applies the warp batch, after the writes of all lanes, which add_to_counter() releases.
__device__ inline void flush_warp_batch() {
    warp_state& warp = this_warp();
    const bool nothing = warp.batch == 0;
    __syncwarp();  // all have read it before one writes it
    if (nothing) return;
    if (lane_rank() == 0) {
        const int change = warp.batch;
        warp.batch = 0;
        add_to_counter(warp.batch_of, change);
    }
    __syncwarp();
}

/// The same before this warp subtracts from a counter by itself (see join_counter.cuh). Withheld returns stay withheld.
__device__ inline void flush_withheld_children() {
    const bool children = this_warp().batch > 0;
    __syncwarp();  // all have read it before one writes it
    if (children) flush_warp_batch();
}

/// All lanes together: adds to the batch of a node; the batch of another node is applied first.
__device__ inline void add_to_warp_batch(arena_index grid, int change) {
    warp_state& warp = this_warp();
    const bool another = warp.batch_of != grid;
    __syncwarp();
    if (another) {
        flush_warp_batch();
        if (lane_rank() == 0) warp.batch_of = grid;
        __syncwarp();
    }
    if (lane_rank() == 0) warp.batch += change;
    __syncwarp();
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

/// The same for block tasks that a block on this worker block has launched. All threads together.
__device__ inline void point_block_tasks_to_own(arena_index grid, arena_index own) {
    const gang_state& gang = this_block().gang;
    for (std::uint32_t place = gang.base + threadIdx.x; static_cast<std::int32_t>(gang.owner_end - place) > 0;
         place += blockDim.x) {
        wide_task& task = block_task_slot(place);
        if (task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
}

/// The same for lane tasks, by the lane that launched them, alone.
__device__ inline void point_lanes_to_own(arena_index grid, arena_index own) {
    for (std::uint32_t place = this_warp().lane_base; static_cast<std::int32_t>(this_warp().lane_owner_end - place) > 0;
         ++place) {
        lane_task& task = slot<lane_task>(place);
        const bool mine = (task.info >> info::launcher_shift & (warp_size - 1)) == lane_rank();
        if (mine && task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
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

/// All lanes together, when all blocks of a round have returned.
__device__ inline void settle_round(bool have, arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    const bool late = have && (outcome.launched & block_outcome::late) != 0;
    if (unsigned lates = __ballot_sync(all_lanes, late); lates != 0) {
        const std::uint32_t base = this_warp().lane_base;
        const std::uint32_t owner_end = this_warp().lane_owner_end;
        const arena_index target = late ? outcome.own : 0;
        for (std::uint32_t first = base; static_cast<std::int32_t>(owner_end - first) > 0; first += warp_size) {
            const std::uint32_t place = first + lane_rank();
            const bool there = static_cast<std::int32_t>(owner_end - place) > 0;
            lane_task& task = slot<lane_task>(place);
            const std::uint32_t launcher = there ? task.info >> info::launcher_shift & (warp_size - 1) : 0;
            const arena_index own = __shfl_sync(all_lanes, target, static_cast<int>(launcher));
            const arena_index parents_grid = __shfl_sync(all_lanes, grid, static_cast<int>(launcher));
            if (there && own != 0 && task.grid == parents_grid && (task.info & info::owner) == 0) task.grid = own;
        }
        __syncwarp();
    }
    // Blocks that only count on their grid come first: their changes can mostly be withheld. The others change nodes
    // that other warps may read, so the withheld children are counted before.
    const bool joins = have && (outcome.own != 0 || is_sole_owner(task_info));
    count_change mine{0, 0};
    if (have && !joins) mine = settle_lane(grid, task_info, outcome);
    const unsigned joining = __ballot_sync(all_lanes, joins);
    const unsigned counting = __ballot_sync(all_lanes, mine.grid != 0);
    if (joining == 0) {
        if (counting == 0) return;
        const arena_index first = __shfl_sync(all_lanes, mine.grid, __ffs(static_cast<int>(counting)) - 1);
        if (__all_sync(all_lanes, mine.grid == 0 || mine.grid == first)) {
            const int sum = __reduce_add_sync(all_lanes, mine.grid != 0 ? mine.change : 0);
            if (sum != 0) add_to_warp_batch(first, sum);
            return;
        }
    }
    flush_withheld_children();
    if (joins) mine = settle_lane(grid, task_info, outcome);
    if (mine.grid != 0) add_to_counter(mine.grid, mine.change);
    __syncwarp();
}

/// A lane that has returned while others of its round wait: its children must be counted before they run.
__device__ __noinline__ inline void settle_alone(arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    add_withheld_children();
    if ((outcome.launched & block_outcome::late) != 0) point_lanes_to_own(grid, outcome.own);
    const count_change mine = settle_lane(grid, task_info, outcome);
    if (mine.grid != 0) add_to_counter(mine.grid, mine.change);
}

/// What the return of a block on a warp or a worker block changes; by one thread.
__device__ inline count_change settle_wide(arena_index grid, std::uint32_t task_info, arena_index own, unsigned counts,
                                           int launched) {
    return settle_lane(grid, task_info,
                       block_outcome{own, static_cast<unsigned>(launched) |
                                              (counts != counted::nothing ? block_outcome::accounted : 0u)});
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
