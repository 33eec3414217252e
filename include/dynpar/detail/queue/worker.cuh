// Queue engine: what a warp does for the whole of a run: steps, one after another or on top of a wait; without any, it searches.
#pragma once

#include "search.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// How many tasks from the top of a stack may run now. In a nested step those that are deeper than what waits, at most 32: not all
/// that lies on top is, since a gift may have come from anywhere. All lanes together.
template <class Task, bool Nested>
__device__ inline std::uint32_t available() {
    using stack = own_stack<Task>;
    const std::uint32_t count = stack::top() - stack::bottom();
    if constexpr (Nested) {
        if (count == 0) return 0;
        const unsigned lane = lane_rank();
        const bool may_run = lane < count && is_deeper(slot<Task>(stack::top() - 1 - lane), this_warp().depth);
        const unsigned others = ~__ballot_sync(all_lanes, may_run);
        return others == 0 ? warp_size : static_cast<std::uint32_t>(__ffs(static_cast<int>(others))) - 1;
    }
    return count;
}

/// In a nested step with nothing else to do: looks further down the stack for a task that is deeper than what waits. That alone
/// guarantees that mixed widths cannot wait for each other in a circle. All lanes together.
template <class Task>
__device__ inline bool bring_up(int deeper_than) {
    using stack = own_stack<Task>;
    const std::uint32_t bottom = stack::bottom();
    const std::uint32_t top = stack::top();
    for (std::uint32_t first = bottom; static_cast<std::int32_t>(top - first) > 0; first += warp_size) {
        const std::uint32_t place = first + lane_rank();
        const bool fits = static_cast<std::int32_t>(top - place) > 0 && is_deeper(slot<Task>(place), deeper_than);
        const unsigned found = __ballot_sync(all_lanes, fits);
        if (found == 0) continue;
        __syncwarp();
        if (lane_rank() == 0) {
            const std::uint32_t from = first + static_cast<unsigned>(__ffs(static_cast<int>(found))) - 1;
            Task up, down;
            copy_task(up, slot<Task>(from));
            copy_task(down, slot<Task>(top - 1));
            copy_task(slot<Task>(from), down);
            copy_task(slot<Task>(top - 1), up);
        }
        __syncwarp();
        return true;
    }
    return false;
}

/// In a nested step: takes blocks of a posted grid, of the share or of the board, that may run on top of what waits. All lanes together.
__device__ inline bool take_posted_deeper_than(int depth) {
    bool taken = false;
    __syncwarp();  // all have looked at the stacks before one pushes
    if (lane_rank() == 0) {
        run_control& control = *engine().control;
        wide_task task;
        taken = take_of_share(depth, false, task);
        for (unsigned place = 0; !taken && place < board_places; ++place) {
            const board_word seen(look(control.board[place]));
            if (seen.left() <= 0) continue;  // blocks for worker blocks too: this warp may be the only one that can see to them
            // The place may have gone to another grid since: then its blocks lie below what may run here, as some gifts do.
            const wide_task& posted = at<launch_details>(seen.details())->task;
            if (static_cast<int>(look(posted.info) & info::depth_mask) <= depth) continue;
            const std::uint32_t wanted = grain_of(seen.width());
            const board_word found = take_posted(place, wanted);
            taken = found.left() > 0;
            if (!taken) continue;
            copy_fresh_task(task, at<launch_details>(found.details())->task);
            task.first = task.last - static_cast<std::uint32_t>(found.left());
            task.last = task.first + min(wanted, static_cast<std::uint32_t>(found.left()));
        }
        if (taken && !push_here(task)) stop_run(no_memory);
    }
    return __shfl_sync(all_lanes, taken, 0);
}

/// Runs something, if there is anything to run. False if not.
template <bool Nested>
__device__ inline bool step() {
    warp_state& warp = this_warp();
    balance_records();
    if (own_stack<lane_task>::top() - own_stack<lane_task>::bottom() > lane_stack_capacity - 2 * stack_reserve) spill<lane_task>();
    if (own_stack<wide_task>::top() - own_stack<wide_task>::bottom() > wide_stack_capacity - stack_reserve) spill<wide_task>();
    if (warp.lane_top - warp.lane_bottom + warp.wide_top - warp.wide_bottom < warp_size && try_block_task(4)) return true;
    if (const std::uint32_t lanes = available<lane_task, Nested>(); lanes != 0) {
        run_lanes<Nested>(lanes);
        return true;
    }
    if (const std::uint32_t wides = available<wide_task, Nested>(); wides != 0) {
        run_wide<Nested>(wides);
        return true;
    }
    if constexpr (Nested) {
        if (warp.spilled_lanes != 0 && unspill_deeper<lane_task>(warp.depth)) return true;
        if (warp.spilled_wides != 0 && unspill_deeper<wide_task>(warp.depth)) return true;
        if (__shfl_sync(all_lanes, gift_is_there(), 0)) {
            accept_gift();
            return true;
        }
        if (bring_up<lane_task>(warp.depth) || bring_up<wide_task>(warp.depth)) return true;
        if (take_posted_deeper_than(warp.depth)) return true;
        return try_block_task(256, warp.awaited);
    } else {
        return (warp.spilled_lanes != 0 && unspill<lane_task>()) || (warp.spilled_wides != 0 && unspill<wide_task>());
    }
}

/// Runs `action` on top of a frame whose shallowest waiting block has this depth, and one of whose records is `awaited`. All lanes
/// together.
template <class Action>
__device__ inline bool on_top_of_wait(int depth, arena_index awaited, Action action) {
    warp_state& warp = this_warp();
    const int outer_depth = warp.depth;
    const arena_index outer_awaited = warp.awaited;
    flush_all();
    if (lane_rank() == 0) {
        warp.depth = depth;
        warp.awaited = awaited;
        ++warp.level;
        check_deadline();
    }
    __syncwarp();
    exchange_block_tasks();
    const bool did = action();
    flush_all();
    share();
    __syncwarp();
    if (lane_rank() == 0) {
        warp.depth = outer_depth;
        warp.awaited = outer_awaited;
        --warp.level;
    }
    __syncwarp();
    return did;
}

/// One step while a block waits.
__device__ DYNPAR_NOINLINE inline bool nested_step(int depth, arena_index awaited) {
    return on_top_of_wait(depth, awaited, [] { return step<true>(); });
}
/// One lane of a warp that found nothing to do in its last step: whether there is something new.
__device__ DYNPAR_NOINLINE inline bool is_wanted_in_wait(int depth) {
    return block_task_wanted(depth) || gift_is_there() || (threadIdx.x == 0 && block_gift_is_there());
}

/// All lanes of a warp that has much to do: whether the run is over.
__device__ __noinline__ inline bool hears_of_stop() {
    bool stops = false;
    if (lane_rank() == 0) {
        stops = is_to_stop();
        if (stops) count_at_stop(&stopped_workers::running);
    }
    return __shfl_sync(all_lanes, stops, 0);
}

inline namespace hot {
/// What a warp does for the whole of a run. Not inlined, so that it is compiled once and not for every kernel that the host runs.
__device__ __noinline__ inline void work() {
    // Looking for hungry warps costs a trip to the second-level cache. At first all are hungry, so there are as many looks as steps. Tasks
    // may be long, and few.
    constexpr unsigned share_every = 8;
    constexpr unsigned first_steps = 64;
    constexpr unsigned many_cycles = 1 << 15;
    constexpr unsigned very_many_cycles = 1 << 18;  // some 130 microseconds
    unsigned shared_at = __shfl_sync(all_lanes, cycles_now(), 0);  // one clock for all: they decide by it whether they go the same way
    if (!find_work(naps_at_first)) return;  // nothing lies on a stack when a run begins
    // Also where nothing was to do: work may come and go in a rhythm of its own. By the same clock as the looks for hungry warps: what this
    // loop keeps from step to step lies on the stack, for want of registers.
    const auto is_over = [&] {
        const unsigned now = __shfl_sync(all_lanes, cycles_now(), 0);
        const bool looks = (now ^ shared_at) >= very_many_cycles;
        shared_at = now;
        return looks && hears_of_stop();
    };
    for (unsigned steps = 1;; ++steps) {
        if (!step<false>()) {
            if (!find_work(0) || is_over()) return;
            if (this_warp().wide_top != this_warp().wide_bottom) share();  // before this one has something to do for long
            continue;
        }
        const bool has_wide = this_warp().wide_top != this_warp().wide_bottom;
        if (steps < first_steps || steps % share_every == 0 || (has_wide && __any_sync(all_lanes, cycles_now() - shared_at > many_cycles))) {
            if (is_over()) return;
            exchange_block_tasks();
            share();
        }
    }
}
}  // namespace hot

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
