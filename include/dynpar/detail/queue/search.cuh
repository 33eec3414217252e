// Queue engine: how a warp that has nothing to run finds work. In this order:
//
// 1. what the worker block's other warps have agreed on: a block task for which its team is called;
// 2. the worker block's chunk, and more of an open grid when the chunk is used up;
// 3. a donation in the warp's transfer cell;
// 4. the end of the run;
// 5. the warp's own deques: a continuation may have begun on them;
// 6. a chunk of the first grid that no worker block has come for;
// 7. for one idle warp of each worker block, its scout: blocks on the worker block's deque or of its chunk, for which
//    it calls teams;
// 8. for the scout, too: open grids for teams, donations of block tasks, and steal
//    requests of other worker blocks.
//
// A warp that finds none of these posts a steal request, and the scout another for its worker block; then it polls
// again. Idle warps are many, so each word in device memory is polled by one warp for its worker block, or not
// often.
//
// Owns gang_state::scout.
#pragma once

#include "deadline.cuh"
#include "first_grid.cuh"
#include "balance/steal_requests.cuh"
#include "execute/run_warp.cuh"
#include "execute/run_team.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

enum class finding : int { nothing, over, donation, block_task, own_task, of_chunk, block_work };

/// One lane of an idle warp that has offered to run block tasks: sleeps until something comes. Returns a call, a
/// donation, or blocks of the chunk, which it claims at once after it has withdrawn; `nothing` for everything else.
/// Idle warps spend most of their time here. The loop is short: if it were longer, it would drive the code that they
/// run next out of the instruction cache.
__device__ inline finding poll_until_something_comes(unsigned polls, bool scouts, warp_claim& claim) {
    gang_state& gang = this_block().gang;
    std::uint32_t turn = 0;  // as of the poll before: nothing here waits for device memory
    std::uint32_t block_turn = 0;
    for (unsigned poll = 0; poll < polls; ++poll) {
        if (is_called()) return finding::block_task;
        const bool has_donation = is_donation(turn);
        turn = load_warp_cell();
        poll_shared_state();
        if (chunk_is_for_warps()) {
            if (!withdraw()) return finding::block_task;
            claim = claim_as_warp();
            if (claim.left != 0) return finding::of_chunk;
            offer_when_idle();
        } else {
            __nanosleep(tuning::poll_nanoseconds);
        }
        if (has_donation) return finding::donation;
        if (load_relaxed_in_block(gang.over) != not_over || load_relaxed_in_block(gang.scout) == 0) break;
        if (scouts && poll % 2 == 1) {
            unsigned place;
            open_grid_word seen;
            if (load_relaxed_in_block(gang.has_candidate) != 0 || has_block_work()) break;
            if (is_block_donation(block_turn) || block_task_is_open(place, seen)) break;
            block_turn = load_block_cell();
        }
    }
    return finding::nothing;
}

/// One lane of an idle warp: whether it looks for block tasks elsewhere, for its worker block. One warp does; if there
/// is none, this one.
__device__ inline bool becomes_scout() {
    unsigned& scout = this_block().gang.scout;
    const unsigned mine = warp_rank() + 1;
    const unsigned seen = load_relaxed_in_block(scout);
    return seen == mine || (seen == 0 && compare_exchange_relaxed(scout, 0u, mine) == 0);
}
/// One lane of a warp that is idle no more.
__device__ inline void stop_scouting() {
    unsigned& scout = this_block().gang.scout;
    if (load_relaxed_in_block(scout) == warp_rank() + 1) store_relaxed_in_block(scout, 0u);
}

/// One lane of a warp that has nothing to run: looks for work until there is some. Blocks of the chunk it claims right
/// away, in `claim`. `polls`: how many times it polls for that before it posts a request.
__device__ inline finding search(warp_claim& claim, unsigned polls) {
    warp_state& warp = this_warp();
    gang_state& gang = this_block().gang;
    run_control& control = *engine().control;
    offer_when_idle();
    // The team that has called this warp in the meantime comes first: it counts on it.
    const auto unless_called = [](finding found) { return withdraw() ? found : finding::block_task; };
    for (unsigned tries = 0;; ++tries) {
        const bool scouts = becomes_scout();
        const bool has_requests = warp.has_request != 0 && (!scouts || load_relaxed_in_block(gang.has_request) != 0);
        const finding found =
            poll_until_something_comes(has_requests ? tuning::polls_with_request : polls, scouts, claim);
        polls = 0;
        if (found == finding::block_task || found == finding::of_chunk) return found;
        if (found != finding::nothing) return unless_called(found);
        if (load_relaxed_in_block(gang.over) != not_over) return unless_called(finding::over);
        flush_block_batch();
        if (!has_no_tasks()) return unless_called(finding::own_task);
        if (take_first_chunk()) return unless_called(finding::own_task);
        if (scouts) call_teams_if_any();
        if (is_called()) return finding::block_task;
        const bool block_wanted = load_relaxed_in_block(gang.has_candidate) != 0;
        const bool free_for_more = !block_wanted && !has_block_work();
        // Now and then also when there is other work: the worker block's warps may not be able to join before it has
        // the blocks that one of them waits for.
        unsigned place;
        open_grid_word seen;
        if (scouts && (free_for_more || tries % 16 == 15) && block_task_is_open(place, seen)) fetch_chunk(place, seen);
        post_warp_request();
        if (scouts && free_for_more) post_block_request();
        if (donation_is_there()) return unless_called(finding::donation);  // if not taken now, it stays in its cell
        if (scouts &&
            (block_donation_is_there() || (has_block_tasks_to_donate() && has_open_request(control.block_requests)))) {
            return unless_called(finding::block_work);  // or on the deque
        }
        if (scouts && block_wanted) __nanosleep(50);
        if (tries % 16 == 15) check_deadline();
    }
}

/// All lanes together: whether the run is over, as far as this worker block knows.
__device__ inline bool is_over() {
    return __any_sync(all_lanes, load_relaxed_in_block(this_block().gang.over) != not_over);
}

inline namespace hot {
/// All lanes together, with nothing to run: waits for work, and runs what it finds in the chunk. False when the run is
/// over. `polls`: see search().
DYNPAR_QUEUE_BELOW_WORK
__device__ __noinline__ inline bool find_work(unsigned polls) {
    warp_claim claim{0, 0};
    sync_warp();  // all have seen the deques empty before a grid may continue here
    if (lane_rank() == 0) claim = claim_or_fetch();
    finding found = __shfl_sync(all_lanes, claim.left, 0) != 0 ? finding::of_chunk : finding::nothing;
    while (true) {
        if (found == finding::of_chunk) {
            if (!run_of_chunk(claim)) {
                if (lane_rank() == 0) end_search();  // its last block may have counted it as idle
                return !is_over();
            }
            polls = tuning::polls_after_chunk;
        }
        flush_all();
        const bool has_tasks = !has_no_tasks();  // a continuation has begun
        sync_warp();                             // all have read it before one searches, which may begin one too
        if (has_tasks) {
            if (lane_rank() == 0) end_search();
            return true;
        }
        if (lane_rank() == 0) {
            begin_search();
            give_back_spent();
            found = search(claim, polls);
            stop_scouting();
        }
        found = static_cast<finding>(__shfl_sync(all_lanes, static_cast<int>(found), 0));
        if (found != finding::of_chunk) break;
    }
    if (lane_rank() == 0) {
        end_search();
        const bool stopped = found == finding::over && load_relaxed_in_block(this_block().gang.over) == run_was_stopped;
        if (stopped) count_at_stop(&stopped_workers::searching);
    }
    if (found == finding::donation) accept_donation();
    if (found == finding::block_task) answer_call();
    if (found == finding::block_work) exchange_block_tasks();
    return found != finding::over;
}
}  // namespace hot

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
