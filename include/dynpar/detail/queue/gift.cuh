// Queue engine: how tasks come to those who have none: tickets, gifts, and the rings that they go through.
#pragma once

#include "completion.cuh"
#include "share.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

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
    return static_cast<std::uint32_t>(number >> engine().ring_shift) * 2;
}

/// The turn of this warp's slot, and of its worker block's; 0 without a ticket. By itself, since it takes a trip to the second-level cache.
__device__ inline std::uint32_t look_at_slot() {
    const warp_state& warp = this_warp();
    return warp.has_ticket != 0 ? look(engine().warp_slots[warp.ticket & engine().ring_mask].turn) : 0;
}
__device__ inline std::uint32_t look_at_block_slot() {
    const gang_state& gang = this_block().gang;
    return gang.has_ticket != 0 ? look(engine().block_slots[gang.ticket & engine().ring_mask].turn) : 0;
}
/// Whether there is a gift in it.
__device__ inline bool is_gift(std::uint32_t turn) { return turn == empty_turn(this_warp().ticket) + 1; }
__device__ inline bool is_block_gift(std::uint32_t turn) { return turn == empty_turn(this_block().gang.ticket) + 1; }
__device__ inline bool gift_is_there() { return is_gift(look_at_slot()); }
__device__ inline bool block_gift_is_there() { return is_block_gift(look_at_block_slot()); }

template <class Task>
__device__ __noinline__ void accept_spilling(const Task& given) {
    Task task;
    copy_fresh_task(task, given);
    if (!push_spilled(task)) stop_run(no_memory);
}
/// All lanes together: tasks of a gift, put on the stack, or where that has no room, among the spilled ones.
template <class Task>
__device__ inline void accept_tasks(const ring_slot& gift, std::uint32_t count) {
    using stack = own_stack<Task>;
    const unsigned lane = lane_rank();
    const std::uint32_t top = stack::top();
    const bool fits = top - stack::bottom() + count <= stack::capacity;
    if (lane < count) {
        const Task& given = reinterpret_cast<const Task*>(gift.tasks)[lane];
        if (fits) {
            copy_fresh_task(slot<Task>(top + lane), given);
        } else {
            accept_spilling(given);
        }
    }
    __syncwarp();
    if (lane == 0 && fits) stack::top() = top + count;
}

/// All lanes together: takes in a gift that has come.
__device__ inline void accept_gift() {
    warp_state& warp = this_warp();
    ring_slot& gift = engine().warp_slots[warp.ticket & engine().ring_mask];
    if (lane_rank() == 0) static_cast<void>(load_acquire(gift.turn));
    __syncwarp();
    const std::uint32_t count = look(gift.count);
    if ((count & ring_slot::holds_wide) != 0) {
        accept_tasks<wide_task>(gift, count & ~ring_slot::holds_wide);
    } else {
        accept_tasks<lane_task>(gift, count);
    }
    __syncwarp();
    if (lane_rank() == 0) {
        store_release(gift.turn, empty_turn(warp.ticket) + 2);
        warp.has_ticket = 0;
    }
    __syncwarp();
}

/// One lane, under the lock: where the stack has no room.
__device__ __noinline__ inline void accept_block_gift_spilling(const ring_slot& gift, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        wide_task task;
        copy_fresh_task(task, reinterpret_cast<const wide_task*>(gift.tasks)[i]);
        if (!push_block_task(task)) stop_run(no_memory);
    }
}

/// The agent: takes in block tasks that have come. False if none have.
__device__ DYNPAR_NOINLINE inline bool accept_block_gift() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    bool there = false;
    if (lane == 0) there = block_gift_is_there();
    if (!__shfl_sync(all_lanes, there, 0)) return false;
    const unsigned long long ticket = gang.ticket;
    ring_slot& gift = engine().block_slots[ticket & engine().ring_mask];
    if (lane == 0) static_cast<void>(load_acquire(gift.turn));
    __syncwarp();
    const std::uint32_t count = look(gift.count);
    with_block_lock_as_warp(gang.lock, [&] {
        const std::uint32_t top = look_in_block(gang.top);
        if (top - look_in_block(gang.bottom) + count <= block_stack_capacity) {
            if (lane < count) copy_fresh_task(block_task_slot(top + lane), reinterpret_cast<wide_task*>(gift.tasks)[lane]);
            __syncwarp();
            if (lane == 0) put_in_block(gang.top, top + count);
        } else if (lane == 0) {
            accept_block_gift_spilling(gift, count);  // somebody may wait for it
        }
    });
    if (lane == 0) {
        store_release(gift.turn, empty_turn(ticket) + 2);
        gang.has_ticket = 0;
    }
    __syncwarp();
    return true;
}

// A slot is mostly empty long before its turn comes again. If it is not, the warp that its gift is for has had other work for very long; it
// may just now wait for a slot itself, one that holds a gift for this warp or for this worker block. So who waits takes in its own.

/// All lanes together: takes in whatever has come for this warp, and for its worker block if it is the agent.
__device__ __noinline__ inline void accept_all_gifts() {
    if (__shfl_sync(all_lanes, gift_is_there(), 0)) accept_gift();
    if (threadIdx.x < warp_size) accept_block_gift();
}

/// All lanes together, without a lock: false if the run is over meanwhile. Whoever was to take the gift has perhaps left then.
__device__ __noinline__ inline bool wait_until_empty(const ring_slot& gift, unsigned long long number) {
    while (true) {
        bool empty = false, over = false;
        if (lane_rank() == 0) {
            empty = load_acquire(gift.turn) == empty_turn(number);
            over = !empty && (run_stopped() || look(engine().control->done) != 0);
            if (over) atomicAdd(&engine().control->empty_gifts, 1u);  // one was promised, and does not come
        }
        if (__shfl_sync(all_lanes, empty, 0)) return true;
        if (__shfl_sync(all_lanes, over, 0)) return false;
        accept_all_gifts();
    }
}

template <class Task>
__device__ inline void give_tasks(unsigned long long number, std::uint32_t available) {
    using stack = own_stack<Task>;
    constexpr std::uint32_t most = sizeof(Task) == sizeof(lane_task) ? ring_slot::lane_tasks : ring_slot::wide_tasks;
    const unsigned lane = lane_rank();
    // Half of many lane tasks; of wide tasks few, since each of the oldest may have a whole tree below it: with half of them a tree of
    // grids takes one and a half times as long.
    const std::uint32_t share_of = sizeof(Task) == sizeof(lane_task) ? 2 : 8;
    const std::uint32_t count = min((available + share_of - 1) / share_of, most);
    ring_slot& gift = engine().warp_slots[number & engine().ring_mask];
    if (!wait_until_empty(gift, number)) return;
    if (lane < count) copy_task(reinterpret_cast<Task*>(gift.tasks)[lane], slot<Task>(stack::bottom() + lane));
    __syncwarp();
    if (lane == 0) {
        stack::bottom() += count;
        if (static_cast<std::int32_t>(stack::base() - stack::bottom()) < 0) stack::base() = stack::bottom();
        gift.count = count | (sizeof(Task) == sizeof(wide_task) ? ring_slot::holds_wide : 0u);
        store_release(gift.turn, empty_turn(number) + 1);
    }
    __syncwarp();
}

/// Gives half of the blocks of the oldest task.
__device__ inline void give_half(unsigned long long number) {
    ring_slot& gift = engine().warp_slots[number & engine().ring_mask];
    if (!wait_until_empty(gift, number)) return;
    if (lane_rank() == 0) {
        wide_task& oldest = slot<wide_task>(this_warp().wide_bottom);
        const std::uint32_t grain = grain_of(oldest.info & info::width_mask);
        wide_task half;
        copy_task(half, oldest);
        half.first = oldest.first + ((oldest.last - oldest.first) / 2 + grain - 1) / grain * grain;
        oldest.last = half.first;
        copy_task(reinterpret_cast<wide_task*>(gift.tasks)[0], half);
        gift.count = 1 | ring_slot::holds_wide;
        store_release(gift.turn, empty_turn(number) + 1);
    }
    __syncwarp();
}

inline namespace hot {
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
                in_half = oldest.last - oldest.first > grain_of(oldest.info & info::width_mask);
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
}  // namespace hot

/// All lanes together: gives the oldest tasks to hungry warps.
__device__ inline void share() {
    const warp_state& warp = this_warp();
    const std::uint32_t lanes = warp.lane_top - warp.lane_bottom;
    const std::uint32_t wides = warp.wide_top - warp.wide_bottom;
    if (lanes < 2 && wides == 0) return;
    bool wanted = false;
    if (lane_rank() == 0) {
        wanted = lanes >= 2 || wides >= 2;
        if (!wanted) {  // the only task, then: at least the blocks of it that this warp does not run next
            const wide_task& only = slot<wide_task>(warp.wide_bottom);
            wanted = only.last - only.first > grain_of(only.info & info::width_mask);
        }
        wanted = wanted && ring_wanted(engine().control->warp_ring);
    }
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

/// The agent, which is the first warp of a worker block: gives its oldest block tasks to hungry worker blocks. False if there was nothing
/// to give, or nobody hungry.
__device__ DYNPAR_NOINLINE inline bool share_block_tasks() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    for (unsigned gifts = 0; gifts < 4; ++gifts) {
        unsigned long long number = ~0ull;
        if (lane == 0 && has_block_tasks_to_give() && ring_wanted(engine().control->block_ring)) {
            number = take_gift_number(engine().control->block_ring);
        }
        number = __shfl_sync(all_lanes, number, 0);
        if (number == ~0ull) return gifts != 0;
        ring_slot& gift = engine().block_slots[number & engine().ring_mask];
        if (!wait_until_empty(gift, number)) return true;
        with_block_lock_as_warp(gang.lock, [&] {
            unspill_block_tasks();
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
                count = min((count + 3) / 4, ring_slot::wide_tasks);  // perhaps none: others of this worker block have taken them meanwhile
                if (lane < count) copy_task(tasks[lane], block_task_slot(bottom + lane));
                __syncwarp();
                if (lane == 0) put_in_block(gang.bottom, bottom + count);
            }
            __syncwarp();
            if (lane == 0) {
                if (count == 0) atomicAdd(&engine().control->empty_gifts, 1u);
                gift.count = count;
                store_release(gift.turn, empty_turn(number) + 1);
            }
        });
    }
    return true;
}

/// The agent, now and then. False if there was nothing to exchange.
__device__ inline bool exchange_block_tasks() {
    if (threadIdx.x >= warp_size) return false;
    const bool accepted = accept_block_gift();
    return share_block_tasks() || accepted;
}

/// The same after a block task. To look for a gift, and for who is hungry, takes as long as a short task: who has found nothing to do does
/// not look again for some tasks, but if there is something to give now and was not then.
__device__ inline void exchange_block_tasks_now_and_then() {
    constexpr unsigned most_to_skip = 3;
    if (threadIdx.x >= warp_size) return;
    gang_state& gang = this_block().gang;
    const unsigned skip = gang.looks_to_skip;
    const bool had_several = gang.had_several;
    const bool has_several = block_tasks_on_stack() > 1;
    __syncwarp();
    const bool looks = skip == 0 || (has_several && !had_several);
    const bool exchanged = looks && exchange_block_tasks();
    if (lane_rank() == 0) {
        gang.looks_to_skip = exchanged ? 0 : looks ? most_to_skip : skip - 1;
        if (looks) gang.had_several = has_several;
    }
    __syncwarp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
