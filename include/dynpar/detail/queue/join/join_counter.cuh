// Queue engine: the join counter: what the counter of a grid node contains, and when a change of it may be withheld.
// Owns grid_node::counter and, with completion.cuh, the warp batch (warp_state::batch, batch_of). Other headers add to
// a counter only children that become visible, and subtract from it only through add_to_counter() and
// add_to_counter_as_wide().
#pragma once

#include "../queues/task_deque.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

// The scheduler rests on three invariants:
//
// 1. A node's counter covers every block that has not returned and every child that another warp may see. A batch may
//    withhold a change only while the counter still contains a block of that batch. Kept here and in completion.cuh;
//    for the block batch in block_chunk.cuh; for children that others may see at once by counting_node() and
//    put_child_grid() in block/.
// 2. There are never more donations than steal requests, so every donation has a taker. Kept by claim_request() in
//    steal_requests.cuh.
// 3. On top of a wait only deeper grids run, so waits form no cycle. Kept by step<true>() in worker.cuh, and by the
//    functions that it gives the waiting block's depth to, in task_deque.cuh, block_chunk.cuh and run_team.cuh.
//
// A node's counter contains the blocks of its grid that have not returned, and the grids that count on the node and are
// not complete. The thread that brings it to zero begins the grid's continuation, or completes the grid.
//
// A change may be withheld by a warp (the warp batch) or by a worker block (the block batch, gang_state::batch), so
// that thousands of warps do not wait for each other at one counter. The counter in memory then differs from the true
// one, and must not reach zero too early:
//
// * Returns may be withheld at any time: the counter is only too large. A warp that finds nothing more to do flushes
//   them.
// * If a warp withholds more children than returns, the counter is too small by the difference, but it still contains a
//   block of the warp whose return is withheld as well. So it cannot reach zero before one of those children is
//   subtracted, and only this warp knows them and what is below them. Therefore the warp counts them before it
//   subtracts from any counter by itself (settle_*, add_to_counter*), and before it lets another warp see anything: a
//   donation, an open grid, a task for a worker block, a task in a stream.

/// The counter comes first in a node. This header needs to know nothing else of it.
__device__ inline int& counter_of(arena_index grid) {
    note_used(grid);
    return *at<int>(grid);
}

/// One thread: counts children that others can find before the block that has launched them returns; before they can.
__device__ inline void count_children(arena_index grid, int children) { fetch_add_relaxed(counter_of(grid), children); }
/// Whether all that is left of a grid that waits for its children is the block that waits.
__device__ inline bool children_are_complete(arena_index grid) { return load_relaxed(counter_of(grid)) == 1; }

/// Adds to a node's counter, after everything that this thread has written or seen others write. Returns the old value.
/// A thread that finds that the counter is zero now sees everything that the others have written. A fence for that
/// thread alone would do, but would be one more wait in each join.
__device__ inline int fetch_add_counter(arena_index grid, int change) {
    return fetch_add_acq_rel(counter_of(grid), change);
}

__device__ __noinline__ inline void add_withheld_children_now() {
    warp_state& warp = this_warp();
    // Under the lock, so that no other lane continues before they are counted.
    with_block_lock(warp.lock, [&] {
        const int change = load_relaxed(warp.batch);
        if (change <= 0) return;
        fetch_add_counter(warp.batch_of, change);
        store_relaxed(warp.batch, 0);
    });
}
/// The same for its team.
__device__ __noinline__ inline void add_children_withheld_by_team() {
    team_state& team = this_team();
    with_block_lock(this_block().gang.lock, [&] {
        const int change = load_relaxed(team.batch);
        if (change <= 0) return;
        fetch_add_counter(team.batch_of, change);
        store_relaxed(team.batch, 0);
    });
}
/// For a single lane: counts the withheld children, before other warps see what this lane is about to show them.
__device__ inline void add_withheld_children() {
    if (load_relaxed(this_warp().batch) > 0) add_withheld_children_now();
    if (this_warp().team != 0 && load_relaxed(this_team().batch) > 0) add_children_withheld_by_team();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
