// Queue engine: what a warp runs by itself: a round of lane tasks, a wide task, blocks of its worker block's chunk.
// Pops from the owner end of the warp's deques. Owns warp_state's current task and shared memory; takes what join/ has
// left in `kept`.
#pragma once

#include <cstddef>

#include "../join/completion.cuh"
#include "find_entry.cuh"
#include "frame.cuh"
#include "rendezvous.cuh"
#include "../balance/block_chunk.cuh"
#include "../observe/trace.cuh"
#include "wait.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// A lane that has returned while others of its round wait, or has none of the round's tasks (`have` is false), until
/// all have returned: its return is settled.
__device__ __noinline__ inline void stay_in_round(bool have, arena_index grid, std::uint32_t task_info,
                                                  block_outcome outcome) {
    go_along_in_round(grid, have ? settle_alone(grid, task_info, 0, outcome) : 0);
}
/// The same in a round of wide tasks.
__device__ __noinline__ inline void stay_in_round_of_wide_tasks(bool have, arena_index grid, std::uint32_t task_info,
                                                                arena_index descriptor, block_outcome outcome) {
    arena_index target = 0;
    if (have) {
        // A block that has not returned may need the node later: too late to redirect what runs then.
        const bool is_small = (task_info & info::small) != 0;
        const arena_index node =
            is_small ? small_node_after_return(grid, small_grid(descriptor), task_info & info::depth_mask) : 0;
        if (is_small && node == 0) {
            stop_run(no_memory);  // and the grid is never complete
        } else {
            target = settle_alone(grid, task_info, node, outcome);
        }
    }
    go_along_in_round(grid, target);
}

/// Runs `begin` in the lanes that have a lane task, and everything that follows from its return.
template <bool Nested, class Begin>
__device__ inline void run_round(bool have, arena_index grid, std::uint32_t task_info, Begin begin) {
    const round_frame<Nested> frame;
    block_outcome outcome{0, 0};
    if (have) outcome = begin();
    const bool stays = rendezvous(returned) != returned;
    if (stays) stay_in_round(have, grid, task_info, outcome);
    settle_round(have && !stays, grid, task_info, outcome);
    frame.end();
}

/// The same of wide tasks: some of the lanes' blocks may be of small grids.
template <bool Nested, class Begin>
__device__ inline void run_round_of_wide_tasks(bool have, const wide_task& task, std::uint32_t rank, Begin begin) {
    const round_frame<Nested> frame;
    const small_nodes_frame<Nested> nodes;
    const bool is_small = have && (task.info & info::small) != 0;
    const small_grid small(task.descriptor);
    block_outcome outcome{0, 0};
    if (have) outcome = begin();
    const bool stays = rendezvous(returned) != returned;
    if (stays) stay_in_round_of_wide_tasks(have, task.grid, task.info, task.descriptor, outcome);
    const arena_index node = is_small ? load_relaxed_in_block(this_warp().small_nodes[small.first_lane()]) : 0;
    settle_round_of_wide_tasks(have && !stays, task.grid, task.info, node, outcome, is_small && rank != 0 ? 0 : 1);
    nodes.end();
    frame.end();
}

/// One lane: shared memory for the block that is about to run on this warp; returns what is to be given back. Out of
/// line, since few blocks need it.
__device__ __noinline__ inline arena_index find_shared_memory_of_warp(unsigned bytes) {
    warp_state& warp = this_warp();
    const unsigned part = engine().shared_bytes / (blockDim.x / warp_size) / 16 * 16;
    unsigned char* const mine = kernels_shared_memory() + threadIdx.x / warp_size * part;
    arena_index borrowed = 0;
    warp.shared_memory = find_shared_memory(bytes, mine, warp.level == 0 ? part : 0, borrowed);
    return borrowed;
}

/// A block of a task, which is given in words. `of_chunk`: the block batch counts it as out, and its return if it has
/// launched nothing. `Often`: see finish_as_wide_inlined().
template <bool Nested, bool Often>
__device__ inline void run_on_warp(std::uint32_t word, std::uint32_t rank, bool of_chunk = false) {
    const block_frame<Nested> frame;
    warp_state& warp = this_warp();
    const wide_task& task = warp.current;
    const wide_entry entry = find_entry<wide_entry>(key_of_words(word));
    if (lane_rank() < task_words) word_of(warp.current, lane_rank()) = word;
    sync_warp();
    arena_index borrowed = 0;
    if (lane_rank() == 0) {
        if (rank == 0) ++warp.grids;
        warp.deepest = max(warp.deepest, task.info & info::depth_mask);
        if (task.size.shared_bytes() != 0) borrowed = find_shared_memory_of_warp(task.size.shared_bytes());
        if (is_traced(task.info)) warp.begun_at = device_nanoseconds();
    }
    sync_warp();
    unsigned launched = 0;
    if (lane_rank() < task.size.threads()) {
        DYNPAR_QUEUE_WIDE_ENTRY
        launched = entry(rank, true);
    }
    if (const arrival why = rendezvous(returned); why != returned)
        launched = stay_in_block<on_warp>(why, task.grid, task.info & info::depth_mask, launched);
    // Lanes without a part in the block did not come with the others.
    if (task.size.threads() != warp_size) sync_warp();
#if !DYNPAR_NO_TRACE
    if (is_traced(task.info)) {
        if (lane_rank() == 0) stamp(task.descriptor, task.info, rank, warp.begun_at);
        write_if_many(warp.traced);
    }
#endif
    const int sum = static_cast<int>(__reduce_add_sync(all_lanes, launched));
    return_shared_memory(task.size.shared_bytes(), borrowed);
    const arena_index own = warp.own;
    const unsigned counts = warp.own_counts;
    const arena_index grid = task.grid;
    if (own == 0 && !is_sole_owner(task.info)) {
        const bool counts_there = of_chunk && sum == 0;
        if (sum != 1 && !counts_there) add_to_warp_batch(grid, sum - 1);
        if (of_chunk) {
            sync_warp();
            if (lane_rank() == 0) {
                // Before a grid continues, so that its chunks are large enough for this warp as well.
                if (counts_there) begin_search();
                return_to_chunk(counts_there);
            }
            sync_warp();
        }
    } else {
        if (own != 0 && (counts & counted::has_waited) == 0) {
            point_to_own<lane_task>(warp.lane_base, warp.lane_owner_end, grid, own);
            point_to_own<wide_task>(warp.wide_base, warp.wide_owner_end, grid, own);
        }
        sync_warp();
        flush_withheld_children();
        if (lane_rank() == 0) {
            // This comes first: no block of a complete grid may be out.
            if (of_chunk) return_to_chunk(false);
            settle_wide<Often>(grid, task.info, own, counts, sum);
        }
        sync_warp();
    }
    frame.end();
}

/// A round of continuations that are ready and, if they are fewer than lanes, of lane tasks from the owner end.
template <bool Nested>
__device__ inline void run_lanes(std::uint32_t available, std::uint32_t ready) {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    const std::uint32_t of_ready = min(ready, warp_size);
    const std::uint32_t count = min(of_ready + available, warp_size);
    const bool have = lane < count;
    lane_task task{};
    if (!Nested && lane < of_ready) {
        task = begin_ready(ready_place(ready - 1 - lane));
    } else if (have) {
        copy_task(task, slot<lane_task>(warp.lane_owner_end - 1 - (lane - of_ready)));
    }
    const lane_entry entry = have ? find_entry<lane_entry>(task.key) : nullptr;
    const unsigned deepest = __reduce_max_sync(all_lanes, task.info & info::depth_mask);
    sync_warp();
    if (lane == 0) {
        if (!Nested) drop_ready(of_ready);
        warp.lane_owner_end -= count - of_ready;
        warp.grids += count;
        warp.deepest = max(warp.deepest, deepest);
    }
    sync_warp();
    run_round<Nested>(have, task.grid, task.info, [&] {
        block_outcome outcome;
        DYNPAR_QUEUE_LANE_ENTRY
        outcome = entry(task.grid, task.info, task.arguments);
        return outcome;
    });
}

__device__ __noinline__ inline void give_back_carried(arena_index place, unsigned size_class) {
    release_piece(place, size_class);
}

/// Wide tasks that lanes run, one block each, in the lanes that have one.
template <bool Nested>
__device__ inline void run_wide_on_lanes(bool have, const wide_task& task, std::uint32_t rank) {
    warp_state& warp = this_warp();
    const unsigned grids = __ballot_sync(all_lanes, have && rank == 0);
    const unsigned deepest = __reduce_max_sync(all_lanes, have ? task.info & info::depth_mask : 0);
    if (lane_rank() == 0) {
        warp.grids += static_cast<unsigned>(__popc(grids));
        warp.deepest = max(warp.deepest, deepest);
    }
    sync_warp();
    const auto begin = [&] {
        const wide_lane_entry entry = find_entry<wide_lane_entry>(task.key);
        const bool traced = is_traced(task.info);
        const unsigned long long begun = traced ? device_nanoseconds() : 0;
        block_outcome outcome;
        DYNPAR_QUEUE_LANE_ENTRY
        outcome = entry(task, rank);
        if (traced) stamp(task.descriptor, task.info, rank, begun);
        return outcome;
    };
    const bool carries = have && rank == 0 && (task.info & info::carried) != 0;
    run_round_of_wide_tasks<Nested>(have, task, rank, begin);
    if (__any_sync(all_lanes, carries)) {
        carried_arguments carried;
        memcpy(&carried, &task.arguments, sizeof(carried));
        if (carries) give_back_carried(carried.place, carried.size_class);
        sync_warp();
    }
}

/// The wide tasks at the owner end that lanes run: as many as have a block for each lane at most, each with all its
/// blocks; or as many blocks of the newest, if that has more.
template <bool Nested>
__device__ inline void run_newest_wide_on_lanes_inlined(std::uint32_t available_tasks) {
    warp_state& warp = this_warp();
    const unsigned lane = lane_rank();
    const std::uint32_t owner_end = warp.wide_owner_end;
    std::uint32_t blocks = warp_size + 1;
    if (lane < available_tasks) {
        const wide_task& mine = slot<wide_task>(owner_end - 1 - lane);
        if (is_for_lanes(mine)) blocks = min(mine.last - mine.first, blocks);
    }
    std::uint32_t sum = blocks;  // of this lane's task and the newer ones
#pragma unroll
    for (unsigned distance = 1; distance != warp_size; distance *= 2) {
        const std::uint32_t newer = __shfl_up_sync(all_lanes, sum, distance);
        if (lane >= distance) sum += newer;
    }
    const bool fits = sum <= warp_size;
    const std::uint32_t tasks = static_cast<std::uint32_t>(__popc(__ballot_sync(all_lanes, fits)));
    // Of each task the lane that runs its first block.
    const unsigned first_lanes = __reduce_or_sync(all_lanes, fits ? 1u << (sum - blocks) : 0u);
    const unsigned up_to_me = tasks != 0 ? first_lanes & ((2u << lane) - 1) : 1;
    const unsigned first_lane = 31 - static_cast<unsigned>(__clz(static_cast<int>(up_to_me)));
    const std::uint32_t lanes = tasks != 0 ? __shfl_sync(all_lanes, sum, static_cast<int>(tasks - 1)) : warp_size;
    wide_task task;
    copy_task(task, slot<wide_task>(owner_end - static_cast<unsigned>(__popc(up_to_me))));
    const std::uint32_t rank = task.first + lane - first_lane;
    if ((task.info & info::small) != 0) task.descriptor = small_grid(task.descriptor, first_lane).bits;
    sync_warp();
    if (lane == 0) {
        if (tasks != 0) {
            warp.wide_owner_end = owner_end - tasks;
        } else {
            slot<wide_task>(owner_end - 1).first = task.first + warp_size;
        }
    }
    run_wide_on_lanes<Nested>(lane < lanes, task, rank);
}
__device__ __noinline__ inline void run_newest_wide_on_lanes_nested(std::uint32_t available_tasks) {
    run_newest_wide_on_lanes_inlined<true>(available_tasks);
}
DYNPAR_QUEUE_BELOW_WORK
__device__ __noinline__ inline void run_newest_wide_on_lanes(std::uint32_t available_tasks) {
    run_newest_wide_on_lanes_inlined<false>(available_tasks);
}

/// A task in words, as this lane's own copy.
__device__ inline wide_task task_of_words(std::uint32_t word) {
    wide_task task;
    std::uint32_t words[task_words];
#pragma unroll
    for (unsigned i = 0; i < task_words; ++i) words[i] = __shfl_sync(all_lanes, word, static_cast<int>(i));
    memcpy(&task, words, sizeof(task));
    return task;
}

/// Claimed blocks whose width is not the one that the chunk had when this warp looked: they go to a deque.
__device__ __noinline__ inline void push_claimed(const claimed_blocks& claimed) {
    wide_task task = task_of_words(claimed.word);
    task.first = claimed.first;
    task.last = claimed.first + claimed.count;
    if (lane_rank() == 0) {
        if (!push_here(task)) drop_task();
        if (claimed.counted) take_out_of_chunk(claimed.count);
    }
    sync_warp();
}

DYNPAR_QUEUE_THREE_BELOW_WORK
__device__ __noinline__ inline void run_claimed_on_lanes(const claimed_blocks& claimed) {
    const wide_task task = task_of_words(claimed.word);
    run_wide_on_lanes<false>(lane_rank() < claimed.count, task, claimed.first + lane_rank());
}

/// All lanes of a warp that has run all its tasks: if nothing more is near, flushes its batch, since others may be
/// waiting for the grid of its last block.
__device__ inline void flush_if_nothing_is_left() {
    const bool flushes = this_warp().batch != 0 && load_chunk().left() <= 0 && no_open_grids();
    if (__shfl_sync(all_lanes, flushes, 0)) flush_warp_batch();
}

/// All lanes together: hands the block tasks at the owner end to the worker block, 32 at most. While they lie on the
/// warp's deque, to launch one costs no lock, and they are donated as all others are.
__device__ __noinline__ inline void hand_over_block_tasks(std::uint32_t available_tasks) {
    warp_state& warp = this_warp();
    flush_withheld_children();
    const unsigned lane = lane_rank();
    const std::uint32_t owner_end = warp.wide_owner_end;
    wide_task task;
    bool is_one = lane < available_tasks;
    if (is_one) {
        copy_task(task, slot<wide_task>(owner_end - 1 - lane));
        is_one = (task.info & info::width_mask) == info::on_block;
    }
    const unsigned others = ~__ballot_sync(all_lanes, is_one);
    const std::uint32_t all = others == 0 ? warp_size : static_cast<std::uint32_t>(__ffs(static_cast<int>(others))) - 1;
    // A warp that has looked for a team may have claimed blocks of a chunk that was replaced meanwhile: they lie here.
    if (all == 0) return;
    const std::uint32_t pushed = push_block_tasks(task, all);
    if (pushed == 0) stop_run(no_memory);
    if (lane == 0) warp.wide_owner_end = owner_end - pushed;
    sync_warp();
}

__device__ bool try_block_task(unsigned patience, arena_index awaited);  // in run_team.cuh

/// All lanes of a warp that has run a block: whether its next step would do little but run the next wide task; not for
/// long, since others may wait for some of them. (A few blocks find enough in the caches of nodes and pieces.)
__device__ inline bool may_go_on_with_wide_tasks(std::uint32_t available_tasks, unsigned begun_at) {
    const warp_state& warp = this_warp();
    return __all_sync(all_lanes, warp.lane_owner_end == warp.lane_steal_end && warp.ready == 0 &&
                                     available_tasks <= tuning::wide_deque_capacity - tuning::deque_reserve &&
                                     load_relaxed_in_block(this_block().gang.has_candidate) == 0 &&
                                     cycles_now() - begun_at < tuning::serve_after_cycles);
}

/// All lanes together: this lane's word of the wide task at the owner end.
__device__ inline std::uint32_t word_of_newest_wide() {
    const unsigned lane = lane_rank();
    return lane < task_words ? word_of(slot<wide_task>(this_warp().wide_owner_end - 1), lane) : 0;
}
/// All lanes together: who runs the task's blocks, as in its info.
__device__ inline std::uint32_t width_of_words(std::uint32_t word) {
    return field_of_words<offsetof(wide_task, info)>(word) & info::width_mask;
}

inline namespace hot {
/// The wide task at the owner end, if that is not for lanes, or as many blocks of it as a warp runs at a time, and
/// `in_a_row` tasks of one block; but if each leaves one block and nothing else, such as what a grid continues with,
/// some of them in any case: there is nothing to give to others then. Not inlined: rounds of lane tasks would have to
/// do without the registers that it takes, and saving those costs as much as many a block.
template <bool Nested>
__device__ inline void run_wide_inlined(std::uint32_t available_tasks, unsigned in_a_row) {
    warp_state& warp = this_warp();
    const unsigned begun_at = cycles_now();
    for (unsigned blocks = 1;; ++blocks) {
        const std::uint32_t word = word_of_newest_wide();
        const std::uint32_t first = field_of_words<offsetof(wide_task, first)>(word);
        const std::uint32_t last = field_of_words<offsetof(wide_task, last)>(word);
        sync_warp();
        const std::uint32_t width = width_of_words(word);
        if (width == info::on_block) {
            // If the worker block has many, this warp runs some of them with others first: what stays here is donated.
            const bool are_many = block_tasks_on_deque() >= tuning::many_block_tasks;
            if (!Nested && __shfl_sync(all_lanes, are_many, 0) && try_block_task(tuning::polls_for_team, 0)) return;
            return hand_over_block_tasks(available_tasks);
        }
        if (width == info::on_lane) return;  // the next step has it
        if (lane_rank() == 0) {
            if (first + 1 == last) {
                --warp.wide_owner_end;
            } else {
                slot<wide_task>(warp.wide_owner_end - 1).first = first + 1;
            }
        }
        sync_warp();
        if (!Nested && first + 1 != last && may_share()) share_newest_task(0);
        run_on_warp<Nested, !Nested>(word, first);
        if (Nested) return;
        available_tasks = warp.wide_owner_end - warp.wide_steal_end;
        if (available_tasks == 0) {
            if (!has_no_tasks_but_wide_ones()) return;
            flush_if_nothing_is_left();  // which may begin what a grid continues with
            available_tasks = warp.wide_owner_end - warp.wide_steal_end;
            if (available_tasks == 0) return;
        } else if (first + 1 != last) {
            return;
        }
        const bool is_all = available_tasks == 1 && has_no_tasks_but_wide_ones();
        if (blocks >= (is_all ? tuning::wide_tasks_in_a_row : in_a_row)) return;
        if (!may_go_on_with_wide_tasks(available_tasks, begun_at)) return;
    }
}
__device__ __noinline__ inline void run_wide_nested(std::uint32_t available_tasks) {
    run_wide_inlined<true>(available_tasks, 1);
}
DYNPAR_QUEUE_BELOW_WORK
__device__ __noinline__ inline void run_wide(std::uint32_t available_tasks, unsigned in_a_row) {
    run_wide_inlined<false>(available_tasks, in_a_row);
}
}  // namespace hot

/// The first block of a grid that has just continued from this warp.
__device__ inline claimed_blocks take_kept() {
    warp_state& warp = this_warp();
    wide_task& task = at<grid_descriptor>(warp.kept)->task;
    std::uint32_t word = 0;
    if (lane_rank() < task_words) word = load_fresh(&word_of(task, lane_rank()));
    sync_warp();
    if (lane_rank() == 0) warp.kept = 0;
    return {word, 0, 1, false};
}

/// Runs blocks that one lane has claimed of the chunk, and more of it. True when none is left, false when there is
/// something else to do. Not inlined: so next to nothing is kept while a kernel runs.
DYNPAR_QUEUE_TWO_BELOW_WORK
__device__ __noinline__ inline bool run_of_chunk(warp_claim claim) {
    const warp_state& warp = this_warp();
    while (true) {
        claimed_blocks claimed;
        if (warp.kept != 0) {
            claimed = take_kept();
        } else {
            claim.left = __shfl_sync(all_lanes, claim.left, 0);
            if (claim.left == 0) return true;
            claim.wanted = __shfl_sync(all_lanes, claim.wanted, 0);
            claimed = read_claim(claim);
            claim.left = 0;
        }
        if (lane_rank() == 0) end_search();
        const std::uint32_t width = width_of_words(claimed.word);
        if (width == info::on_warp && claimed.count == 1) {
            const unsigned begun = cycles_now();
            run_on_warp<false, false>(claimed.word, claimed.first, claimed.counted);
            call_reserve_for_blocks(cycles_now() - begun);
        } else if (width == info::on_lane) {
            run_claimed_on_lanes(claimed);
        } else {
            push_claimed(claimed);
        }
        if (warp.kept != 0) continue;
        if (has_no_tasks()) flush_if_nothing_is_left();
        const bool nothing_else = has_no_tasks() && load_relaxed_in_block(this_block().gang.has_candidate) == 0 &&
                                  load_relaxed_in_block(this_block().gang.over) == not_over;
        if (!__all_sync(all_lanes, nothing_else)) return false;
        if (lane_rank() == 0) claim = claim_or_fetch();
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
