// Queue engine: tasks that other warps may see at once: blocks for worker blocks, and grids that are published. What
// this warp withholds of its children is counted before. Owns no state.
#pragma once

#include "../queues/open_grids.cuh"
#include "../queues/staged_blocks.cuh"
#include "join_counter.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// Puts a task where a warp or worker block of its width looks for it, on this worker block. False if there is no
/// memory.
__device__ __noinline__ inline bool push_here(const wide_task& task) {
    if ((task.info & info::width_mask) != info::on_block) return push(task) || push_spilled(task);
    if (wide_task* const place = reserve_kept_block(); place != nullptr) {
        copy_task(*place, task);
        return true;
    }
    add_withheld_children();
    bool there_was_room = true;
    with_block_lock(this_block().gang.lock, [&] { there_was_room = push_block_task(task); });
    return there_was_room;
}

/// Publishes most of a grid whose descriptor contains its task; the first blocks stay in `task`, since this warp will
/// be the last to look for open grids. All of it stays if all places are taken.
__device__ inline void publish_most_of(wide_task& task, open_grids_view& open_grids) {
    const std::uint32_t width = task.info & info::width_mask;
    const std::uint32_t kept = min(grain_of(width), task.last - 1);
    if (publish(task.descriptor, width, task.last - kept, open_grids)) task.last = kept;
}

/// Puts the task of a whole grid where warps find it. If the grid has a descriptor, that already contains the task.
/// False if there is no memory: then no block of it runs, so only what has a place on the deque is published.
__device__ __noinline__ inline bool push_wide(wide_task task) {
    const std::uint32_t width = task.info & info::width_mask;
    if (task.descriptor == 0 || !is_worth_publishing(width, task.last)) return push_here(task);
    add_withheld_children();
    open_grids_view open_grids;  // read before the lock is taken
    if (width == info::on_block) {
        if (wide_task* const place = reserve_kept_block(); place != nullptr) {
            publish_most_of(task, open_grids);
            copy_task(*place, task);
            return true;
        }
        bool there_was_room = true;
        with_block_lock(this_block().gang.lock, [&] {
            if (block_tasks_on_deque() < tuning::block_deque_capacity) publish_most_of(task, open_grids);
            there_was_room = push_block_task(task);
        });
        return there_was_room;
    }
    wide_task* const place = reserve<wide_task>();
    if (place == nullptr) return push_spilled(task);
    publish_most_of(task, open_grids);
    copy_task(*place, task);
    return true;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
