// Queue engine: what a warp runs by itself: a round of lane tasks, a wide task.
#pragma once

#include "completion.cuh"
#include "frame.cuh"
#include "meeting.cuh"
#include "wait.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// Runs `begin` in the lanes that have a task, and everything that follows from its return.
template <bool Nested, class Begin>
__device__ inline void run_round(bool have, arena_index grid, std::uint32_t task_info, Begin begin) {
    const frame_guard<Nested> frame;
    block_outcome outcome{0, 0};
    if (have) outcome = begin();
    bool settled = false;
    while (meet(returned) != returned) {
        if (have && !settled) settle_alone(grid, task_info, outcome);
        settled = true;
        wait_in_round(0, 0);
    }
    settle_round(have && !settled, grid, task_info, outcome);
    frame.end();
}

template <bool Nested>
__device__ inline void run_on_warp(const wide_task& task, std::uint32_t rank) {
    const frame_guard<Nested> frame;
    warp_state& warp = this_warp();
    arena_index borrowed = 0;
    if (task.details != 0) {
        if (lane_rank() == 0) {
            const unsigned share = engine().shared_bytes / (blockDim.x / warp_size) / 16 * 16;
            warp.shared_memory = find_shared_memory(task, kernels_shared_memory() + threadIdx.x / warp_size * share,
                                                    warp.level == 0 ? share : 0, borrowed);
        }
        __syncwarp();
    }
    unsigned launched = 0;
    if (lane_rank() < task.threads) launched = task.entry(task, rank).launched;
    for (meeting why = meet(returned); why != returned; why = meet(returned)) {
        if (why == waiting) wait_on_warp(task.grid, task.info & info::depth_mask, launched, false);
    }
    const int sum = static_cast<int>(__reduce_add_sync(all_lanes, launched));
    return_shared_memory(task, borrowed);
    const arena_index own = warp.own;
    const unsigned accounted = warp.own_accounted;
    if (own == 0 && (task.info & (info::owner | info::one_of_several)) != info::owner) {
        if (sum != 1) count_later(task.grid, sum - 1);
    } else {
        if (own != 0 && accounted < 2) {
            point_to_own<lane_task>(warp.lane_base, warp.lane_top, task.grid, own);
            point_to_own<wide_task>(warp.wide_base, warp.wide_top, task.grid, own);
        }
        __syncwarp();
        if (lane_rank() == 0) {
            const count_change mine = settle_wide(task, own, accounted, sum);
            if (mine.grid != 0) retire(mine.grid, mine.change);
        }
        __syncwarp();
    }
    frame.end();
}

/// A round of lane tasks from the top of the stack.
template <bool Nested>
__device__ inline void run_lanes(std::uint32_t available) {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    const std::uint32_t count = min(available, warp_size);
    const bool have = lane < count;
    lane_task task{};
    if (have) copy_task(task, slot<lane_task>(warp.lane_top - 1 - lane));
    const unsigned deepest = __reduce_max_sync(all_lanes, task.info & info::depth_mask);
    __syncwarp();
    if (lane == 0) {
        warp.lane_top -= count;
        warp.grids += count;
        warp.deepest = max(warp.deepest, deepest);
    }
    __syncwarp();
    run_round<Nested>(have, task.grid, task.info, [&] { return task.entry(task.grid, task.info, task.arguments); });
}

/// The wide task on the top of the stack, or as many blocks of it as a warp runs at a time.
template <bool Nested>
__device__ inline void run_wide(std::uint32_t available_tasks) {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    wide_task task;
    copy_task(task, slot<wide_task>(warp.wide_top - 1));
    __syncwarp();
    if ((task.info & info::width_mask) == info::on_warp) {
        if (lane == 0) {
            if (task.first + 1 == task.last) {
                --warp.wide_top;
            } else {
                slot<wide_task>(warp.wide_top - 1).first = task.first + 1;
            }
            if (task.first == 0) ++warp.grids;
            warp.deepest = max(warp.deepest, task.info & info::depth_mask);
        }
        __syncwarp();
        run_on_warp<Nested>(task, task.first);
        return;
    }
    const std::uint32_t blocks = min(task.last - task.first, warp_size);
    std::uint32_t rank = task.first + lane;
    std::uint32_t count = blocks;
    if (task.first + 1 == task.last) {
        // Grids of one block each: as many as lie on top of each other.
        bool alike = lane < available_tasks;
        if (alike) {
            copy_task(task, slot<wide_task>(warp.wide_top - 1 - lane));
            alike = (task.info & info::width_mask) == info::on_lane && task.first + 1 == task.last;
        }
        const unsigned others = ~__ballot_sync(all_lanes, alike);
        count = others == 0 ? warp_size : static_cast<unsigned>(__ffs(static_cast<int>(others))) - 1;
        rank = task.first;
        __syncwarp();
        if (lane == 0) warp.wide_top -= count;
    } else if (lane == 0) {
        if (task.first + blocks == task.last) {
            --warp.wide_top;
        } else {
            slot<wide_task>(warp.wide_top - 1).first = task.first + blocks;
        }
    }
    const bool have = lane < count;
    const unsigned grids = __ballot_sync(all_lanes, have && rank == 0);
    const unsigned deepest = __reduce_max_sync(all_lanes, have ? task.info & info::depth_mask : 0);
    if (lane == 0) {
        warp.grids += static_cast<unsigned>(__popc(grids));
        warp.deepest = max(warp.deepest, deepest);
    }
    __syncwarp();
    run_round<Nested>(have, task.grid, task.info, [&] { return task.entry(task, rank); });
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
