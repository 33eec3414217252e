// Queue engine: how a warp runs what it finds: rounds of lane tasks, a wide task, a block task together with its worker block;
// how their completion is counted; and what happens while they wait.
#pragma once

#include "queue_stream.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// ---- Meeting. A block's threads need not return together, and a warp can go on only when all of them are there. So whoever
// returns, reaches a barrier or waits comes to one place, one instruction for all.

enum meeting : unsigned { returned, at_barrier, waiting };

/// Of a warp: why it met. `returned` if all have.
__device__ __noinline__ inline meeting meet(meeting why) {
    __syncwarp();
    const unsigned waits = __ballot_sync(all_lanes, why == waiting);
    const unsigned barriers = __ballot_sync(all_lanes, why == at_barrier);
    return waits != 0 ? waiting : barriers != 0 ? at_barrier : returned;
}

// Barriers of the worker block. Unlike those of __syncthreads its warps may come to them from different places: from a kernel, from where
// those wait that have returned from it or have no part in it, from a wait, from the search for work.

__device__ inline void sync_block() { asm volatile("barrier.cta.sync 0;" : : : "memory"); }

/// All warps: whether any of them says so, to two questions. Votes are counted and never taken back, so that there is nothing to clear.
struct block_votes {
    bool first, second;
};
__device__ __noinline__ inline block_votes vote_of_block(bool first, bool second) {
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    // Every thread for itself: a vote of the warp first, of which one lane makes use, has been compiled into that lane's branch.
    if (first) atomicAdd(&gang.votes[0], 1u);
    if (second) atomicAdd(&gang.votes[1], 1u);
    __syncwarp();  // threads may come one by one; the block's barrier counts whole warps
    sync_block();
    const unsigned votes[2] = {look(gang.votes[0]), look(gang.votes[1])};
    const block_votes result{votes[0] != warp.votes_seen[0], votes[1] != warp.votes_seen[1]};
    sync_block();
    if (lane_rank() == 0) {
        warp.votes_seen[0] = votes[0];
        warp.votes_seen[1] = votes[1];
    }
    __syncwarp();
    return result;
}
__device__ inline bool any_of_block(bool says) { return vote_of_block(says, false).first; }

/// Of a worker block.
__device__ __noinline__ inline meeting meet_block(meeting why) {
    const block_votes votes = vote_of_block(why != returned, why == waiting);
    return votes.second ? waiting : votes.first ? at_barrier : returned;
}

// ---- Completion

/// Tells the others what this warp has put off, after its writes: `retire` releases them, those of the other lanes as well. All lanes
/// together.
__device__ inline void flush_deferred() {
    warp_state& warp = this_warp();
    const bool nothing = warp.deferred == 0;
    __syncwarp();  // all have read it before one writes it
    if (nothing) return;
    if (lane_rank() == 0) {
        const int change = warp.deferred;
        warp.deferred = 0;
        retire(warp.deferred_grid, change);
    }
    __syncwarp();
}

/// All lanes together: adds to a record's count, now or later. Putting it off is safe: what is put off contains at least one
/// block that the record still counts, so nobody can find the record at zero; and the children that it does not count yet are
/// in this warp's own stack. Whoever lets others see that stack flushes first.
__device__ inline void count_later(arena_index grid, int change) {
    warp_state& warp = this_warp();
    const bool another = warp.deferred_grid != grid;
    __syncwarp();
    if (another) {
        flush_deferred();
        if (lane_rank() == 0) warp.deferred_grid = grid;
    }
    if (lane_rank() == 0) warp.deferred += change;
    __syncwarp();
}

/// Points children that were launched before their parent had a record of its own to it: those of the tasks from `base` to `top`
/// that count on the parent's grid and were launched by it. All lanes together.
template <class Task>
__device__ inline void point_to_own(std::uint32_t base, std::uint32_t top, arena_index grid, arena_index own) {
    for (std::uint32_t place = base + lane_rank(); static_cast<std::int32_t>(top - place) > 0; place += warp_size) {
        Task& task = slot<Task>(place);
        if (task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
}

/// The same for lane tasks, by the lane that launched them, alone.
__device__ inline void point_lanes_to_own(arena_index grid, arena_index own) {
    for (std::uint32_t place = this_warp().lane_base; static_cast<std::int32_t>(this_warp().lane_top - place) > 0; ++place) {
        lane_task& task = slot<lane_task>(place);
        const bool mine = (task.info >> info::launcher_shift & (warp_size - 1)) == lane_rank();
        if (mine && task.grid == grid && (task.info & info::owner) == 0) task.grid = own;
    }
}

/// What a lane's return means for the records. The change that is left to make, to whose count (0: none).
struct count_change {
    arena_index grid;
    int change;
};

__device__ inline count_change settle_lane(arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    const int launched = static_cast<int>(outcome.launched & block_outcome::count_mask);
    arena_index own = outcome.own;
    const bool sole_owner = (task_info & (info::owner | info::one_of_several)) == info::owner;
    if (own == 0 && sole_owner) own = grid;
    if (own == 0) return {launched == 1 ? 0u : grid, launched - 1};
    if ((outcome.launched & block_outcome::accounted) != 0) return {own, launched - 1};
    if (launched != 0) {  // nobody else knows the record before its children run, so no atomic
        put(at<grid_record>(own)->pending, launched);
        return {0, 0};
    }
    const record_view view(own);
    if (begin_continuation(own, view)) return {0, 0};
    release_record(own, view);
    if (view.parent() == 0) end_run();
    return {view.parent(), -1};
}

/// All lanes together, when all blocks of a round have returned.
__device__ inline void settle_round(bool have, arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    const bool late = have && (outcome.launched & block_outcome::late) != 0;
    if (unsigned lates = __ballot_sync(all_lanes, late); lates != 0) {
        const std::uint32_t base = this_warp().lane_base;
        const std::uint32_t top = this_warp().lane_top;
        const arena_index target = late ? outcome.own : 0;
        for (std::uint32_t first = base; static_cast<std::int32_t>(top - first) > 0; first += warp_size) {
            const std::uint32_t place = first + lane_rank();
            const bool there = static_cast<std::int32_t>(top - place) > 0;
            lane_task& task = slot<lane_task>(place);
            const std::uint32_t launcher = there ? task.info >> info::launcher_shift & (warp_size - 1) : 0;
            const arena_index own = __shfl_sync(all_lanes, target, static_cast<int>(launcher));
            const arena_index parents_grid = __shfl_sync(all_lanes, grid, static_cast<int>(launcher));
            if (there && own != 0 && task.grid == parents_grid && (task.info & info::owner) == 0) task.grid = own;
        }
        __syncwarp();
    }
    // A fence only where somebody else may look: a block that just counts on its grid is counted later, behind a fence there.
    const bool joins = have && (outcome.own != 0 || (task_info & (info::owner | info::one_of_several)) == info::owner);
    count_change mine{0, 0};
    if (have && !joins) mine = settle_lane(grid, task_info, outcome);
    const unsigned joining = __ballot_sync(all_lanes, joins);
    const unsigned counting = __ballot_sync(all_lanes, mine.grid != 0);
    if (joining == 0) {
        if (counting == 0) return;
        const arena_index first = __shfl_sync(all_lanes, mine.grid, __ffs(static_cast<int>(counting)) - 1);
        if (__all_sync(all_lanes, mine.grid == 0 || mine.grid == first)) {
            const int sum = __reduce_add_sync(all_lanes, mine.grid != 0 ? mine.change : 0);
            if (sum != 0) count_later(first, sum);
            return;
        }
    }
    if (joins) mine = settle_lane(grid, task_info, outcome);
    if (mine.grid != 0) retire(mine.grid, mine.change);
    __syncwarp();
}

/// A lane that has returned while others of its round wait: its children must count before anybody runs them.
__device__ __noinline__ inline void settle_alone(arena_index grid, std::uint32_t task_info, block_outcome outcome) {
    if ((outcome.launched & block_outcome::late) != 0) point_lanes_to_own(grid, outcome.own);
    const count_change mine = settle_lane(grid, task_info, outcome);
    if (mine.grid != 0) retire(mine.grid, mine.change);
}

// ---- Frames: what runs on a warp, and below it what waits

__device__ inline std::uint32_t within(std::uint32_t place, std::uint32_t bottom, std::uint32_t top) {
    if (static_cast<std::int32_t>(place - bottom) < 0) return bottom;
    return static_cast<std::int32_t>(top - place) < 0 ? top : place;
}

template <bool Nested>
struct frame_guard {
    std::uint32_t lane_base, wide_base;
    arena_index own;
    unsigned own_accounted, own_continued;
    unsigned char* shared_memory;

    /// All lanes together, after what is to run has been popped.
    __device__ frame_guard() {
        warp_state& warp = this_warp();
        if constexpr (Nested) {
            lane_base = warp.lane_base;
            wide_base = warp.wide_base;
            own = warp.own;
            own_accounted = warp.own_accounted;
            own_continued = warp.own_continued;
            shared_memory = warp.shared_memory;
            __syncwarp();
        }
        if (lane_rank() == 0) {
            warp.lane_base = warp.lane_top;
            warp.wide_base = warp.wide_top;
            warp.own = 0;
            warp.own_accounted = 0;
            warp.own_continued = 0;
        }
        __syncwarp();
    }
    __device__ void end() const {
        if constexpr (Nested) {
            warp_state& warp = this_warp();
            __syncwarp();
            if (lane_rank() == 0) {
                // What lay below has perhaps been given away or brought down in the meantime.
                warp.lane_base = within(lane_base, warp.lane_bottom, warp.lane_top);
                warp.wide_base = within(wide_base, warp.wide_bottom, warp.wide_top);
                warp.own = own;
                warp.own_accounted = own_accounted;
                warp.own_continued = own_continued;
                warp.shared_memory = shared_memory;
            }
            __syncwarp();
        }
    }
};

__device__ bool nested_step(int depth, arena_index awaited);  // below
__device__ bool is_wanted_in_wait(int depth);
__device__ unsigned all_warps();
__device__ bool take_back(unsigned& bits);

/// All lanes of a round in which some wait, those that have returned among them (`own` is 0). True for a lane whose children are
/// complete.
__device__ __noinline__ inline bool wait_in_round(arena_index own, std::uint32_t depth) {
    __syncwarp();
    bool done = own != 0 && look(at<grid_record>(own)->pending) == 1;
    if (run_stopped()) done = own != 0;
    if (!__any_sync(all_lanes, done)) {
        const unsigned shallowest = __reduce_min_sync(all_lanes, own != 0 ? depth : ~0u);
        const unsigned waits = __ballot_sync(all_lanes, own != 0);
        const arena_index awaited = __shfl_sync(all_lanes, own, __ffs(static_cast<int>(waits)) - 1);
        if (!nested_step(static_cast<int>(shallowest), awaited)) __nanosleep(100);
    }
    return done;
}

/// For every thread that comes to `wait()`.
__device__ inline void note_wait(std::uint32_t depth) {
    unsigned& deepest_wait = this_warp().deepest_wait;
    if (look(deepest_wait) <= depth) atomicMax(&deepest_wait, depth + 1);
}

/// For a lane in `wait()`: returns when its children, all counted in `own`, are complete.
__device__ __noinline__ inline void wait_for_children(arena_index own, std::uint32_t depth) {
    do {
        meet(waiting);
    } while (!wait_in_round(own, depth));
    __threadfence();
}

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

/// Of a block wider than a lane: creates its record, once, whoever of its threads needs it first. 0 if there is no memory.
__device__ inline arena_index ensure_shared_record(arena_index& own, arena_index grid, std::uint32_t depth) {
    const arena_index there = look(own);
    if (there != 0) return there;
    const arena_index mine = make_record(grid, depth);
    if (mine == 0) return 0;
    __threadfence_block();
    const arena_index found = atomicCAS(&own, 0u, mine);
    if (found == 0) return mine;
    release(mine, 0);
    return found;
}

/// What became of a block's wait(). One of the threads whose wait() is refused says so for all.
enum class wait_outcome : unsigned { done, refused, refused_and_first };

/// All lanes of a warp whose block waits, those that have returned among them (`waits` is false): first what all of them have
/// launched is counted.
__device__ __noinline__ inline wait_outcome wait_on_warp(arena_index grid, std::uint32_t depth, unsigned& launched, bool waits) {
    __syncwarp();
    if (__any_sync(all_lanes, !may_wait(depth))) {
        const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(all_lanes, waits)))) - 1;
        return lane_rank() == first ? wait_outcome::refused_and_first : wait_outcome::refused;
    }
    warp_state& warp = this_warp();
    const int sum = static_cast<int>(__reduce_add_sync(all_lanes, launched));
    launched = 0;
    if (lane_rank() == 0 && warp.own == 0 && sum != 0) {
        ensure_shared_record(warp.own, grid, depth);
        if (warp.own == 0) stop_run(no_memory);
    }
    __syncwarp();
    const arena_index own = warp.own;
    if (own == 0) return wait_outcome::done;
    if (warp.own_accounted < 2) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_top, grid, own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_top, grid, own);
    }
    __threadfence();
    __syncwarp();
    if (lane_rank() == 0) {
        warp.own_accounted = 2;
        if (sum != 0) atomicAdd(&at<grid_record>(own)->pending, sum);
    }
    __syncwarp();
    while (__shfl_sync(all_lanes, look(at<grid_record>(own)->pending) != 1 && !run_stopped(), 0)) {
        if (!nested_step(static_cast<int>(depth), own)) __nanosleep(100);
    }
    __threadfence();
    __syncwarp();
    return wait_outcome::done;
}

/// What the return of a block on a warp or a worker block means for the records; by one thread.
__device__ inline count_change settle_wide(const wide_task& task, arena_index own, unsigned accounted, int launched) {
    return settle_lane(task.grid, task.info,
                       block_outcome{own, static_cast<unsigned>(launched) | (accounted != 0 ? block_outcome::accounted : 0u)});
}

/// One thread: memory for `block.shared`: of the multiprocessor if there is enough, else out of the arena. `borrowed` is what is to
/// be given back.
__device__ __noinline__ inline unsigned char* find_shared_memory(const wide_task& task, unsigned char* fast, unsigned fast_bytes,
                                                                 arena_index& borrowed) {
    const unsigned bytes = at<launch_details>(task.details)->shared_bytes;
    if (bytes <= fast_bytes) return fast;
    borrowed = allocate(size_class_of(bytes));
    if (borrowed == 0) stop_run(no_memory);
    return borrowed != 0 ? at<unsigned char>(borrowed) : nullptr;
}
__device__ inline void return_shared_memory(const wide_task& task, arena_index borrowed) {
    if (borrowed != 0) release(borrowed, size_class_of(at<launch_details>(task.details)->shared_bytes));
}
__device__ inline unsigned char* kernels_shared_memory() { return worker_memory + state_bytes(blockDim.x); }

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

// ---- The worker block together

/// All threads of a worker block whose block waits. As wait_on_warp.
__device__ __noinline__ inline wait_outcome wait_on_block(arena_index grid, std::uint32_t depth, unsigned& launched, bool waits) {
    __syncwarp();
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    if (any_of_block(!may_wait(depth))) {
        if (threadIdx.x == 0) gang.first_waiter = ~0u;
        sync_block();
        if (waits) atomicMin(&gang.first_waiter, threadIdx.x);
        __syncwarp();
        sync_block();
        return look_in_block(gang.first_waiter) == threadIdx.x ? wait_outcome::refused_and_first : wait_outcome::refused;
    }
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    launched = 0;
    if (lane_rank() == 0 && sum != 0) atomicAdd(&gang.launched, sum);
    sync_block();
    if (threadIdx.x == 0 && gang.own == 0 && gang.launched != 0) {
        ensure_shared_record(gang.own, grid, depth);
        if (gang.own == 0) stop_run(no_memory);
    }
    sync_block();
    const arena_index own = gang.own;
    if (own != 0) {
        if (gang.own_accounted < 2) {
            point_to_own<lane_task>(warp.lane_base, warp.lane_top, grid, own);
            point_to_own<wide_task>(warp.wide_base, warp.wide_top, grid, own);
        }
        __threadfence();
        sync_block();
        if (threadIdx.x == 0) {
            gang.own_accounted = 2;
            if (gang.launched != 0) atomicAdd(&at<grid_record>(own)->pending, static_cast<int>(gang.launched));
            gang.launched = 0;
        }
        sync_block();
        // A warp that sees the children complete must not go to the barrier yet: what another warp runs on top of its wait may need
        // this one, for a block task or for a task on its stack. So all go together, when none has anything left to do.
        const unsigned others_arrived = gang.arrived;
        sync_block();
        if (threadIdx.x == 0) put_in_block(gang.arrived, 0u);
        sync_block();
        bool complete = false;
        bool did = true;
        while (true) {
            complete = complete || __shfl_sync(all_lanes, look(at<grid_record>(own)->pending) == 1 || run_stopped(), 0);
            if (complete) {
                bool all_arrived = false;
                if (lane_rank() == 0) {
                    atomicOr(&gang.arrived, 1u << threadIdx.x / warp_size);
                    while (true) {
                        all_arrived = look_in_block(gang.arrived) == all_warps();
                        if (all_arrived) break;
                        if (did || is_wanted_in_wait(static_cast<int>(depth))) {
                            all_arrived = !take_back(gang.arrived);
                            break;
                        }
                        __nanosleep(50);
                    }
                }
                if (__shfl_sync(all_lanes, all_arrived, 0)) break;
            }
            did = nested_step(static_cast<int>(depth), complete ? 0 : own);
            if (!did && !complete) __nanosleep(100);
        }
        sync_block();
        if (threadIdx.x == 0) put_in_block(gang.arrived, others_arrived);
        __threadfence();
    }
    sync_block();
    return wait_outcome::done;
}

__device__ void run_on_block();  // below

/// One lane: takes a block off the worker block's stack as what all warps run next. `deeper_than`: only a grid that may run on
/// top of what waits here.
__device__ inline void choose_candidate(int deeper_than) {
    gang_state& gang = this_block().gang;
    with_block_lock(gang.lock, [&] {
        const bool have = look_in_block(gang.has_candidate) != 0;
        if (have && static_cast<int>(look_in_block(gang.depth)) > deeper_than) return;
        wide_task task;
        if (!take_block_task(deeper_than, task)) return;
        if (have) push_block_task(gang.candidate);  // what some warp cannot join, for what all may; a place has just become free
        gang.candidate = task;
        put_in_block(gang.depth, task.info & info::depth_mask);
        __threadfence_block();
        put_in_block(gang.has_candidate, 1u);
    });
}

__device__ DYNPAR_NOINLINE inline unsigned all_warps() { return blockDim.x == 1024 ? all_lanes : (1u << blockDim.x / warp_size) - 1; }

/// One lane: whether there is a block task that a warp may join on top of what waits at this depth.
__device__ inline bool block_task_wanted(int depth) {
    gang_state& gang = this_block().gang;
    const auto may_join = [&] {
        return look_in_block(gang.has_candidate) != 0 && static_cast<int>(look_in_block(gang.depth)) > depth;
    };
    if (may_join()) return true;
    // One of many warps sees to it, and any that waits for what only it may choose.
    if ((threadIdx.x != 0 && depth < 0) || !has_block_tasks()) return false;
    choose_candidate(depth);
    return may_join();
}

__device__ inline void offer_to_join() { atomicOr(&this_block().gang.ready, 1u << threadIdx.x / warp_size); }
__device__ inline bool all_have_joined() { return look_in_block(this_block().gang.ready) == all_warps(); }

/// One lane: takes this warp's bit back; false if all warps have set theirs, and what they agree on is to be done.
__device__ DYNPAR_NOINLINE inline bool take_back(unsigned& bits) {
    unsigned seen = look_in_block(bits);
    while (seen != all_warps()) {
        const unsigned found = atomicCAS(&bits, seen, seen & ~(1u << threadIdx.x / warp_size));
        if (found == seen) return true;
        seen = found;
    }
    return false;
}
__device__ inline bool withdraw() { return take_back(this_block().gang.ready); }

/// All lanes together: runs a block task if the other warps come soon. A warp that has nothing better to do is patient: were many
/// to come and go, they would hardly ever be there at the same time. It leaves when what it waits for is complete.
__device__ inline bool try_block_task(unsigned patience, arena_index awaited = 0) {
    bool joined = false;
    if (lane_rank() == 0 && block_task_wanted(this_warp().depth)) {
        offer_to_join();
        for (unsigned i = 0; i < patience && !joined; ++i) {
            joined = all_have_joined();
            if (!joined) __nanosleep(50);
            if (awaited != 0 && (look(at<grid_record>(awaited)->pending) == 1 || run_stopped())) break;
        }
        if (!joined) joined = !withdraw();
    }
    if (!__shfl_sync(all_lanes, joined, 0)) return false;
    run_on_block();
    return true;
}

// ---- Giving away

/// Nobody waits in a loop here: with thousands of warps, a compare-and-swap that is tried again until it succeeds takes longer
/// than all the work.
__device__ inline unsigned long long take_ticket(ring_counters& ring) {
    const unsigned long long number = atomicAdd(&ring.tickets, 1ull);
    atomicAdd(&ring.hungry, 1);
    return number;
}

__device__ inline bool ring_wanted(ring_counters& ring) { return look(ring.hungry) > 0; }

/// One lane: the right to serve the next ticket; ~0 if nobody is hungry. Never more gifts than tickets: a gift has a taker.
__device__ inline unsigned long long take_gift_number(ring_counters& ring) {
    if (atomicSub(&ring.hungry, 1) > 0) return atomicAdd(&ring.given, 1ull);
    atomicAdd(&ring.hungry, 1);
    return ~0ull;
}

__device__ inline std::uint32_t empty_turn(unsigned long long number) {
    return static_cast<std::uint32_t>(number / (engine().ring_mask + 1ull)) * 2;
}

__device__ inline void wait_until_empty(const ring_slot& gift, unsigned long long number) {
    while (look_and_acquire(gift.turn) != empty_turn(number)) {
    }
}

template <class Task>
__device__ inline void give_tasks(unsigned long long number, std::uint32_t available) {
    using stack = own_stack<Task>;
    constexpr std::uint32_t most = sizeof(Task) == sizeof(lane_task) ? ring_slot::lane_tasks : ring_slot::wide_tasks;
    const unsigned lane = lane_rank();
    // Half of many lane tasks; of wide tasks few, since each of the oldest may have a whole tree below it.
    const std::uint32_t share_of = sizeof(Task) == sizeof(lane_task) ? 2 : 4;
    const std::uint32_t count = min((available + share_of - 1) / share_of, most);
    ring_slot& gift = engine().warp_slots[number & engine().ring_mask];
    if (lane == 0) wait_until_empty(gift, number);
    __syncwarp();
    if (lane < count) copy_task(reinterpret_cast<Task*>(gift.tasks)[lane], slot<Task>(stack::bottom() + lane));
    __syncwarp();
    if (lane == 0) {
        stack::bottom() += count;
        if (static_cast<std::int32_t>(stack::base() - stack::bottom()) < 0) stack::base() = stack::bottom();
        gift.count = count | (sizeof(Task) == sizeof(wide_task) ? ring_slot::holds_wide : 0u);
        put_and_release(gift.turn, empty_turn(number) + 1);
    }
    __syncwarp();
}

/// Blocks that a warp runs at a time.
__device__ inline std::uint32_t grain_of(const wide_task& task) {
    return (task.info & info::width_mask) == info::on_lane ? warp_size : 1;
}

/// Gives half of the blocks of the oldest task.
__device__ inline void give_half(unsigned long long number) {
    ring_slot& gift = engine().warp_slots[number & engine().ring_mask];
    if (lane_rank() == 0) {
        wait_until_empty(gift, number);
        wide_task& oldest = slot<wide_task>(this_warp().wide_bottom);
        const std::uint32_t grain = grain_of(oldest);
        wide_task half;
        copy_task(half, oldest);
        half.first = oldest.first + ((oldest.last - oldest.first) / 2 + grain - 1) / grain * grain;
        oldest.last = half.first;
        copy_task(reinterpret_cast<wide_task*>(gift.tasks)[0], half);
        gift.count = 1 | ring_slot::holds_wide;
        put_and_release(gift.turn, empty_turn(number) + 1);
    }
    __syncwarp();
}

/// All lanes together, where somebody is hungry: gives the oldest tasks.
__device__ DYNPAR_NOINLINE inline void give() {
    warp_state& warp = this_warp();
    for (unsigned gifts = 0; gifts < 4; ++gifts) {
        const std::uint32_t lanes = warp.lane_top - warp.lane_bottom;
        const std::uint32_t wides = warp.wide_top - warp.wide_bottom;
        if (lanes < 2 && wides == 0) return;
        unsigned long long number = ~0ull;
        bool in_half = false;
        if (lane_rank() == 0 && ring_wanted(engine().control->warp_ring)) {
            if (wides != 0) {
                const wide_task& oldest = slot<wide_task>(warp.wide_bottom);
                in_half = oldest.last - oldest.first > grain_of(oldest);
            }
            // More than one gift only out of plenty: who gives everything away is hungry next.
            if (in_half || (gifts == 0 ? wides >= 2 || lanes >= 2 : wides >= 3 || lanes >= 2 * ring_slot::lane_tasks)) {
                number = take_gift_number(engine().control->warp_ring);
            }
        }
        number = __shfl_sync(all_lanes, number, 0);
        if (number == ~0ull) return;
        in_half = __shfl_sync(all_lanes, in_half, 0);
        flush_deferred();
        if (in_half) {
            give_half(number);
        } else if (warp.wide_top != warp.wide_bottom) {
            give_tasks<wide_task>(number, warp.wide_top - warp.wide_bottom);
        } else {
            give_tasks<lane_task>(number, warp.lane_top - warp.lane_bottom);
        }
    }
}

/// All lanes together: gives the oldest tasks to hungry warps.
__device__ inline void share() {
    const warp_state& warp = this_warp();
    const std::uint32_t lanes = warp.lane_top - warp.lane_bottom;
    if (lanes < 2 && warp.wide_top == warp.wide_bottom) return;
    bool wanted = false;
    if (lane_rank() == 0) wanted = ring_wanted(engine().control->warp_ring);
    if (__shfl_sync(all_lanes, wanted, 0)) give();
}

/// Block tasks that a worker block may give away: the only block stays, or idle worker blocks would hand it round and round.
__device__ inline bool has_block_tasks_to_give() {
    gang_state& gang = this_block().gang;
    const std::uint32_t count = block_tasks_on_stack();
    if (count != 1) return count != 0;
    const wide_task& only = block_task_slot(look_in_block(gang.bottom));
    return look_in_block(gang.has_candidate) != 0 || look(only.last) - look(only.first) > 1;
}

/// The agent, which is the first warp of a worker block: gives its oldest block tasks to hungry worker blocks.
__device__ DYNPAR_NOINLINE inline void share_block_tasks() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    for (unsigned gifts = 0; gifts < 4; ++gifts) {
        bool wanted = false;
        if (lane == 0) wanted = has_block_tasks_to_give() && ring_wanted(engine().control->block_ring);
        if (!__shfl_sync(all_lanes, wanted, 0)) return;
        bool given = false;
        with_block_lock_as_warp(gang.lock, [&] {
            unspill_block_tasks();
            __syncwarp();
            unsigned long long number = ~0ull;
            if (lane == 0 && has_block_tasks_to_give()) number = take_gift_number(engine().control->block_ring);
            number = __shfl_sync(all_lanes, number, 0);
            if (number == ~0ull) return;
            given = true;
            ring_slot& gift = engine().block_slots[number & engine().ring_mask];
            if (lane == 0) wait_until_empty(gift, number);
            __syncwarp();
            const std::uint32_t bottom = look_in_block(gang.bottom);
            std::uint32_t count = look_in_block(gang.top) - bottom;
            wide_task& oldest = block_task_slot(bottom);
            wide_task* const tasks = reinterpret_cast<wide_task*>(gift.tasks);
            const std::uint32_t first = oldest.first, last = oldest.last;
            __syncwarp();
            if (count == 1 && last - first > 1) {  // half of its blocks
                if (lane == 0) {
                    copy_task(tasks[0], oldest);
                    tasks[0].first = oldest.last = first + (last - first) / 2;
                }
            } else {
                count = min((count + 3) / 4, ring_slot::wide_tasks);
                if (lane < count) copy_task(tasks[lane], block_task_slot(bottom + lane));
                __syncwarp();
                if (lane == 0) put_in_block(gang.bottom, bottom + count);
            }
            __syncwarp();
            if (lane == 0) {
                gift.count = count;
                put_and_release(gift.turn, empty_turn(number) + 1);
            }
        });
        if (!given) return;
    }
}

// ---- Steps

/// All lanes together: puts a gift that has come on the stack.
__device__ inline void accept_gift() {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    ring_slot& gift = engine().warp_slots[warp.ticket & engine().ring_mask];
    if (lane == 0) static_cast<void>(look_and_acquire(gift.turn));
    __syncwarp();
    const std::uint32_t count = look(gift.count);
    if ((count & ring_slot::holds_wide) != 0) {
        const std::uint32_t tasks = count & ~ring_slot::holds_wide;
        if (lane < tasks) copy_fresh_task(slot<wide_task>(warp.wide_top + lane), reinterpret_cast<wide_task*>(gift.tasks)[lane]);
        __syncwarp();
        if (lane == 0) warp.wide_top += tasks;
    } else {
        if (lane < count) copy_fresh_task(slot<lane_task>(warp.lane_top + lane), reinterpret_cast<lane_task*>(gift.tasks)[lane]);
        __syncwarp();
        if (lane == 0) warp.lane_top += count;
    }
    __syncwarp();
    if (lane == 0) {
        put_and_release(gift.turn, empty_turn(warp.ticket) + 2);
        warp.has_ticket = 0;
    }
    __syncwarp();
}

__device__ inline bool gift_is_there() {
    const warp_state& warp = this_warp();
    return warp.has_ticket != 0 && look(engine().warp_slots[warp.ticket & engine().ring_mask].turn) == empty_turn(warp.ticket) + 1;
}

__device__ inline bool block_gift_is_there() {
    const gang_state& gang = this_block().gang;
    return gang.has_ticket != 0 && look(engine().block_slots[gang.ticket & engine().ring_mask].turn) == empty_turn(gang.ticket) + 1 &&
           block_tasks_on_stack() <= block_stack_capacity - ring_slot::wide_tasks;
}

/// The agent: takes in block tasks that have come.
__device__ DYNPAR_NOINLINE inline void accept_block_gift() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    bool there = false;
    if (lane == 0) there = block_gift_is_there();
    if (!__shfl_sync(all_lanes, there, 0)) return;
    const unsigned long long ticket = gang.ticket;
    ring_slot& gift = engine().block_slots[ticket & engine().ring_mask];
    if (lane == 0) static_cast<void>(look_and_acquire(gift.turn));
    __syncwarp();
    const std::uint32_t count = look(gift.count);
    with_block_lock_as_warp(gang.lock, [&] {
        const std::uint32_t top = look_in_block(gang.top);
        if (lane < count) copy_fresh_task(block_task_slot(top + lane), reinterpret_cast<wide_task*>(gift.tasks)[lane]);
        __syncwarp();
        if (lane == 0) put_in_block(gang.top, top + count);
    });
    if (lane == 0) {
        put_and_release(gift.turn, empty_turn(ticket) + 2);
        gang.has_ticket = 0;
    }
    __syncwarp();
}

/// The agent, now and then.
__device__ inline void exchange_block_tasks() {
    if (threadIdx.x >= warp_size) return;
    accept_block_gift();
    share_block_tasks();
}

/// All warps of the worker block together: runs the candidate.
__device__ inline void run_candidate() {
    gang_state& gang = this_block().gang;
    warp_state& warp = this_warp();
    flush_deferred();
    const bool shared_memory_in_use = any_of_block(warp.level != 0);
    wide_task task = gang.candidate;
    const arena_index outer_own = gang.own;
    const unsigned outer_accounted = gang.own_accounted;
    unsigned char* const outer_shared_memory = gang.shared_memory;
    const int outer_depth = warp.depth;
    arena_index borrowed = 0;
    sync_block();
    if (threadIdx.x == 0) {
        if (task.details != 0) {
            gang.shared_memory = find_shared_memory(task, kernels_shared_memory(),
                                                    shared_memory_in_use ? 0 : engine().shared_bytes, borrowed);
        }
        gang.own = 0;
        gang.own_accounted = 0;
        gang.launched = 0;
        put_in_block(gang.has_candidate, 0u);
        put_in_block(gang.ready, 0u);
    }
    const frame_guard<true> frame;
    if (lane_rank() == 0) {
        ++warp.level;
        if (threadIdx.x == 0 && task.first == 0) ++warp.grids;
        warp.deepest = max(warp.deepest, task.info & info::depth_mask);
    }
    sync_block();
    unsigned launched = 0;
    if (threadIdx.x < task.threads) launched = task.entry(task, task.first).launched;
    for (meeting why = meet_block(returned); why != returned; why = meet_block(returned)) {
        if (why == waiting) wait_on_block(task.grid, task.info & info::depth_mask, launched, false);
    }
    const unsigned sum = __reduce_add_sync(all_lanes, launched);
    if (lane_rank() == 0 && sum != 0) atomicAdd(&gang.launched, sum);
    if (gang.own != 0 && gang.own_accounted < 2) {
        point_to_own<lane_task>(warp.lane_base, warp.lane_top, task.grid, gang.own);
        point_to_own<wide_task>(warp.wide_base, warp.wide_top, task.grid, gang.own);
    }
    sync_block();
    if (threadIdx.x == 0) {
        return_shared_memory(task, borrowed);
        const count_change mine = settle_wide(task, gang.own, gang.own_accounted, static_cast<int>(gang.launched));
        if (mine.grid != 0) retire(mine.grid, mine.change);
        gang.own = outer_own;
        gang.own_accounted = outer_accounted;
        gang.shared_memory = outer_shared_memory;
        gang.launched = 0;
    }
    if (lane_rank() == 0) {
        --warp.level;
        warp.depth = outer_depth;
    }
    frame.end();
    exchange_block_tasks();
}

/// All warps of the worker block, each having found all others ready: runs the candidate, and then more while no warp has anything
/// else to do. Coming together costs more than most tasks; but what the tasks launch for single warps must not pile up.
__device__ DYNPAR_NOINLINE inline void run_on_block() {
    constexpr unsigned most_in_a_row = 32;
    const warp_state& warp = this_warp();
    for (unsigned in_a_row = 1;; ++in_a_row) {
        run_candidate();
        bool leaves = in_a_row == most_in_a_row || warp.depth >= 0 || warp.lane_top != warp.lane_bottom || warp.wide_top != warp.wide_bottom;
        if (threadIdx.x == 0 && !leaves) {
            choose_candidate(-1);
            leaves = look_in_block(this_block().gang.has_candidate) == 0;
        }
        if (any_of_block(leaves)) return;  // also: nobody runs children before they are counted
    }
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

/// How many tasks from the top of a stack may run now. In a nested step those that are deeper than what waits, at most 32: not all
/// that lies on top is, since a gift may have come from anywhere. All lanes together.
template <class Task, bool Nested>
__device__ inline std::uint32_t available() {
    using stack = own_stack<Task>;
    const std::uint32_t count = stack::top() - stack::bottom();
    if constexpr (Nested) {
        if (count == 0) return 0;
        const unsigned lane = lane_rank();
        const bool may_run = lane < count && static_cast<int>(slot<Task>(stack::top() - 1 - lane).info & info::depth_mask) >
                                                 this_warp().depth;
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
        const bool fits = static_cast<std::int32_t>(top - place) > 0 &&
                          static_cast<int>(slot<Task>(place).info & info::depth_mask) > deeper_than;
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

/// In a nested step: takes blocks of a posted grid that may run on top of what waits. All lanes together.
__device__ inline bool take_posted_deeper_than(int depth) {
    bool taken = false;
    if (lane_rank() == 0) {
        run_control& control = *engine().control;
        for (unsigned place = 0; !taken && place < board_places; ++place) {
            const board_word seen(look(control.board[place]));
            if (seen.left() <= 0 || (seen.width() == info::on_block && threadIdx.x != 0)) continue;
            // The place may have gone to another grid since: then its blocks lie below what may run here, as some gifts do.
            const wide_task& task = at<launch_details>(seen.details())->task;
            taken = static_cast<int>(look(task.info) & info::depth_mask) > depth && take_posted(place, seen);
        }
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
    if (warp.spilled_lanes != 0 && unspill<lane_task>()) return true;
    if (warp.spilled_wides != 0 && unspill<wide_task>()) return true;
    if constexpr (Nested) {
        if (__shfl_sync(all_lanes, gift_is_there(), 0)) {
            accept_gift();
            return true;
        }
        if (bring_up<lane_task>(warp.depth) || bring_up<wide_task>(warp.depth)) return true;
        if (take_posted_deeper_than(warp.depth)) return true;
        return try_block_task(256, warp.awaited);
    }
    return false;
}

/// One lane, now and then: tells the host how far this warp is, and looks at the clock.
__device__ inline void check_deadline() {
    if (!engine().attended) return;
    warp_state& warp = this_warp();
    if (warp.grids != 0) atomicAdd(&engine().control->grids, warp.grids);
    warp.grids = 0;
    if (engine().deadline_nanoseconds == 0) return;
    const unsigned long long begun_at = look(engine().control->begun_at);  // 0: the first worker block has not begun yet
    if (begun_at != 0 && device_nanoseconds() - begun_at > engine().deadline_nanoseconds) stop_run(deadline_passed);
}

/// Runs `action` on top of a frame whose shallowest waiting block has this depth, and one of whose records is `awaited`. All lanes
/// together.
template <class Action>
__device__ inline bool on_top_of_wait(int depth, arena_index awaited, Action action) {
    warp_state& warp = this_warp();
    const int outer_depth = warp.depth;
    const arena_index outer_awaited = warp.awaited;
    flush_deferred();
    __syncwarp();
    if (lane_rank() == 0) {
        warp.depth = depth;
        warp.awaited = awaited;
        ++warp.level;
        check_deadline();
    }
    __syncwarp();
    exchange_block_tasks();
    const bool did = action();
    flush_deferred();
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

/// One lane of an idle warp: whether the run is over. That and the board one warp of a worker block reads in device memory now and then,
/// and the others what it has read.
__device__ inline bool look_around() {
    constexpr unsigned cycles_between = 300;
    gang_state& gang = this_block().gang;
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    const unsigned read_at = look_in_block(gang.read_at);
    if (now - read_at > cycles_between && atomicCAS(&gang.read_at, read_at, now) == read_at) {
        unsigned long long done_or_stop;
        board_word board[board_places];
        static_assert(board_places == 3, "two loads of 16 bytes");
        asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%4];\n\tld.volatile.global.v2.u64 {%2, %3}, [%4 + 16];"
                     : "=l"(done_or_stop), "=l"(board[0].bits), "=l"(board[1].bits), "=l"(board[2].bits)
                     : "l"(&engine().control->done)
                     : "memory");
#pragma unroll
        for (unsigned place = 0; place < board_places; ++place) put_in_block(gang.board[place], static_cast<std::uint32_t>(board[place].bits));
        if (done_or_stop != 0) put_in_block(gang.over, 1u);
    }
    return look_in_block(gang.over) != 0;
}

/// All lanes together, with nothing to run: waits for work. False when the run is over.
__device__ __noinline__ inline bool find_work() {
    enum finding : int { nothing, over, gift, block_task, own_work, block_work };
    warp_state& warp = this_warp();
    run_control& control = *engine().control;
    flush_deferred();
    if (warp.lane_top != warp.lane_bottom || warp.wide_top != warp.wide_bottom) return true;  // a continuation begins
    int found = nothing;
    if (lane_rank() == 0) {
        gang_state& gang = this_block().gang;
        const bool agent = threadIdx.x == 0;
        bool offered = false;
        unsigned pause = 20;
        for (unsigned tries = 0; found == nothing; ++tries) {
            if (look_around()) {
                found = over;
                break;
            }
            const bool block_wanted = block_task_wanted(this_warp().depth);
            if (block_wanted && !offered) {
                offer_to_join();
                offered = true;
                pause = 20;
            }
            if (offered && all_have_joined()) {
                found = block_task;
                break;
            }
            const bool free_for_more = !agent || (!block_wanted && !has_block_tasks());
            for (unsigned place = 0; found == nothing && place < board_places; ++place) {
                const board_word seen(look_in_block(gang.board[place]));
                // The agent's warps may not be able to come together before it has what one of them waits for.
                if (seen.left() <= 0 || (seen.width() == info::on_block && !(agent && (free_for_more || tries % 16 == 15)))) continue;
                if (take_posted(place, seen)) {
                    found = own_work;
                } else {
                    put_in_block(gang.board[place], 0u);
                }
            }
            if (found != nothing) {
            } else if (warp.has_ticket == 0) {
                warp.ticket = take_ticket(control.warp_ring);
                warp.has_ticket = 1;
            } else if (gift_is_there()) {
                found = gift;
            } else if (agent && gang.has_ticket == 0 && free_for_more) {
                gang.ticket = take_ticket(control.block_ring);
                gang.has_ticket = 1;
            } else if (agent && (block_gift_is_there() || (has_block_tasks_to_give() && ring_wanted(control.block_ring)))) {
                found = block_work;
            } else {
                __nanosleep(pause);
                if (pause < 200) pause *= 2;
            }
            if (found != nothing && offered && !withdraw()) found = block_task;  // the gift waits in its slot, or on the stack
            if (tries % 64 == 63) check_deadline();
        }
        if (found == over && offered && !withdraw()) found = block_task;  // they count on us; it will not take long
    }
    found = __shfl_sync(all_lanes, found, 0);
    if (found == gift) accept_gift();
    if (found == block_task) run_on_block();
    if (found == block_work) exchange_block_tasks();
    return found != over;
}

/// What a warp does for the whole of a run. Not inlined, so that it is compiled once and not for every kernel that the host runs.
__device__ __noinline__ inline void work() {
    constexpr unsigned share_every = 4;  // looking for hungry warps costs a trip to the second-level cache
    for (unsigned steps = 1;; ++steps) {
        if (!step<false>()) {
            if (!find_work()) return;
            if (this_warp().wide_top != this_warp().wide_bottom) share();  // before this one has something to do for long
            continue;
        }
        if (steps % share_every == 0 || this_warp().wide_top != this_warp().wide_bottom) {  // wide tasks are long, and few
            exchange_block_tasks();
            share();
            unsigned stop = 0;
            if (steps % (16 * share_every) == 0 && lane_rank() == 0) {
                stop = look(engine().control->stop);
                check_deadline();
            }
            if (__shfl_sync(all_lanes, stop, 0) != 0) return;
        }
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
