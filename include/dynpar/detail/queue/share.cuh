// Queue engine: what a worker block has taken of a grid on the board. Its warps help themselves to it: thousands of warps that take
// blocks from the board one by one wait for each other, and each for device memory.
#pragma once

#include <cstddef>

#include "completion.cuh"
#include "deadline.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline board_word look_at_share() { return board_word(look_in_block(this_block().gang.share_left)); }

/// The task of the share, word by word: it is read and written by atomics only.
__device__ inline std::uint32_t& share_word(unsigned number) { return word_of(this_block().gang.share, number); }

/// The returns of blocks of the share, which a worker block tells all at once: thousands of warps that count on one record wait for each
/// other. They are of one grid, whose blocks warps run. While one of those blocks is out, nobody can find the grid's record at zero, so it
/// is early enough to tell them when none is.
struct kept_returns {
    unsigned bits;

    static constexpr unsigned out_shift = 22;
    static constexpr unsigned one_out = 1u << out_shift;
    static constexpr unsigned many = 1u << 20;

    __device__ explicit kept_returns(unsigned all) : bits(all) {}
    __device__ unsigned out() const { return bits >> out_shift; }  // blocks that have been taken and have not returned
    __device__ unsigned count() const { return bits & (one_out - 1); }
    __device__ bool are_complete() const { return bits != 0 && out() == 0; }
};
__device__ inline kept_returns look_at_returns() { return kept_returns(look_in_block(this_block().gang.returns)); }

/// One lane: tells the returns, if all blocks that were taken have returned.
__device__ __noinline__ inline void tell_complete_returns() {
    gang_state& gang = this_block().gang;
    while (look_at_returns().are_complete() && atomicCAS(&gang.share_lock, 0u, 1u) == 0) {  // else whoever has the lock looks again
        __threadfence_block();
        const kept_returns kept = look_at_returns();
        const arena_index grid = look_in_block(gang.returns_of);
        if (kept.are_complete()) put_in_block(gang.returns, 0u);  // under the lock no block goes out, and so none returns
        __threadfence_block();
        put_in_block(gang.share_lock, 0u);
        if (kept.are_complete()) return retire(grid, -static_cast<int>(kept.count()));
    }
}
/// For all who find nothing to do, or begin to wait.
__device__ inline void tell_returns() {
    if (look_at_returns().are_complete()) tell_complete_returns();
}

/// All lanes together: tells the others what this warp and what its worker block have put off.
__device__ inline void flush_all() {
    flush_deferred();
    if (lane_rank() == 0) tell_returns();
    __syncwarp();
}

/// Whether the board, as far as is known, has nothing for warps.
__device__ inline bool board_is_empty() {
    bool empty = true;
#pragma unroll
    for (std::uint32_t& place : this_block().gang.board) empty = empty && board_word(look_in_block(place)).left() <= 0;
    return empty;
}

/// One lane: a block of the share that was out has returned. Without children it is `counted` here, else elsewhere. If it is the last, and
/// there are no more to be had, the others are told at once: somebody may be waiting for it. If a grid goes on then, this warp runs its
/// first block: a grid mostly goes on from that, and what it takes this multiprocessor has in its instruction cache.
__device__ inline void return_to_share(bool counted) {
    __threadfence_block();
    const unsigned change = (counted ? 1u : 0u) - kept_returns::one_out;
    const kept_returns now(atomicAdd(&this_block().gang.returns, change) + change);
    if (!now.are_complete() || look_at_share().left() > 0 || !board_is_empty()) return;
    this_warp().keeps_first = 1;
    tell_complete_returns();
    this_warp().keeps_first = 0;
}
/// One lane: blocks of the share that were out run some other time, and are counted then.
__device__ inline void take_out_of_share(std::uint32_t blocks) { atomicSub(&this_block().gang.returns, blocks * kept_returns::one_out); }

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

/// One lane: takes blocks of the share, of a grid that is deeper than that, to run them some other time. False if there are none.
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
    const bool counted = look_in_block(this_block().gang.share_is_counted) != 0;
    finish_claim(left, wanted);
    if (counted) take_out_of_share(min(wanted, left));
    memcpy(&task, words, sizeof(task));
    narrow_to_claim(task, end, left, wanted);
    return true;
}

__device__ inline bool share_is_for_warps() {
    const board_word seen = look_at_share();
    return seen.left() > 0 && seen.width() != info::on_block;
}

/// Whether there is something to look for: on the worker block's stack, or in its share.
__device__ inline bool block_tasks_at_hand() {
    if (has_block_tasks()) return true;
    const board_word seen = look_at_share();
    return seen.left() > 0 && seen.width() == info::on_block;
}

/// How many blocks a worker block takes where so many are left: two for each of its warps, and fewer towards the end, so that all worker
/// blocks end at about the same time; but for every warp that has nothing to do one. (More at a time is faster where blocks do next to
/// nothing, and slower where they differ.)
__device__ inline std::uint32_t fair_share(std::uint32_t left, std::uint32_t width, unsigned searching) {
    const unsigned grain = grain_of(width);
    const unsigned idle = width == info::on_block ? 1 : max(searching, 1u) * grain;
    const unsigned most = 2 * blockDim.x / warp_size * grain;
    const unsigned fair = max(left / (2 * gridDim.x), min(idle, (left + gridDim.x - 1) / gridDim.x));
    return max(1u, min(fair, most) + grain - 1) / grain * grain;
}

/// Who holds the share's lock, and has said which task the share is of: `blocks` of it, up to the one before `end`.
__device__ inline void open_share(std::uint32_t width, std::uint32_t end, std::uint32_t blocks, bool counted) {
    gang_state& gang = this_block().gang;
    if (counted) atomicAdd(&gang.returns, blocks * kept_returns::one_out);
    put_in_block(gang.share_end, end);
    put_in_block(gang.share_size, blocks);
    put_in_block(gang.share_read, 0u);
    __threadfence_block();
    put_in_block(gang.share_left, board_word(0, width, blocks).lower());
}

/// One lane of a warp that has nothing to run: takes more of a grid on the board, where the share is used up. False if there was nothing
/// to take, or another warp is at it. `seen` may be old.
__device__ __noinline__ inline bool fill_share(unsigned place, board_word seen) {
    gang_state& gang = this_block().gang;
    if (look_in_block(gang.share_lock) != 0 || atomicCAS(&gang.share_lock, 0u, 1u) != 0) return false;
    __threadfence_block();
    bool filled = false;
    unsigned told = 0;
    arena_index told_of = 0;
    if (look_at_share().left() <= 0 && look_in_block(gang.share_read) == look_in_block(gang.share_size)) {
        const std::uint32_t wanted = fair_share(static_cast<std::uint32_t>(seen.left()), seen.width(), look_in_block(gang.searching));
        check_deadline();
        const unsigned stop = look(engine().control->stop);  // on its way together with the next
        const board_word found = take_posted(place, wanted);
        tell_of_stop(stop);
        filled = found.left() > 0;
        if (filled) {
            constexpr unsigned details_word = offsetof(wide_task, details) / sizeof(unsigned);
            constexpr unsigned last_word = offsetof(wide_task, last) / sizeof(unsigned);
            const auto blocks = min(wanted, static_cast<std::uint32_t>(found.left()));
            const kept_returns kept = look_at_returns();
            // The same place is the same grid as long as that is not complete, and it is not while returns are kept.
            const bool same = kept.bits != 0 && look_in_block(gang.share_is_counted) != 0 &&
                              look_in_block(share_word(details_word)) == found.details();
            bool counted = same;
            if (same ? kept.count() >= kept_returns::many : kept.are_complete()) {
                told = kept.count();
                told_of = look_in_block(gang.returns_of);
                atomicSub(&gang.returns, told);
            }
            if (!same) {
                wide_task task;
                copy_fresh_task(task, at<launch_details>(found.details())->task);
                unsigned words[task_words];
                memcpy(words, &task, sizeof(task));
#pragma unroll
                for (unsigned i = 0; i < task_words; ++i) put_in_block(share_word(i), words[i]);
                counted = kept.out() == 0 && found.width() == info::on_warp;
                if (counted) put_in_block(gang.returns_of, task.grid);
                put_in_block(gang.share_is_counted, counted ? 1u : 0u);
            }
            const std::uint32_t last = look_in_block(share_word(last_word));
            open_share(found.width(), last - static_cast<std::uint32_t>(found.left()) + blocks, blocks, counted);
        }
        const auto others = static_cast<std::uint32_t>(max(found.left() - static_cast<int>(wanted), 0));
        put_in_block(gang.board[place], board_word(0, found.width(), others).lower());
    }
    __threadfence_block();
    put_in_block(gang.share_lock, 0u);
    if (told != 0) retire(told_of, -static_cast<int>(told));
    tell_returns();
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

/// Blocks of the share that a warp has taken: how many it wanted, and how many there were; 0 if none.
struct warp_claim {
    std::uint32_t wanted;
    std::uint32_t left;
};

/// One lane: takes blocks of the share that a warp can run by itself.
__device__ inline warp_claim claim_as_warp() {
    const board_word seen = look_at_share();
    if (seen.left() <= 0 || seen.width() == info::on_block) return {0, 0};
    const std::uint32_t wanted = grain_of(seen.width());
    return {wanted, claim_share(wanted)};
}

/// The same, and where the share is used up, of what the board is known to have.
__device__ inline warp_claim claim_or_fill() {
    warp_claim claim;
    do {
        claim = claim_as_warp();
    } while (claim.left == 0 && fill_share_for_warp());
    return claim;
}

/// What has been taken: the task in words, the number of the first block, and whether its return is counted in `returns`.
struct claimed_blocks {
    std::uint32_t word;
    std::uint32_t first;
    std::uint32_t count;
    bool counted;
};

/// All lanes together: reads what one of them has taken.
__device__ inline claimed_blocks read_claim(const warp_claim& claim) {
    __threadfence_block();
    std::uint32_t word = 0;
    if (lane_rank() < task_words) word = look_in_block(share_word(lane_rank()));
    const std::uint32_t end = look_in_block(this_block().gang.share_end);
    const bool counted = look_in_block(this_block().gang.share_is_counted) != 0;
    __syncwarp();
    if (lane_rank() == 0) finish_claim(claim.left, claim.wanted);
    return {word, end - claim.left, min(claim.wanted, claim.left), counted};
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
