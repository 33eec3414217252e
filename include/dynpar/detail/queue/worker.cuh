// Queue engine: what a warp does during a run: steps, one after another or on top of a wait; when a step finds no task,
// it searches.
//
// A step runs tasks of the warp's own deques, and joins the other warps of its worker block for a block task. A nested
// step runs only what is deeper than the wait below it, and therefore looks everywhere for it. Sets warp_state::depth,
// awaited and level, which say on top of what the warp runs; work() owns the rhythm in which it serves steal requests
// and looks at the clock.
#pragma once

#include "reserve.cuh"
#include "search.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// All lanes together: how many tasks at the owner end of a deque may run now. In a nested step, those that are deeper
/// than the waiting block, at most 32: not everything at the owner end is, since a donation may have come from
/// anywhere.
template <class Task, bool Nested>
__device__ inline std::uint32_t available() {
    using deque = own_deque<Task>;
    const std::uint32_t count = deque::owner_end() - deque::steal_end();
    if constexpr (Nested) {
        if (count == 0) return 0;
        const unsigned lane = lane_rank();
        const bool may_run = lane < count && is_deeper(slot<Task>(deque::owner_end() - 1 - lane), this_warp().depth);
        const unsigned others = ~__ballot_sync(all_lanes, may_run);
        return others == 0 ? warp_size : static_cast<std::uint32_t>(__ffs(static_cast<int>(others))) - 1;
    }
    return count;
}

/// All lanes together, in a nested step with nothing else to do: looks further down the deque for a task that is deeper
/// than the waiting block, and swaps it to the owner end. Only this guarantees that waits of mixed widths form no
/// cycle.
template <class Task>
__device__ inline bool bring_up(int deeper_than) {
    using deque = own_deque<Task>;
    const std::uint32_t steal_end = deque::steal_end();
    const std::uint32_t owner_end = deque::owner_end();
    for (std::uint32_t first = steal_end; static_cast<std::int32_t>(owner_end - first) > 0; first += warp_size) {
        const std::uint32_t place = first + lane_rank();
        const bool fits = static_cast<std::int32_t>(owner_end - place) > 0 && is_deeper(slot<Task>(place), deeper_than);
        const unsigned found = __ballot_sync(all_lanes, fits);
        if (found == 0) continue;
        sync_warp();
        if (lane_rank() == 0) {
            const std::uint32_t from = first + static_cast<unsigned>(__ffs(static_cast<int>(found))) - 1;
            Task up, down;
            copy_task(up, slot<Task>(from));
            copy_task(down, slot<Task>(owner_end - 1));
            copy_task(slot<Task>(from), down);
            copy_task(slot<Task>(owner_end - 1), up);
        }
        sync_warp();
        return true;
    }
    return false;
}

/// All lanes together, in a nested step: claims blocks that may run on top of the wait, of the worker block's chunk or
/// of an open grid.
__device__ inline bool claim_blocks_deeper_than(int depth) {
    bool taken = false;
    sync_warp();  // all have read the deques before one pushes
    if (lane_rank() == 0) {
        run_control& control = *engine().control;
        wide_task task;
        taken = take_of_chunk(depth, false, grain_of(load_chunk().width()), task);
        for (unsigned place = 0; !taken && place < open_grid_places; ++place) {
            const open_grid_word seen(load_relaxed(control.open_grids[place]));
            // Blocks for worker blocks count too: this warp may be the only one that can have them run.
            if (seen.left() <= 0) continue;
            // The place may have changed to another grid by then: its blocks lie on the deque below what may run here,
            // as some donations do.
            const wide_task& published = at<grid_descriptor>(seen.descriptor())->task;
            if (static_cast<int>(load_relaxed(published.info) & info::depth_mask) <= depth) continue;
            const std::uint32_t wanted = grain_of(seen.width());
            const open_grid_word found = claim_blocks(place, wanted);
            taken = found.left() > 0;
            if (!taken) continue;
            copy_fresh_task(task, at<grid_descriptor>(found.descriptor())->task);
            task.first = task.last - static_cast<std::uint32_t>(found.left());
            task.last = task.first + min(wanted, static_cast<std::uint32_t>(found.left()));
        }
        if (taken && !push_here(task)) drop_task();
    }
    return __shfl_sync(all_lanes, taken, 0);
}

/// All lanes together, in a nested step with nothing at hand: finds what may run on top of the wait wherever it is. Out
/// of line, since most steps end before, and would save the registers for this first.
__device__ __noinline__ inline bool look_everywhere() {
    const warp_state& warp = this_warp();
    if (warp.spilled_lanes.head() != 0 && unspill_deeper<lane_task>(warp.depth)) return true;
    if (warp.spilled_wides.head() != 0 && unspill_deeper<wide_task>(warp.depth)) return true;
    if (__shfl_sync(all_lanes, donation_is_there(), 0)) {
        accept_donation();
        return true;
    }
    if (bring_up<lane_task>(warp.depth) || bring_up<wide_task>(warp.depth)) return true;
    if (claim_blocks_deeper_than(warp.depth)) return true;
    return try_block_task(256, warp.awaited);
}

/// A function with a convention of its own, for work(), which has CUDA's: of a call by name ptxas would warn.
template <class Function>
__device__ inline Function* by_address(Function* function) {
#if DYNPAR_QUEUE_OWN_CONVENTION
    return reinterpret_cast<Function*>(const_cast<void*>(opaque(reinterpret_cast<const void*>(function))));
#else
    return function;
#endif
}

/// Runs something if there is anything to run. False if not. `takes_ready`: also continuations that are fewer than a
/// round, although the warp has a round without them. `in_a_row`: see run_wide().
template <bool Nested>
__device__ inline bool step(bool takes_ready, unsigned in_a_row) {
    warp_state& warp = this_warp();
    balance_caches();
    if (own_deque<lane_task>::owner_end() - own_deque<lane_task>::steal_end() >
        tuning::lane_deque_capacity - 2 * tuning::deque_reserve)
        spill<lane_task>();
    if (own_deque<wide_task>::owner_end() - own_deque<wide_task>::steal_end() >
        tuning::wide_deque_capacity - tuning::deque_reserve)
        spill<wide_task>();
    if (warp.lane_owner_end - warp.lane_steal_end + warp.wide_owner_end - warp.wide_steal_end < warp_size &&
        try_block_task(4, 0))
        return true;
    const std::uint32_t lanes = available<lane_task, Nested>();
    std::uint32_t ready = Nested ? 0 : warp.ready;
    if (ready < warp_size && lanes >= warp_size && !takes_ready) ready = 0;
    if (lanes + ready != 0) {
        run_lanes<Nested>(lanes, ready);
        return true;
    }
    if (const std::uint32_t wides = available<wide_task, Nested>(); wides != 0) {
        const bool on_lanes = width_of_words(word_of_newest_wide()) == info::on_lane;
        if constexpr (Nested) {
            on_lanes ? run_newest_wide_on_lanes_nested(wides) : run_wide_nested(wides);
        } else if (on_lanes) {
            const auto run = by_address(&run_newest_wide_on_lanes);
            DYNPAR_QUEUE_BELOW_WORK
            run(wides);
        } else {
            const auto run = by_address(&run_wide);
            DYNPAR_QUEUE_BELOW_WORK
            run(wides, in_a_row);
        }
        return true;
    }
    if constexpr (Nested) {
        return look_everywhere();
    } else {
        return (warp.spilled_lanes.head() != 0 && unspill<lane_task>()) ||
               (warp.spilled_wides.head() != 0 && unspill<wide_task>());
    }
}

/// All lanes together: a step on top of a frame in which blocks wait, the deepest at this depth; or the block for which
/// the team that waits here has called this warp. `awaited`: a grid node that the frame waits for. False if there was
/// nothing to do.
__device__ DYNPAR_NOINLINE inline bool nested_step(int depth, arena_index awaited) {
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
    sync_warp();
    if (warp.ready != 0) move_ready_to_deque();
    const std::uint32_t ends = warp.lane_owner_end + warp.wide_owner_end;
    const unsigned long long spilled = warp.spilled_lanes.bits + warp.spilled_wides.bits;
    const unsigned called = take_call();
    sync_warp();  // all have read them
    bool did = true;
    if (called != 0) {
        run_on_team(called - 1);
    } else {
        if (threadIdx.x < warp_size) exchange_block_tasks();  // one warp is enough: a look is a trip to device memory
        did = step<true>(false, 1);
    }
    flush_all();
    serve_requests();
    sync_warp();
    // Also where the step found nothing to do: a continuation that the flush has begun, or a donation that was taken in
    // while this warp waited for a cell, is here now, and nobody else looks for it.
    const bool brought = warp.ready != 0 || warp.lane_owner_end + warp.wide_owner_end != ends ||
                         warp.spilled_lanes.bits + warp.spilled_wides.bits != spilled;
    sync_warp();
    if (lane_rank() == 0) {
        warp.depth = outer_depth;
        warp.awaited = outer_awaited;
        --warp.level;
    }
    sync_warp();
    return did || brought;
}
/// One lane of a warp whose last step found nothing to do: whether there is something new. It may be on the warp's own
/// deque: who looks for a candidate in a chunk that is replaced meanwhile claims blocks of the new one.
__device__ DYNPAR_NOINLINE inline bool is_wanted_in_wait(int depth) {
    const warp_state& warp = this_warp();
    const std::uint32_t owner_end = warp.wide_owner_end;
    const unsigned long long spilled = warp.spilled_wides.bits;
    return block_task_wanted(depth) || warp.wide_owner_end != owner_end || warp.spilled_wides.bits != spilled ||
           donation_is_there() || (threadIdx.x == 0 && block_donation_is_there());
}

/// All lanes of a warp with much to do: whether the run is over.
__device__ __noinline__ inline bool hears_of_stop() {
    bool stops = false;
    if (lane_rank() == 0) {
        stops = is_to_stop();
        if (stops) count_at_stop(&stopped_workers::running);
    }
    return __shfl_sync(all_lanes, stops, 0);
}

inline namespace hot {
/// A warp's part of a run. Not inlined, so that it is compiled once and not for every kernel that the host runs.
__device__ __noinline__ inline void work() {
    // One clock for all lanes: they decide by it whether they take the same branch.
    unsigned served_at = __shfl_sync(all_lanes, cycles_now(), 0);
    const auto finds_work = [](unsigned polls) {
        const auto find = by_address(&find_work);
        bool found;
        DYNPAR_QUEUE_BELOW_WORK
        found = find(polls);
        return found;
    };
    if (!finds_work(tuning::polls_at_first)) return;  // every deque is empty when a run begins
    // Also checked where there was nothing to do: work may come and go in a rhythm that hides it from the check below.
    // It uses the clock of the last look for requests, because what this loop keeps from step to step lies on the
    // stack, for want of registers.
    const auto is_over = [&] {
        const unsigned now = __shfl_sync(all_lanes, cycles_now(), 0);
        const bool looks = (now ^ served_at) >= tuning::stop_after_cycles;
        served_at = now;
        return looks && hears_of_stop();
    };
    // Most steps may run several wide tasks. Now and then they do not, so that this warp knows how long one takes.
    const auto is_of_one_task = [](unsigned step) {
        return step <= tuning::serve_first_steps || (step - 1) % tuning::serve_first_steps < tuning::serve_every;
    };
    // Not on the stack, likewise: the step after which it looked for requests, and at the clock.
    const auto note_look = [](unsigned step) {
        if (lane_rank() == 0) this_warp().looked_at = step;
    };
    note_look(0);
    for (unsigned steps = 1;; ++steps) {
        if (!step<false>(steps % tuning::serve_every == 0, is_of_one_task(steps) ? 1 : tuning::wide_tasks_in_a_row)) {
            if (!finds_work(0) || is_over()) return;
            note_look(steps);
            // Now, before this warp is busy for long.
            if (this_warp().wide_owner_end != this_warp().wide_steal_end) serve_requests();
            continue;
        }
        const bool has_wide = this_warp().wide_owner_end != this_warp().wide_steal_end;
        if (steps < tuning::serve_first_steps || steps % tuning::serve_every == 0 ||
            (has_wide && __any_sync(all_lanes, cycles_now() - served_at > tuning::serve_after_cycles))) {
            const unsigned before = served_at;
            if (is_over()) return;
            if (has_wide && steps >= tuning::reserve_from_steps && steps % tuning::serve_every == 0 &&
                is_of_one_task(steps))
                call_reserve_if_useful(served_at - before, steps - this_warp().looked_at);
            if (threadIdx.x < warp_size) exchange_block_tasks();
            const bool served = serve_requests();
            // Others may want more of what has spilled: the next step is one after which this warp looks.
            if (served && steps >= tuning::serve_first_steps && has_segment_to_donate())
                steps |= tuning::serve_every - 1;
            note_look(steps);
        }
    }
}
}  // namespace hot

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
