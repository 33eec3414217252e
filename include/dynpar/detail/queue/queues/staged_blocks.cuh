// Queue engine: staged blocks. What a block of a team launches for teams stays in shared memory, where only that team
// finds it: a deque in device memory under a lock that all teams of a worker block take is ten times as slow.
//
// Children of the block that runs are staged from team_state::staged_before on. They are counted when it returns or
// waits, so until then they must stay; before a wait, and when a team parts, all go to the worker block's deque. A grid
// that continues when a block's return is counted is staged as well. Owns team_state::staged and the staged tasks
// (warp_state::staged).
#pragma once

#include "task_deque.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

inline constexpr unsigned staged_of_warp = sizeof(warp_state::staged) / sizeof(wide_task);

__device__ inline wide_task& staged_block(const team_state& team, unsigned number) {
    const unsigned first_warp = team.first_thread / warp_size;
    return warp_number(first_warp + number / staged_of_warp).staged[number % staged_of_warp];
}
__device__ inline unsigned most_staged(const team_state& team) { return team.threads / warp_size * staged_of_warp; }

/// A thread of the block that runs, if the run is not traced: a place for a child. Null if there is no room.
__device__ inline wide_task* reserve_staged(team_state& team) {
    const unsigned place = fetch_add_relaxed(team.staged, 1u);
    if (place < most_staged(team)) return &staged_block(team, place);
    fetch_sub_relaxed(team.staged, 1u);
    return nullptr;
}

/// A place for a continuation, if this thread is one that counts the return of a team's block; else null.
__device__ inline wide_task* reserve_kept_block() {
    if (this_warp().team == 0 || this_team().keeps == 0 || engine().trace != nullptr) return nullptr;
    return reserve_staged(this_team());
}

/// One thread of a team that withholds no children, while no block of it runs: gives the oldest so many to the worker
/// block's deque.
__device__ __noinline__ inline void push_staged(team_state& team, unsigned count) {
    const unsigned all = load_relaxed_in_block(team.staged);
    if (count == 0) return;
    with_block_lock(this_block().gang.lock, [&] {
#pragma unroll 1
        for (unsigned i = 0; i < count; ++i) {
            if (!push_block_task(staged_block(team, i))) drop_task();
        }
    });
#pragma unroll 1
    for (unsigned i = count; i < all; ++i) copy_task(staged_block(team, i - count), staged_block(team, i));
    store_relaxed_in_block(team.staged, all - count);
}

/// All lanes of a team's first warp, which its block has made a node for: redirects to that node the children that were
/// staged before.
__device__ inline void point_staged_to_own(team_state& team, arena_index grid, arena_index own) {
    const unsigned all = load_relaxed_in_block(team.staged);
#pragma unroll 1
    for (unsigned i = team.staged_before + lane_rank(); i < all; i += warp_size) {
        wide_task& task = staged_block(team, i);
        if (task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
    sync_warp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
