// Queue engine: how a warp that has nothing to run finds work.
#pragma once

#include "deadline.cuh"
#include "first_grid.cuh"
#include "gift.cuh"
#include "share.cuh"
#include "warp.cuh"
#include "worker_block.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// One lane of an idle warp, in turns with those of its worker block: reads in device memory whether the run is over and what is on the
/// board, and takes of that what is for warps. What it has read, the others find in shared memory.
__device__ inline void look_around() {
    constexpr unsigned cycles_between = 300;
    gang_state& gang = this_block().gang;
    const unsigned now = cycles_now();
    const unsigned read_at = look_in_block(gang.read_at);
    if (now - read_at <= cycles_between || atomicCAS(&gang.read_at, read_at, now) != read_at) return;
    static_assert(board_places == 3, "two loads of 16 bytes");
    unsigned long long words[4];
    load_relaxed(reinterpret_cast<const unsigned long long*>(&engine().control->done), words);
    const unsigned long long done_or_stop = words[0];
    const board_word board[board_places] = {board_word(words[1]), board_word(words[2]), board_word(words[3])};
    unsigned place = board_places;
    std::uint32_t seen = 0;
#pragma unroll
    for (unsigned i = 0; i < board_places; ++i) {
        const std::uint32_t lower = board[i].lower();
        put_in_block(gang.board[i], lower);
        if (board_word(lower).left() > 0 && board_word(lower).width() != info::on_block) {
            place = i;
            seen = lower;
        }
    }
    const bool done = static_cast<std::uint32_t>(done_or_stop) != 0;
    if (done_or_stop != 0) put_in_block(gang.over, static_cast<unsigned>(done ? run_is_complete : run_was_stopped));
    if (place != board_places) fill_share(place, board_word(seen));
}

/// Whether the board, as far as is known, has something for worker blocks; then where.
__device__ inline bool block_task_is_posted(unsigned& place, board_word& seen) {
    for (place = 0; place < board_places; ++place) {
        seen = board_word(look_in_block(this_block().gang.board[place]));
        if (seen.left() > 0 && seen.width() == info::on_block) return true;
    }
    return false;
}

// How often an idle warp sleeps before it looks at everything: where it has a ticket, and so need not ask for anything; before it asks for
// one, when it begins, since the first grid may be on the board next, and after blocks of the share, since more may follow. Thousands of
// warps that ask at once wait for each other longer than many a grid takes; but without a ticket there is no gift, and the later the
// others ask, the longer a tree takes that begins on one warp.
inline constexpr unsigned naps_with_ticket = 200;
inline constexpr unsigned naps_at_first = 12;
inline constexpr unsigned naps_after_share = 60;

enum class finding : int { nothing, over, gift, block_task, own_task, of_share, block_work };

/// One lane of an idle warp: sleeps until something comes. A gift, or blocks of the share, which it takes at once; nothing, if it is
/// anything else. Here idle warps are most of their time. It is short: were it longer, it would drive what they run next out of the
/// instruction cache.
__device__ inline finding sleep_until_something_comes(unsigned naps, warp_claim& claim) {
    constexpr unsigned nanoseconds = 60;
    gang_state& gang = this_block().gang;
    const bool agent = threadIdx.x == 0;
    std::uint32_t turn = 0;  // as of the nap before: nothing here waits for device memory
    std::uint32_t block_turn = 0;
    for (unsigned nap = 0; nap < naps; ++nap) {
        const bool has_gift = is_gift(turn);
        turn = look_at_slot();
        look_around();
        if (share_is_for_warps()) {
            claim = claim_as_warp();
            if (claim.left != 0) return finding::of_share;
        } else {
            __nanosleep(nanoseconds);
        }
        if (has_gift) return finding::gift;
        if (look_in_block(gang.over) != not_over || look_in_block(gang.has_candidate) != 0) break;
        if (agent && nap % 2 == 1) {
            unsigned place;
            board_word seen;
            if (is_block_gift(block_turn) || block_tasks_at_hand() || block_task_is_posted(place, seen)) break;
            block_turn = look_at_block_slot();
        }
    }
    return finding::nothing;
}

/// One lane of a warp that has nothing to run: looks for work until there is some. What is of the share it takes. `naps`: how long it waits
/// for that before it takes a ticket.
__device__ inline finding search(warp_claim& claim, unsigned naps) {
    warp_state& warp = this_warp();
    gang_state& gang = this_block().gang;
    run_control& control = *engine().control;
    const bool agent = threadIdx.x == 0;
    bool offered = false;
    // What others have agreed on meanwhile comes first: they count on this warp.
    const auto unless_joined = [&](finding found) { return offered && !withdraw() ? finding::block_task : found; };
    for (unsigned tries = 0;; ++tries) {
        if (offered) {
            look_around();
            if (share_is_for_warps()) {
                if (!withdraw()) return finding::block_task;
                offered = false;
            }
        }
        if (!offered) {
            const bool has_tickets = warp.has_ticket != 0 && (!agent || gang.has_ticket != 0);
            const finding found = sleep_until_something_comes(has_tickets ? naps_with_ticket : naps, claim);
            naps = 0;
            if (found != finding::nothing) return found;
        }
        if (look_in_block(gang.over) != not_over) return unless_joined(finding::over);
        tell_returns();
        if (!has_no_tasks()) return unless_joined(finding::own_task);
        if (take_first_share()) return unless_joined(finding::own_task);
        const bool block_wanted = block_task_wanted(warp.depth);
        if (block_wanted && !offered) {
            offer_to_join();
            offered = true;
        }
        if (offered && all_have_joined()) return finding::block_task;
        const bool free_for_more = !agent || (!block_wanted && !block_tasks_at_hand());
        // The agent's warps may not be able to come together before it has what one of them waits for.
        unsigned place;
        board_word seen;
        if (agent && (free_for_more || tries % 16 == 15) && block_task_is_posted(place, seen)) fill_share(place, seen);
        if (warp.has_ticket == 0) {
            warp.ticket = take_ticket(control.warp_ring);
            warp.has_ticket = 1;
        }
        if (agent && gang.has_ticket == 0 && free_for_more) {
            gang.ticket = take_ticket(control.block_ring);
            gang.has_ticket = 1;
        }
        if (gift_is_there()) return unless_joined(finding::gift);  // else it waits in its slot
        if (agent && (block_gift_is_there() || (has_block_tasks_to_give() && ring_wanted(control.block_ring)))) {
            return unless_joined(finding::block_work);  // or on the stack
        }
        if (offered) __nanosleep(50);
        if (tries % 16 == 15) check_deadline();
    }
}

/// All lanes together: whether the run is over, as far as this worker block knows.
__device__ inline bool is_over() { return __any_sync(all_lanes, look_in_block(this_block().gang.over) != not_over); }

inline namespace hot {
/// All lanes together, with nothing to run: waits for work, and runs what it finds in the share. False when the run is over. `naps`: see
/// search.
__device__ __noinline__ inline bool find_work(unsigned naps) {
    warp_claim claim{0, 0};
    __syncwarp();  // all have seen that the stacks are empty before a grid may go on from here
    if (lane_rank() == 0) claim = claim_or_fill();
    finding found = __shfl_sync(all_lanes, claim.left, 0) != 0 ? finding::of_share : finding::nothing;
    while (true) {
        if (found == finding::of_share) {
            if (!run_of_share(claim)) return !is_over();
            naps = naps_after_share;
        }
        flush_all();
        const bool has_tasks = !has_no_tasks();  // a continuation begins
        __syncwarp();                            // all have read it before one goes on to search, which may begin one too
        if (has_tasks) return true;
        if (lane_rank() == 0) {
            begin_search();
            give_back_spent();
            found = search(claim, naps);
        }
        found = static_cast<finding>(__shfl_sync(all_lanes, static_cast<int>(found), 0));
        if (found != finding::of_share) break;
    }
    if (lane_rank() == 0) {
        end_search();
        const bool stopped = found == finding::over && look_in_block(this_block().gang.over) == run_was_stopped;
        if (stopped) count_at_stop(&stopped_workers::searching);
    }
    if (found == finding::gift) accept_gift();
    if (found == finding::block_task) run_on_block();
    if (found == finding::block_work) exchange_block_tasks();
    return found != finding::over;
}
}  // namespace hot

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
