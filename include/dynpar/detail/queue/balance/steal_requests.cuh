// Queue engine: steal requests and donations. Work moves only on request, through transfer cells in two rings: one for
// warps, one for worker blocks.
//
// A warp without work posts a request and polls its cell. A warp with work claims an open request and fills the cell.
// Donations never outnumber requests, so every donation has a taker. Owns run_control::warp_requests, block_requests
// and empty_donations, the transfer cells, request and has_request of warp_state and gang_state, and
// gang_state::looks_to_skip and had_several. May take tasks from the steal end of the warp's own deques and, under its
// lock, of the worker block's.
#pragma once

#include "../join/completion.cuh"
#include "block_chunk.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// Additions only: as soon as thousands of warps contend, a compare-and-swap that is repeated until it succeeds takes
/// longer than all the work.
__device__ inline unsigned long long post_request(request_counters& requests) {
    const unsigned long long number = fetch_add_relaxed(requests.posted, 1ull);
    fetch_add_relaxed(requests.open, 1);
    return number;
}
/// One lane of a warp that has nothing to run; nothing if its request is open already.
__device__ inline void post_warp_request() {
    warp_state& warp = this_warp();
    if (warp.has_request != 0) return;
    warp.request = post_request(engine().control->warp_requests);
    warp.has_request = 1;
}
// A worker block's request, and the cell for it, are those of all its warps: one of them at a time handles them.

/// One lane.
__device__ inline bool begin_exchange() {
    unsigned& exchanges = this_block().gang.exchanges;
    const bool mine = load_relaxed_in_block(exchanges) == 0 && compare_exchange_relaxed(exchanges, 0u, 1u) == 0;
    fence_in_block();
    return mine;
}
__device__ inline void end_exchange() {
    fence_in_block();
    store_relaxed_in_block(this_block().gang.exchanges, 0u);
}
/// All lanes together: false if another warp of the worker block exchanges block tasks, or if there is nothing to do.
template <class Action>
__device__ inline bool as_exchanger(Action action) {
    if (!__shfl_sync(all_lanes, lane_rank() == 0 && begin_exchange(), 0)) return false;
    const bool did = action();
    sync_warp();
    if (lane_rank() == 0) end_exchange();
    sync_warp();
    return did;
}

/// One lane of a warp that has nothing to run; nothing if its worker block has an open request.
__device__ inline void post_block_request() {
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.has_request) != 0 || !begin_exchange()) return;
    if (load_relaxed_in_block(gang.has_request) == 0) {
        store_relaxed_in_block(gang.request, post_request(engine().control->block_requests));
        store_relaxed_in_block(gang.has_request, 1u);
    }
    end_exchange();
}

__device__ inline bool has_open_request(request_counters& requests) { return load_relaxed(requests.open) > 0; }

/// One lane: claims the oldest open steal request; ~0 if there is none. Donations never outnumber requests, so every
/// donation has a taker.
__device__ inline unsigned long long claim_request(request_counters& requests) {
    if (fetch_sub_relaxed(requests.open, 1) > 0) return fetch_add_relaxed(requests.donated, 1ull);
    fetch_add_relaxed(requests.open, 1);
    return ~0ull;
}

__device__ inline std::uint32_t empty_turn(unsigned long long number) {
    return static_cast<std::uint32_t>(number >> engine().cell_shift) * 2;
}

/// The turn of this warp's transfer cell, and of its worker block's; 0 without a request. Read on its own, since it
/// takes a trip to the second-level cache.
__device__ inline std::uint32_t load_warp_cell() {
    const warp_state& warp = this_warp();
    return warp.has_request != 0 ? load_relaxed(engine().warp_cells[warp.request & engine().cell_mask].turn) : 0;
}
__device__ inline std::uint32_t load_block_cell() {
    // Another warp may be posting a request, or accepting: who finds a donation here looks again when it exchanges.
    const gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.has_request) == 0) return 0;
    return load_relaxed(engine().block_cells[load_relaxed_in_block(gang.request) & engine().cell_mask].turn);
}
/// Whether there is a donation in it.
__device__ inline bool is_donation(std::uint32_t turn) { return turn == empty_turn(this_warp().request) + 1; }
__device__ inline bool is_block_donation(std::uint32_t turn) {
    return turn == empty_turn(load_relaxed_in_block(this_block().gang.request)) + 1;
}
__device__ inline bool donation_is_there() { return is_donation(load_warp_cell()); }
__device__ inline bool block_donation_is_there() { return is_block_donation(load_block_cell()); }

template <class Task>
__device__ __noinline__ void accept_spilling(const Task& donated) {
    Task task;
    copy_fresh_task(task, donated);
    if (!push_spilled(task)) drop_task();
}
/// All lanes together: pushes the tasks of a donation on the deque, or spills them if it has no room.
template <class Task>
__device__ inline void accept_tasks(const transfer_cell& donation, std::uint32_t count) {
    using deque = own_deque<Task>;
    const unsigned lane = lane_rank();
    const std::uint32_t owner_end = deque::owner_end();
    const bool fits = owner_end - deque::steal_end() + count <= deque::capacity;
    if (lane < count) {
        const Task& donated = reinterpret_cast<const Task*>(donation.tasks)[lane];
        if (fits) {
            copy_fresh_task(slot<Task>(owner_end + lane), donated);
        } else {
            accept_spilling(donated);
        }
    }
    sync_warp();
    if (lane == 0 && fits) deque::owner_end() = owner_end + count;
}

/// All lanes together: the same with a donated segment.
template <class Task>
__device__ __noinline__ void accept_segment(arena_index place) {
    using deque = own_deque<Task>;
    segment_header* const segment = at<segment_header>(place);
    const std::uint32_t count = load_fresh(&segment->count);
    const std::uint32_t owner_end = deque::owner_end();
    const bool fits = owner_end - deque::steal_end() + count <= deque::capacity;
    for (std::uint32_t i = lane_rank(); fits && i < count; i += warp_size)
        copy_fresh_task(slot<Task>(owner_end + i), tasks_of<Task>(segment)[i]);
    sync_warp();
    if (lane_rank() == 0) {
        if (fits) {
            deque::owner_end() = owner_end + count;
            release(place, tuning::segment_class);
        } else {
            deque::spilled() = with_head<Task>(deque::spilled(), place, count);
        }
    }
}

/// All lanes together: accepts a donation that has come.
__device__ inline void accept_donation() {
    warp_state& warp = this_warp();
    transfer_cell& donation = engine().warp_cells[warp.request & engine().cell_mask];
    if (lane_rank() == 0) static_cast<void>(load_acquire(donation.turn));
    sync_warp();
    const std::uint32_t count = load_relaxed(donation.count);
    if ((count & transfer_cell::holds_segment) != 0) {
        const arena_index segment = load_relaxed(donation.segment());
        (count & transfer_cell::holds_wide) != 0 ? accept_segment<wide_task>(segment)
                                                 : accept_segment<lane_task>(segment);
    } else if ((count & transfer_cell::holds_wide) != 0) {
        accept_tasks<wide_task>(donation, count & ~transfer_cell::holds_wide);
    } else {
        accept_tasks<lane_task>(donation, count);
    }
    sync_warp();
    if (lane_rank() == 0) {
        store_release(donation.turn, empty_turn(warp.request) + 2);
        warp.has_request = 0;
    }
    sync_warp();
}

/// One lane, under the lock: for a deque without room.
__device__ __noinline__ inline void accept_block_donation_spilling(const transfer_cell& donation, std::uint32_t count) {
#pragma unroll 1
    for (std::uint32_t i = 0; i < count; ++i) {
        wide_task task;
        copy_fresh_task(task, reinterpret_cast<const wide_task*>(donation.tasks)[i]);
        if (!push_block_task(task)) drop_task();
    }
}

/// All lanes of a warp that exchanges: accepts block tasks that have come. False if none have.
__device__ DYNPAR_NOINLINE inline bool accept_block_donation() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    bool there = false;
    if (lane == 0) there = block_donation_is_there();
    if (!__shfl_sync(all_lanes, there, 0)) return false;
    const unsigned long long request = load_relaxed_in_block(gang.request);
    transfer_cell& donation = engine().block_cells[request & engine().cell_mask];
    if (lane == 0) static_cast<void>(load_acquire(donation.turn));
    sync_warp();
    const std::uint32_t count = load_relaxed(donation.count);
    with_block_lock_as_warp(gang.lock, [&] {
        const std::uint32_t owner_end = load_relaxed_in_block(gang.owner_end);
        if (owner_end - load_relaxed_in_block(gang.steal_end) + count <= tuning::block_deque_capacity) {
            if (lane < count)
                copy_fresh_task(block_task_slot(owner_end + lane), reinterpret_cast<wide_task*>(donation.tasks)[lane]);
            sync_warp();
            if (lane == 0) {
                store_relaxed_in_block(gang.owner_end, owner_end + count);
                note_block_tasks(true, 0, info::depth_mask);
            }
        } else if (lane == 0) {
            accept_block_donation_spilling(donation, count);  // spilled rather than left: a warp may wait for them
        }
    });
    if (lane == 0) {
        store_release(donation.turn, empty_turn(request) + 2);
        store_relaxed_in_block(gang.has_request, 0u);
    }
    sync_warp();
    return true;
}

// A cell is mostly empty long before its turn comes again. If it is not, the warp that its donation is for has been
// busy with other work for very long. That warp may itself be waiting for a cell now, one that holds a donation for
// this warp or this worker block. So a warp that waits for a cell accepts its own donations.

/// All lanes together: accepts what has come for this warp, and for its worker block, unless another warp does that.
__device__ __noinline__ inline void accept_all_donations(bool exchanges) {
    if (__shfl_sync(all_lanes, donation_is_there(), 0)) accept_donation();
    if (exchanges) {
        accept_block_donation();
    } else {
        as_exchanger([] { return accept_block_donation(); });
    }
}

/// All lanes together, without a lock: false if the run ends in the meantime, since the taker may have left then.
/// `exchanges`: this warp exchanges block tasks.
__device__ __noinline__ inline bool wait_until_empty(const transfer_cell& donation, unsigned long long number,
                                                     bool exchanges) {
    while (true) {
        bool empty = false, over = false;
        if (lane_rank() == 0) {
            empty = load_acquire(donation.turn) == empty_turn(number);
            over = !empty && (run_stopped() || load_relaxed(engine().control->done) != 0);
            // A donation was promised and will not come.
            if (over) fetch_add_relaxed(engine().control->empty_donations, 1u);
        }
        if (__shfl_sync(all_lanes, empty, 0)) return true;
        if (__shfl_sync(all_lanes, over, 0)) return false;
        accept_all_donations(exchanges);
    }
}

/// All lanes together: donates one in `part_of` of the oldest tasks.
template <class Task>
__device__ inline void donate_tasks(unsigned long long number, std::uint32_t available, std::uint32_t part_of) {
    using deque = own_deque<Task>;
    constexpr std::uint32_t most =
        sizeof(Task) == sizeof(lane_task) ? transfer_cell::lane_tasks : transfer_cell::wide_tasks;
    const unsigned lane = lane_rank();
    const std::uint32_t count = min((available + part_of - 1) / part_of, most);
    transfer_cell& donation = engine().warp_cells[number & engine().cell_mask];
    if (!wait_until_empty(donation, number, false)) return;
    if (lane < count) copy_task(reinterpret_cast<Task*>(donation.tasks)[lane], slot<Task>(deque::steal_end() + lane));
    sync_warp();
    if (lane == 0) {
        deque::steal_end() += count;
        if (static_cast<std::int32_t>(deque::base() - deque::steal_end()) < 0) deque::base() = deque::steal_end();
        donation.count = count | (sizeof(Task) == sizeof(wide_task) ? transfer_cell::holds_wide : 0u);
        store_release(donation.turn, empty_turn(number) + 1);
    }
    sync_warp();
}

/// All lanes together: donates the segment that was spilled last: hundreds of tasks at once, for which the deque has no
/// room anyway.
template <class Task>
__device__ __noinline__ void donate_segment(unsigned long long number) {
    transfer_cell& donation = engine().warp_cells[number & engine().cell_mask];
    if (!wait_until_empty(donation, number, false)) return;
    if (lane_rank() == 0) {
        spilled_tasks& spilled = own_deque<Task>::spilled();
        const spilled_tasks before = spilled;
        at<segment_header>(before.head())->count = tasks_at_head<Task>(before);
        spilled = without_head(before);
        donation.segment() = before.head();
        donation.count =
            transfer_cell::holds_segment | (sizeof(Task) == sizeof(wide_task) ? transfer_cell::holds_wide : 0u);
        store_release(donation.turn, empty_turn(number) + 1);
    }
    sync_warp();
}

/// Donates half of the blocks of the oldest task.
__device__ inline void donate_half(unsigned long long number) {
    transfer_cell& donation = engine().warp_cells[number & engine().cell_mask];
    if (!wait_until_empty(donation, number, false)) return;
    if (lane_rank() == 0) {
        wide_task& oldest = slot<wide_task>(this_warp().wide_steal_end);
        const std::uint32_t grain = grain_of(oldest.info & info::width_mask);
        wide_task half;
        copy_task(half, oldest);
        half.first = oldest.first + ((oldest.last - oldest.first) / 2 + grain - 1) / grain * grain;
        oldest.last = half.first;
        copy_task(reinterpret_cast<wide_task*>(donation.tasks)[0], half);
        donation.count = 1 | transfer_cell::holds_wide;
        store_release(donation.turn, empty_turn(number) + 1);
    }
    sync_warp();
}

/// Whether a warp may give a segment away: not all that it has, unless it waits, and may perhaps not run it.
__device__ inline bool has_segment_to_donate() {
    const warp_state& warp = this_warp();
    if ((warp.spilled_wides.head() | warp.spilled_lanes.head()) == 0) return false;
    return warp.lane_owner_end != warp.lane_steal_end || warp.wide_owner_end != warp.wide_steal_end || warp.depth >= 0;
}

inline namespace hot {
/// All lanes together, where a request is open: donates the oldest tasks.
__device__ DYNPAR_NOINLINE inline void donate() {
    warp_state& warp = this_warp();
    for (unsigned donations = 0; donations < tuning::donations_at_a_time; ++donations) {
        const std::uint32_t lanes = warp.lane_owner_end - warp.lane_steal_end;
        const std::uint32_t wides = warp.wide_owner_end - warp.wide_steal_end;
        const bool has_segment = has_segment_to_donate();
        if (lanes < 2 && wides == 0 && !has_segment) return;
        unsigned long long number = ~0ull;
        bool in_half = false, for_lanes = true;
        if (lane_rank() == 0 && has_open_request(engine().control->warp_requests)) {
            if (!has_segment && wides != 0) {
                const wide_task& oldest = slot<wide_task>(warp.wide_steal_end);
                for_lanes = is_for_lanes(oldest);
                // Of many tasks of few rounds some tasks, as if they had one.
                const std::uint32_t grain = grain_of(oldest.info & info::width_mask);
                const std::uint32_t rounds = (oldest.last - oldest.first + grain - 1) / grain;
                in_half = rounds > 1 && (wides < tuning::donated_wide_tasks_part || rounds > wides);
            }
            // More than one donation only out of plenty: a warp that donates everything posts the next request.
            if (has_segment || in_half ||
                (donations == 0 ? wides >= 2 || lanes >= 2 : wides >= 3 || lanes >= 2 * transfer_cell::lane_tasks)) {
                number = claim_request(engine().control->warp_requests);
            }
        }
        number = __shfl_sync(all_lanes, number, 0);
        if (number == ~0ull) return;
        in_half = __shfl_sync(all_lanes, in_half, 0);
        for_lanes = __shfl_sync(all_lanes, for_lanes, 0);
        flush_warp_batch();
        if (has_segment) {
            warp.spilled_wides.head() != 0 ? donate_segment<wide_task>(number) : donate_segment<lane_task>(number);
        } else if (in_half) {
            donate_half(number);
        } else if (warp.wide_owner_end != warp.wide_steal_end) {
            donate_tasks<wide_task>(number, warp.wide_owner_end - warp.wide_steal_end,
                                    for_lanes ? tuning::donated_lane_tasks_part : tuning::donated_wide_tasks_part);
        } else {
            donate_tasks<lane_task>(number, warp.lane_owner_end - warp.lane_steal_end, tuning::donated_lane_tasks_part);
        }
    }
}
}  // namespace hot

/// All lanes together: donates the oldest tasks if a request is open. False if none is, or if there is nothing to
/// donate.
__device__ inline bool serve_requests() {
    const warp_state& warp = this_warp();
    const std::uint32_t lanes = warp.lane_owner_end - warp.lane_steal_end;
    const std::uint32_t wides = warp.wide_owner_end - warp.wide_steal_end;
    const bool has_segment = has_segment_to_donate();
    if (lanes < 2 && wides == 0 && !has_segment) return false;
    bool wanted = false, shares = false;
    if (lane_rank() == 0) {
        wanted = lanes >= 2 || wides >= 2 || has_segment;
        if (!wanted) {  // the only task: at least the blocks of it that this warp does not run next
            const wide_task& only = slot<wide_task>(warp.wide_steal_end);
            const std::uint32_t width = only.info & info::width_mask;
            wanted = only.last - only.first > grain_of(width);
            shares = wanted && width == info::on_warp && warp.depth < 0;
        }
        wanted = wanted && has_open_request(engine().control->warp_requests);
    }
    if (!__shfl_sync(all_lanes, wanted, 0)) return false;
    // Warps of this worker block come first: a donation takes longer than most blocks.
    if (__shfl_sync(all_lanes, shares, 0) && may_share()) share_newest_task(1);
    donate();
    return true;
}

/// Whether a worker block has block tasks to donate: its only block stays, or idle worker blocks would pass it on and
/// on.
__device__ inline bool has_block_tasks_to_donate() {
    gang_state& gang = this_block().gang;
    const std::uint32_t count = block_tasks_on_deque();
    if (count != 1) return count != 0;
    const wide_task& only = block_task_slot(load_relaxed_in_block(gang.steal_end));
    return load_relaxed_in_block(gang.has_candidate) != 0 || load_relaxed(only.last) - load_relaxed(only.first) > 1;
}

/// All lanes of a warp that exchanges: donates its worker block's oldest block tasks. False if there was nothing to
/// donate or no open request.
__device__ DYNPAR_NOINLINE inline bool serve_block_requests() {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    for (unsigned donations = 0; donations < tuning::donations_at_a_time; ++donations) {
        unsigned long long number = ~0ull;
        if (lane == 0 && has_block_tasks_to_donate() && has_open_request(engine().control->block_requests)) {
            number = claim_request(engine().control->block_requests);
        }
        number = __shfl_sync(all_lanes, number, 0);
        if (number == ~0ull) return donations != 0;
        transfer_cell& donation = engine().block_cells[number & engine().cell_mask];
        if (!wait_until_empty(donation, number, true)) return true;
        with_block_lock_as_warp(gang.lock, [&] {
            unspill_block_tasks();
            sync_warp();
            const std::uint32_t steal_end = load_relaxed_in_block(gang.steal_end);
            std::uint32_t count = load_relaxed_in_block(gang.owner_end) - steal_end;
            wide_task& oldest = block_task_slot(steal_end);
            wide_task* const tasks = reinterpret_cast<wide_task*>(donation.tasks);
            const std::uint32_t first = oldest.first, last = oldest.last;
            sync_warp();
            if (count == 1 && last - first > 1) {  // half of its blocks
                if (lane == 0) {
                    copy_task(tasks[0], oldest);
                    tasks[0].first = oldest.last = first + (last - first) / 2;
                }
            } else {
                // Perhaps none: other warps of this worker block may have taken them in the meantime.
                count = min((count + tuning::donated_block_tasks_part - 1) / tuning::donated_block_tasks_part,
                            transfer_cell::wide_tasks);
                if (lane < count) copy_task(tasks[lane], block_task_slot(steal_end + lane));
                sync_warp();
                if (lane == 0) store_relaxed_in_block(gang.steal_end, steal_end + count);
            }
            sync_warp();
            if (lane == 0) {
                if (count == 0) fetch_add_relaxed(engine().control->empty_donations, 1u);
                donation.count = count;
                store_release(donation.turn, empty_turn(number) + 1);
            }
        });
    }
    return true;
}

/// All lanes of a warp, now and then. False if there was nothing to exchange, or another warp does that.
__device__ DYNPAR_NOINLINE inline bool exchange_block_tasks() {
    bool wanted = false;
    if (lane_rank() == 0) {
        // Both are trips to device memory, at the same time.
        const std::uint32_t turn = load_block_cell();
        const bool asked = has_block_tasks_to_donate() && has_open_request(engine().control->block_requests);
        wanted = asked || is_block_donation(turn);
    }
    if (!__shfl_sync(all_lanes, wanted, 0)) return false;
    return as_exchanger([] {
        const bool accepted = accept_block_donation();
        return serve_block_requests() || accepted;
    });
}

/// The same after a block task. Looking for a donation and for open requests takes as long as a short task. So a warp
/// that found neither skips its worker block's next few looks, unless there is something to donate now and was not
/// then.
__device__ inline void exchange_block_tasks_now_and_then() {
    gang_state& gang = this_block().gang;
    bool looks = false;
    if (lane_rank() == 0) {
        const std::uint32_t tasks = block_tasks_on_deque();
        const unsigned skip = load_relaxed_in_block(gang.looks_to_skip);
        if (tasks != 0 || load_relaxed_in_block(gang.has_request) != 0) {
            looks = skip == 0 || (tasks > 1 && load_relaxed_in_block(gang.had_several) == 0);
            if (looks) {
                store_relaxed_in_block(gang.had_several, tasks > 1 ? 1u : 0u);
            } else {
                store_relaxed_in_block(gang.looks_to_skip, skip - 1);
            }
        }
    }
    if (!__shfl_sync(all_lanes, looks, 0)) return;
    const bool exchanged = exchange_block_tasks();
    if (lane_rank() == 0) store_relaxed_in_block(gang.looks_to_skip, exchanged ? 0u : tuning::looks_to_skip);
    sync_warp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
