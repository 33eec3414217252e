// Queue engine: block tasks, for which all warps of a worker block come together: how they agree on one, and run it.
// Owns the candidate of gang_state (with has_candidate, depth and ready), its current task and the frame around it;
// divides wide tasks among the warps' deques.
#pragma once

#include "../join/completion.cuh"
#include "../deadline.cuh"
#include "frame.cuh"
#include "../balance/steal_requests.cuh"
#include "rendezvous.cuh"
#include "../balance/block_chunk.cuh"
#include "../observe/trace.cuh"
#include "wait.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

__device__ void run_on_block();  // below

/// One lane: makes a block of a task from the worker block's deque, or from its chunk, the candidate that all warps run
/// next. `deeper_than`: only of a grid that may run on top of what waits here.
__device__ inline void choose_candidate_here(int deeper_than) {
    gang_state& gang = this_block().gang;
    with_block_lock(gang.lock, [&] {
        const bool have = load_relaxed_in_block(gang.has_candidate) != 0;
        if (have && static_cast<int>(load_relaxed_in_block(gang.depth)) > deeper_than) return;
        wide_task task;
        if (!take_block_task(deeper_than, task)) {
            if (!take_of_chunk(deeper_than, true, task)) return;
            const bool on_block = (task.info & info::width_mask) == info::on_block;
            // Perhaps the chunk was replaced meanwhile.
            if (!on_block || static_cast<int>(task.info & info::depth_mask) <= deeper_than) {
                if (!(on_block ? push_block_task(task) : push_here(task))) stop_run(no_memory);
                return;
            }
        }
        // Some warp cannot join the old candidate, so another takes its place.
        if (have && !push_block_task(gang.candidate)) stop_run(no_memory);
        gang.candidate = task;
        store_relaxed_in_block(gang.depth, task.info & info::depth_mask);
        fence_in_block();
        store_relaxed_in_block(gang.has_candidate, 1u);
    });
}

/// The same for callers that seldom need it, out of line.
__device__ __noinline__ inline void choose_candidate(int deeper_than) { choose_candidate_here(deeper_than); }

__device__ DYNPAR_NOINLINE inline unsigned all_warps() {
    return blockDim.x == 1024 ? all_lanes : (1u << blockDim.x / warp_size) - 1;
}

/// One lane: whether there is a block task that a warp may join on top of what waits at this depth.
__device__ inline bool block_task_wanted(int depth) {
    gang_state& gang = this_block().gang;
    const auto may_join = [&] {
        return load_relaxed_in_block(gang.has_candidate) != 0 &&
               static_cast<int>(load_relaxed_in_block(gang.depth)) > depth;
    };
    if (may_join()) return true;
    // The leader warp chooses for all. So does a warp that waits: perhaps no other may choose what it waits for.
    if ((threadIdx.x != 0 && depth < 0) || !has_block_work()) return false;
    choose_candidate(depth);
    return may_join();
}

__device__ inline void offer_to_join() { fetch_or_relaxed(this_block().gang.ready, 1u << threadIdx.x / warp_size); }
__device__ inline bool all_have_joined() { return load_relaxed_in_block(this_block().gang.ready) == all_warps(); }

/// One lane: takes this warp's bit back. False if all warps have set theirs: then what they agreed on must be done.
__device__ DYNPAR_NOINLINE inline bool take_back(unsigned& bits) {
    unsigned seen = load_relaxed_in_block(bits);
    while (seen != all_warps()) {
        const unsigned found = compare_exchange_relaxed(bits, seen, seen & ~(1u << threadIdx.x / warp_size));
        if (found == seen) return true;
        seen = found;
    }
    return false;
}
__device__ inline bool withdraw() { return take_back(this_block().gang.ready); }

/// All lanes together: runs a block task if the other warps come soon. A warp with nothing better to do is patient: if
/// many came and left, they would hardly ever be there at the same time. While more and more come, one that waits stays
/// longer still; but not for ever, since what it alone may run can come to it meanwhile. It leaves when what it waits
/// for is complete.
__device__ inline bool try_block_task(unsigned patience, arena_index awaited = 0) {
    bool joined = false;
    // All have looked at the deques before one chooses a candidate, which may push.
    __syncwarp();
    if (lane_rank() == 0 && block_task_wanted(this_warp().depth)) {
        offer_to_join();
        int most = 0;
        for (unsigned polls = 0, until = patience; polls < until && !joined; ++polls) {
            joined = all_have_joined();
            if (!joined) __nanosleep(50);
            if (this_warp().depth < 0) continue;
            if ((awaited != 0 && children_are_complete(awaited)) || run_stopped()) break;
            const int ready = __popc(load_relaxed_in_block(this_block().gang.ready));
            if (ready > most) {
                most = ready;
                until = polls + patience;
            }
        }
        if (!joined) joined = !withdraw();
    }
    if (!__shfl_sync(all_lanes, joined, 0)) return false;
    run_on_block();
    return true;
}

/// All warps of the worker block together: runs the candidate.
__device__ inline void run_candidate() {
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    const wide_task& task = gang.current;
    flush_all();
    const bool shared_memory_in_use = any_of_block(warp.level != 0);
    // What ran below is kept in registers: of its task one word in each of the first threads.
    std::uint32_t outer_word = 0;
    const arena_index outer_own = gang.own;
    const std::uint32_t outer_base = gang.base;
    const unsigned outer_counts = gang.own_counts;
    const unsigned outer_refused = gang.refused_shared;
    unsigned char* const outer_shared_memory = gang.shared_memory;
    const int outer_depth = warp.depth;
    if (threadIdx.x < task_words) outer_word = word_of(gang.current, threadIdx.x);
    sync_block();
    if (threadIdx.x < task_words) word_of(gang.current, threadIdx.x) = word_of(gang.candidate, threadIdx.x);
    arena_index borrowed = 0;
    if (threadIdx.x < warp_size) __syncwarp();
    if (threadIdx.x == 0) {
        if (const unsigned bytes = task.size.shared_bytes(); bytes != 0) {
            gang.shared_memory = find_shared_memory(bytes, kernels_shared_memory(),
                                                    shared_memory_in_use ? 0 : engine().shared_bytes, borrowed);
        }
        gang.own = 0;
        gang.base = load_relaxed_in_block(gang.owner_end);
        gang.own_counts = counted::nothing;
        gang.refused_shared = 0;
        gang.launched = 0;
        store_relaxed_in_block(gang.has_candidate, 0u);
        store_relaxed_in_block(gang.ready, 0u);
    }
    const block_frame<true> frame;
    // The last warp writes what the trace needs, since it has least to do; the frame has saved its begun_at. It reads
    // the clock before the others begin the kernel, and launch.
    const bool traces = is_traced_run() && threadIdx.x == blockDim.x - warp_size;
    if (traces) warp.begun_at = device_nanoseconds();
    __syncwarp();
    sync_block();
    if (lane_rank() == 0) {
        ++warp.level;
        if (threadIdx.x == 0 && task.first == 0) ++warp.grids;
        warp.deepest = max(warp.deepest, task.info & info::depth_mask);
    }
    unsigned launched = 0;
    if (threadIdx.x < task.size.threads()) launched = task.entry(task.first, false);
    for (arrival why = block_rendezvous(returned); why != returned; why = block_rendezvous(returned)) {
        if (why == waiting) wait_on_block(task.grid, task.info & info::depth_mask, launched, false);
    }
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    if (lane_rank() == 0 && sum != 0) fetch_add_relaxed(gang.launched, sum);
    if (gang.own != 0 && gang.own_counts < counted::all_before_wait) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, task.grid, gang.own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, task.grid, gang.own);
        point_block_tasks_to_own(task.grid, gang.own);
    }
    if (traces) stamp(task.descriptor, task.info, task.first, warp.begun_at);
    __syncwarp();
    sync_block();
#if !DYNPAR_NO_TRACE
    if (threadIdx.x / warp_size == blockDim.x / warp_size - 2) write_if_many(gang.traced);
#endif
    if (threadIdx.x == 0) {
        return_shared_memory(task.size.shared_bytes(), borrowed);
        const count_change mine =
            settle_wide(task.grid, task.info, gang.own, gang.own_counts, static_cast<int>(gang.launched));
        if (mine.grid != 0) add_to_counter_as_wide(mine.grid, mine.change);
        gang.own = outer_own;
        gang.base = within(outer_base, load_relaxed_in_block(gang.steal_end), load_relaxed_in_block(gang.owner_end));
        gang.own_counts = outer_counts;
        gang.refused_shared = outer_refused;
        gang.shared_memory = outer_shared_memory;
        gang.launched = 0;
    }
    if (threadIdx.x < warp_size) __syncwarp();
    if (threadIdx.x < task_words) word_of(gang.current, threadIdx.x) = outer_word;
    if (lane_rank() == 0) {
        --warp.level;
        warp.depth = outer_depth;
    }
    frame.end();
    exchange_block_tasks_now_and_then();
}

/// All warps of the worker block, none of which waits for anything: divides what one of them has on its deque of wide
/// tasks among all, as far as the others have room. Mostly that is the first warp: of a block's threads, one launches.
__device__ DYNPAR_NOINLINE inline void even_out() {
    const warp_state* const warps = &this_warp() - threadIdx.x / warp_size;
    const unsigned count = blockDim.x / warp_size;
    const unsigned rank = threadIdx.x / warp_size;
    warp_state& mine = this_warp();
    std::uint32_t steal_end = 0, tasks = 0;  // of the warp with this lane's number
    if (lane_rank() < count) {
        steal_end = warps[lane_rank()].wide_steal_end;
        tasks = warps[lane_rank()].wide_owner_end - steal_end;
    }
    const unsigned with_several = __ballot_sync(all_lanes, tasks > 1);
    sync_block();  // all have read the counters: from here on each changes its own
    if (with_several == 0) return;
    const unsigned from = static_cast<unsigned>(__ffs(static_cast<int>(with_several))) - 1;
    const std::uint32_t room =
        tuning::wide_deque_capacity - __reduce_max_sync(all_lanes, lane_rank() != from ? tasks : 0);
    steal_end = __shfl_sync(all_lanes, steal_end, from);
    tasks = __shfl_sync(all_lanes, tasks, from);
    // The oldest, to the others in turns.
    const std::uint32_t donated = min(tasks - (tasks + count - 1) / count, room * (count - 1));
    if (rank != from) {
        wide_task* const slots = engine().wide_deques +
                                 (static_cast<std::size_t>(worker_rank()) - rank + from) * tuning::wide_deque_capacity;
        const unsigned turn = (rank + count - from) % count - 1;  // among those who take
        std::uint32_t owner_end = mine.wide_owner_end;
        for (std::uint32_t n = turn; n < donated; n += count - 1, ++owner_end) {
            if (lane_rank() < task_words)
                word_of(slot<wide_task>(owner_end), lane_rank()) =
                    word_of(slots[(steal_end + n) % tuning::wide_deque_capacity], lane_rank());
        }
        __syncwarp();
        if (lane_rank() == 0) mine.wide_owner_end = owner_end;
    }
    sync_block();
    if (rank == from && lane_rank() == 0) mine.wide_steal_end = steal_end + donated;
    __syncwarp();
}

/// All warps of the worker block, each having found all others ready: runs the candidate and then more, from the open
/// grids when none is left here. Coming together costs more than most tasks; but what the tasks launch for single warps
/// must not pile up.
__device__ DYNPAR_NOINLINE inline void run_on_block() {
    const warp_state& warp = this_warp();
    unsigned stop_seen_at = cycles_now();
    for (unsigned in_a_row = 1;; ++in_a_row) {
        run_candidate();
        const std::uint32_t piled_up =
            warp.lane_owner_end - warp.lane_steal_end + warp.wide_owner_end - warp.wide_steal_end + warp.ready;
        const bool waits = warp.depth >= 0;
        bool leaves = in_a_row == tuning::block_tasks_in_a_row || waits || piled_up > tuning::tasks_piled_up;
        if (threadIdx.x == 0 && cycles_now() - stop_seen_at > tuning::stop_after_cycles) {
            stop_seen_at = cycles_now();
            leaves = leaves || is_to_stop();
        }
        if (threadIdx.x == 0 && !leaves) {
            choose_candidate_here(-1);
            if (load_relaxed_in_block(this_block().gang.has_candidate) == 0 && fetch_chunk_for_block())
                choose_candidate(-1);
            leaves = load_relaxed_in_block(this_block().gang.has_candidate) == 0;
        }
        // This is also a barrier: children run only after they are counted.
        const block_votes votes = vote_of_block(leaves, waits);
        if (!votes.first) continue;
        if (!votes.second) even_out();
        return;
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
