// Queue engine: what a worker block has taken of a grid on the board. Its warps help themselves to it: thousands of warps that take
// blocks from the board one by one wait for each other, and each for device memory.
#pragma once

#include <cstddef>

#include "board.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline board_word look_at_share() { return board_word(look_in_block(this_block().gang.share_left)); }

/// The task of the share, word by word: it is read and written by atomics only.
__device__ inline std::uint32_t& share_word(unsigned number) { return word_of(this_block().gang.share, number); }

/// One lane: takes so many blocks, and says how many were left before; 0 if none. Nobody fills the share before all have said that they
/// have read it, so that is to be done at once.
__device__ inline std::uint32_t claim_share(std::uint32_t wanted) {
    return static_cast<std::uint32_t>(max(board_word(atomicSub(&this_block().gang.share_left, wanted)).left(), 0));
}
__device__ inline void finish_claim(std::uint32_t left, std::uint32_t wanted) {
    __threadfence_block();
    atomicAdd(&this_block().gang.share_read, min(wanted, left));
}
/// Makes the task of the share the one that a claim is for. The share may have been filled since somebody looked at it: then it is not
/// what was looked for. `end`: of the share's blocks.
__device__ inline void narrow_to_claim(wide_task& task, std::uint32_t end, std::uint32_t left, std::uint32_t wanted) {
    task.first = end - left;
    task.last = task.first + min(wanted, left);
}

/// One lane: takes blocks of the share, of a grid that is deeper than that. False if there are none.
__device__ inline bool take_of_share(int deeper_than, bool on_block, wide_task& task) {
    const board_word seen = look_at_share();
    if (seen.left() <= 0 || (seen.width() == info::on_block) != on_block) return false;
    constexpr unsigned info_word = offsetof(wide_task, info) / sizeof(unsigned);
    if (static_cast<int>(look_in_block(share_word(info_word)) & info::depth_mask) <= deeper_than) return false;
    const std::uint32_t wanted = grain_of(seen.width());
    const std::uint32_t left = claim_share(wanted);
    if (left == 0) return false;
    __threadfence_block();
    unsigned words[task_words];
#pragma unroll
    for (unsigned i = 0; i < task_words; ++i) words[i] = look_in_block(share_word(i));
    const std::uint32_t end = look_in_block(this_block().gang.share_end);
    finish_claim(left, wanted);
    memcpy(&task, words, sizeof(task));
    narrow_to_claim(task, end, left, wanted);
    return true;
}

/// Whether there is something to look for: on the worker block's stack, or in its share.
__device__ inline bool block_tasks_at_hand() {
    if (has_block_tasks()) return true;
    const board_word seen = look_at_share();
    return seen.left() > 0 && seen.width() == info::on_block;
}

/// One lane of a warp that has nothing to run: takes more of a grid on the board, where the share is used up. Some for each of its
/// warps, and fewer towards the end, so that all worker blocks end at about the same time; but for every warp that has nothing to do
/// one. False if there was nothing to take, or another warp is at it. `seen` may be old.
__device__ __noinline__ inline bool fill_share(unsigned place, board_word seen) {
    gang_state& gang = this_block().gang;
    if (look_in_block(gang.share_lock) != 0 || atomicCAS(&gang.share_lock, 0u, 1u) != 0) return false;
    __threadfence_block();
    bool filled = false;
    if (look_at_share().left() <= 0 && look_in_block(gang.share_read) == look_in_block(gang.share_size)) {
        const unsigned left = static_cast<unsigned>(seen.left());
        const unsigned grain = grain_of(seen.width());
        const bool on_block = seen.width() == info::on_block;
        const unsigned idle = on_block ? 1 : max(look_in_block(gang.searching), 1u) * grain;
        const unsigned most = blockDim.x / warp_size * grain;
        const unsigned fair = max(left / (2 * gridDim.x), min(idle, (left + gridDim.x - 1) / gridDim.x));
        const unsigned wanted = max(1u, min(fair, most) + grain - 1) / grain * grain;
        const board_word found = take_posted(place, wanted);
        filled = found.left() > 0;
        if (filled) {
            constexpr unsigned details_word = offsetof(wide_task, details) / sizeof(unsigned);
            constexpr unsigned last_word = offsetof(wide_task, last) / sizeof(unsigned);
            // The same place is the same grid as long as that is not complete, and it is not while this warp keeps a block's return to
            // itself.
            const unsigned number = look_in_block(gang.share_number);
            if (look_in_block(share_word(details_word)) != found.details() || this_warp().keeps_share != number) {
                wide_task task;
                copy_fresh_task(task, at<launch_details>(found.details())->task);
                unsigned words[task_words];
                memcpy(words, &task, sizeof(task));
#pragma unroll
                for (unsigned i = 0; i < task_words; ++i) put_in_block(share_word(i), words[i]);
                put_in_block(gang.share_number, number + 1);
            }
            const auto blocks = min(wanted, static_cast<std::uint32_t>(found.left()));
            put_in_block(gang.share_end, look_in_block(share_word(last_word)) - static_cast<std::uint32_t>(found.left()) + blocks);
            put_in_block(gang.share_size, blocks);
            put_in_block(gang.share_read, 0u);
            __threadfence_block();
            put_in_block(gang.share_left, board_word(0, found.width(), blocks).lower());
        }
        put_in_block(gang.board[place], board_word(0, found.width(), filled ? static_cast<std::uint32_t>(found.left()) : 0u).lower());
    }
    __threadfence_block();
    put_in_block(gang.share_lock, 0u);
    return filled;
}

/// One lane: fills the share with what the board is known to have, for a warp. What is known may be old.
__device__ inline bool fill_share_for_warp() {
    gang_state& gang = this_block().gang;
    bool filled = false;
    for (unsigned place = 0; !filled && place < board_places; ++place) {
        const board_word seen(look_in_block(gang.board[place]));
        if (seen.left() > 0 && seen.width() != info::on_block) filled = fill_share(place, seen);
    }
    return filled;
}

/// One lane, for a worker block whose warps are together: the same for block tasks, with a fresh look at the board.
__device__ __noinline__ inline bool fill_share_for_block() {
    const board_view board;
    bool filled = false;
#pragma unroll
    for (unsigned place = 0; place < board_places; ++place) {
        if (!filled && board.seen[place].left() > 0 && board.seen[place].width() == info::on_block) {
            filled = fill_share(place, board.seen[place]);
        }
    }
    return filled;
}

/// Whether the board, as far as is known, has nothing for warps.
__device__ inline bool board_is_empty() {
    bool empty = true;
#pragma unroll
    for (std::uint32_t& place : this_block().gang.board) empty = empty && board_word(look_in_block(place)).left() <= 0;
    return empty;
}

/// Blocks that a warp has taken, the task in words. `left`: how many there were, 0 if none.
struct warp_claim {
    std::uint32_t word;
    std::uint32_t end;
    std::uint32_t left;
    std::uint32_t wanted;
    std::uint32_t number;  // of the share
};

/// All lanes together: takes blocks of the share that this warp can run by itself.
__device__ inline warp_claim take_of_share_as_warp() {
    warp_claim claim{0, 0, 0, 0, 0};
    if (lane_rank() == 0) {
        do {
            const board_word seen = look_at_share();
            if (seen.left() > 0 && seen.width() != info::on_block) {
                claim.wanted = grain_of(seen.width());
                claim.left = claim_share(claim.wanted);
            }
        } while (claim.left == 0 && fill_share_for_warp());
    }
    claim.left = __shfl_sync(all_lanes, claim.left, 0);
    if (claim.left == 0) return claim;
    claim.wanted = __shfl_sync(all_lanes, claim.wanted, 0);
    __threadfence_block();
    if (lane_rank() < task_words) claim.word = look_in_block(share_word(lane_rank()));
    claim.end = look_in_block(this_block().gang.share_end);
    claim.number = look_in_block(this_block().gang.share_number);
    __syncwarp();
    if (lane_rank() == 0) finish_claim(claim.left, claim.wanted);
    return claim;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
