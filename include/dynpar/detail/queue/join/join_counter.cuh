// Queue engine: the join counter. What a grid's record counts, and when a change of it may be withheld.
#pragma once

#include "../queues/task_deque.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// A record's counter holds the blocks of its grid that have not returned, and the grids that count on it and are not complete. Who takes
// it to zero runs the grid's continuation or completes it.
//
// A change may be withheld, by a warp (warp_state::deferred) or by a worker block (gang_state::returns), so that thousands of warps do not
// wait for one another at one counter. The counter in memory then differs from what is true, and must not come to zero early:
//
// 1. Returns may be withheld at any time: the counter is only too large. Who finds nothing more to do tells them.
// 2. Where a warp has withheld more children than returns, the counter is too small by that much, but it still holds a block of the warp
//    whose return is withheld as well. So it cannot come to zero before somebody takes away for one of those children, and they and all that
//    is below them are known to this warp alone. It counts them before it takes away from any counter by itself (settle_*, retire), and
//    before it lets another warp see anything: a gift, a grid on the board, a task for a worker block, one in a stream.

/// The counter comes first in a record; of a place in the arena nothing else need be known here.
__device__ inline int& counter_of(arena_index grid) { return *at<int>(grid); }

/// Adds to a record's count, behind all that this thread has written and seen others write; what it had been. Who finds that it is zero now
/// sees all that the others have written: that could be a fence for them alone, but would be a wait of its own for each join.
__device__ inline int fetch_add_counter(arena_index grid, int change) { return fetch_add_acq_rel(counter_of(grid), change); }

__device__ __noinline__ inline void add_withheld_children_now() {
    warp_state& warp = this_warp();
    // Under a lock: no other lane goes on before they are counted.
    with_block_lock(warp.lock, [&] {
        const int change = load_relaxed(warp.batch);
        if (change <= 0) return;
        fetch_add_counter(warp.batch_of, change);
        store_relaxed(warp.batch, 0);
    });
}
/// A lane by itself: rule 2 above, before others see what this lane is about to show them.
__device__ inline void add_withheld_children() {
    if (load_relaxed(this_warp().batch) > 0) add_withheld_children_now();
}

/// Puts a task where a worker of its width looks for it, on this worker block. False if there is no memory.
__device__ __noinline__ inline bool push_here(const wide_task& task) {
    if ((task.info & info::width_mask) != info::on_block) return push(task) || push_spilled(task);
    add_withheld_children();
    bool there_was_room = true;
    with_block_lock(this_block().gang.lock, [&] { there_was_room = push_block_task(task); });
    return there_was_room;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
