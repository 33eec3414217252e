// Queue engine: what a worker block has taken of a grid on the board. Its warps help themselves to it: thousands of warps that take
// blocks from the board one by one wait for each other, and each for device memory.
#pragma once

#include <cstddef>

#include "../join/completion.cuh"
#include "../deadline.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline open_grid_word load_chunk() { return open_grid_word(load_relaxed_in_block(this_block().gang.chunk_left)); }

/// The task of the share, word by word: it is read and written by atomics only.
__device__ inline std::uint32_t& chunk_word(unsigned number) { return word_of(this_block().gang.chunk, number); }

/// The returns of blocks of the share, which a worker block tells all at once: thousands of warps that count on one record wait for each
/// other. They are of one grid, whose blocks warps run. While one of those blocks is out, nobody can find the grid's record at zero, so it
/// is early enough to tell them when none is.
struct block_batch {
    unsigned bits;

    static constexpr unsigned out_shift = 22;
    static constexpr unsigned one_out = 1u << out_shift;
    static constexpr unsigned many = 1u << 20;

    __device__ explicit block_batch(unsigned all) : bits(all) {}
    __device__ unsigned out() const { return bits >> out_shift; }  // blocks that have been taken and have not returned
    __device__ unsigned count() const { return bits & (one_out - 1); }
    __device__ bool are_complete() const { return bits != 0 && out() == 0; }
};
__device__ inline block_batch load_block_batch() { return block_batch(load_relaxed_in_block(this_block().gang.batch)); }

/// One lane: tells the returns, if all blocks that were taken have returned.
__device__ __noinline__ inline void flush_complete_block_batch() {
    gang_state& gang = this_block().gang;
    while (load_block_batch().are_complete() && compare_exchange_relaxed(gang.chunk_lock, 0u, 1u) == 0) {  // else whoever has the lock looks again
        fence_in_block();
        const block_batch kept = load_block_batch();
        const arena_index grid = load_relaxed_in_block(gang.batch_of);
        if (kept.are_complete()) store_relaxed_in_block(gang.batch, 0u);  // under the lock no block goes out, and so none returns
        fence_in_block();
        store_relaxed_in_block(gang.chunk_lock, 0u);
        if (kept.are_complete()) return add_to_counter(grid, -static_cast<int>(kept.count()));
    }
}
/// For all who find nothing to do, or begin to wait.
__device__ inline void flush_block_batch() {
    if (load_block_batch().are_complete()) flush_complete_block_batch();
}

/// All lanes together: tells the others what this warp and what its worker block have put off.
__device__ inline void flush_all() {
    flush_warp_batch();
    if (lane_rank() == 0) flush_block_batch();
    __syncwarp();
}

/// Whether the board, as far as is known, has nothing for warps.
__device__ inline bool no_open_grids() {
    bool empty = true;
#pragma unroll
    for (std::uint32_t& place : this_block().gang.open_grids) empty = empty && open_grid_word(load_relaxed_in_block(place)).left() <= 0;
    return empty;
}

/// One lane: a block of the share that was out has returned. Without children it is `counted` here, else elsewhere. If it is the last, and
/// there are no more to be had, the others are told at once: somebody may be waiting for it. If a grid goes on then, this warp runs its
/// first block: a grid mostly goes on from that, and what it takes this multiprocessor has in its instruction cache.
__device__ inline void return_to_chunk(bool counted) {
    fence_in_block();
    const unsigned change = (counted ? 1u : 0u) - block_batch::one_out;
    const block_batch now(fetch_add_relaxed(this_block().gang.batch, change) + change);
    if (!now.are_complete() || load_chunk().left() > 0 || !no_open_grids()) return;
    this_warp().keeps_first = 1;
    flush_complete_block_batch();
    this_warp().keeps_first = 0;
}
/// One lane: blocks of the share that were out run some other time, and are counted then.
__device__ inline void take_out_of_chunk(std::uint32_t blocks) { fetch_sub_relaxed(this_block().gang.batch, blocks * block_batch::one_out); }

/// One lane: takes so many blocks, and says how many were left before; 0 if none. Nobody fills the share before all have said that they
/// have read it, so that is to be done at once.
__device__ inline std::uint32_t claim_chunk(std::uint32_t wanted) {
    return static_cast<std::uint32_t>(max(open_grid_word(fetch_sub_relaxed(this_block().gang.chunk_left, wanted)).left(), 0));
}
__device__ inline void finish_claim(std::uint32_t left, std::uint32_t wanted) {
    fence_in_block();
    fetch_add_relaxed(this_block().gang.chunk_read, min(wanted, left));
}
/// Makes the task of the share the one that a claim is for. The share may have been filled since somebody looked at it: then it is not
/// what was looked for. `end`: of the share's blocks.
__device__ inline void narrow_to_claim(wide_task& task, std::uint32_t end, std::uint32_t left, std::uint32_t wanted) {
    task.first = end - left;
    task.last = task.first + min(wanted, left);
}

/// One lane: takes blocks of the share, of a grid that is deeper than that, to run them some other time. False if there are none.
__device__ inline bool take_of_chunk(int deeper_than, bool on_block, wide_task& task) {
    const open_grid_word seen = load_chunk();
    if (seen.left() <= 0 || (seen.width() == info::on_block) != on_block) return false;
    constexpr unsigned info_word = offsetof(wide_task, info) / sizeof(unsigned);
    if (static_cast<int>(load_relaxed_in_block(chunk_word(info_word)) & info::depth_mask) <= deeper_than) return false;
    const std::uint32_t wanted = grain_of(seen.width());
    const std::uint32_t left = claim_chunk(wanted);
    if (left == 0) return false;
    fence_in_block();
    unsigned words[task_words];
#pragma unroll
    for (unsigned i = 0; i < task_words; ++i) words[i] = load_relaxed_in_block(chunk_word(i));
    const std::uint32_t end = load_relaxed_in_block(this_block().gang.chunk_end);
    const bool counted = load_relaxed_in_block(this_block().gang.chunk_is_counted) != 0;
    finish_claim(left, wanted);
    if (counted) take_out_of_chunk(min(wanted, left));
    memcpy(&task, words, sizeof(task));
    narrow_to_claim(task, end, left, wanted);
    return true;
}

__device__ inline bool chunk_is_for_warps() {
    const open_grid_word seen = load_chunk();
    return seen.left() > 0 && seen.width() != info::on_block;
}

/// Whether there is something to look for: on the worker block's stack, or in its share.
__device__ inline bool has_block_work() {
    if (has_block_tasks()) return true;
    const open_grid_word seen = load_chunk();
    return seen.left() > 0 && seen.width() == info::on_block;
}

/// How many blocks a worker block takes where so many are left: two for each of its warps, and fewer towards the end, so that all worker
/// blocks end at about the same time; but for every warp that has nothing to do one. (More at a time is faster where blocks do next to
/// nothing, and slower where they differ.)
__device__ inline std::uint32_t guided_chunk(std::uint32_t left, std::uint32_t width, unsigned searching) {
    const unsigned grain = grain_of(width);
    const unsigned idle = width == info::on_block ? 1 : max(searching, 1u) * grain;
    const unsigned most = 2 * blockDim.x / warp_size * grain;
    const unsigned fair = max(left / (2 * gridDim.x), min(idle, (left + gridDim.x - 1) / gridDim.x));
    return max(1u, min(fair, most) + grain - 1) / grain * grain;
}

/// Who holds the share's lock, and has said which task the share is of: `blocks` of it, up to the one before `end`.
__device__ inline void open_chunk(std::uint32_t width, std::uint32_t end, std::uint32_t blocks, bool counted) {
    gang_state& gang = this_block().gang;
    if (counted) fetch_add_relaxed(gang.batch, blocks * block_batch::one_out);
    store_relaxed_in_block(gang.chunk_end, end);
    store_relaxed_in_block(gang.chunk_size, blocks);
    store_relaxed_in_block(gang.chunk_read, 0u);
    fence_in_block();
    store_relaxed_in_block(gang.chunk_left, open_grid_word(0, width, blocks).lower());
}

/// One lane of a warp that has nothing to run: takes more of a grid on the board, where the share is used up. False if there was nothing
/// to take, or another warp is at it. `seen` may be old.
__device__ __noinline__ inline bool fetch_chunk(unsigned place, open_grid_word seen) {
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.chunk_lock) != 0 || compare_exchange_relaxed(gang.chunk_lock, 0u, 1u) != 0) return false;
    fence_in_block();
    bool filled = false;
    unsigned told = 0;
    arena_index told_of = 0;
    if (load_chunk().left() <= 0 && load_relaxed_in_block(gang.chunk_read) == load_relaxed_in_block(gang.chunk_size)) {
        const std::uint32_t wanted = guided_chunk(static_cast<std::uint32_t>(seen.left()), seen.width(), load_relaxed_in_block(gang.searching));
        check_deadline();
        const unsigned stop = load_relaxed(engine().control->stop);  // on its way together with the next
        const open_grid_word found = claim_blocks(place, wanted);
        tell_of_stop(stop);
        filled = found.left() > 0;
        if (filled) {
            constexpr unsigned descriptor_word = offsetof(wide_task, descriptor) / sizeof(unsigned);
            constexpr unsigned last_word = offsetof(wide_task, last) / sizeof(unsigned);
            const auto blocks = min(wanted, static_cast<std::uint32_t>(found.left()));
            const block_batch kept = load_block_batch();
            // The same place is the same grid as long as that is not complete, and it is not while returns are kept.
            const bool same = kept.bits != 0 && load_relaxed_in_block(gang.chunk_is_counted) != 0 &&
                              load_relaxed_in_block(chunk_word(descriptor_word)) == found.descriptor();
            bool counted = same;
            if (same ? kept.count() >= block_batch::many : kept.are_complete()) {
                told = kept.count();
                told_of = load_relaxed_in_block(gang.batch_of);
                fetch_sub_relaxed(gang.batch, told);
            }
            if (!same) {
                wide_task task;
                copy_fresh_task(task, at<grid_descriptor>(found.descriptor())->task);
                unsigned words[task_words];
                memcpy(words, &task, sizeof(task));
#pragma unroll
                for (unsigned i = 0; i < task_words; ++i) store_relaxed_in_block(chunk_word(i), words[i]);
                counted = kept.out() == 0 && found.width() == info::on_warp;
                if (counted) store_relaxed_in_block(gang.batch_of, task.grid);
                store_relaxed_in_block(gang.chunk_is_counted, counted ? 1u : 0u);
            }
            const std::uint32_t last = load_relaxed_in_block(chunk_word(last_word));
            open_chunk(found.width(), last - static_cast<std::uint32_t>(found.left()) + blocks, blocks, counted);
        }
        const auto others = static_cast<std::uint32_t>(max(found.left() - static_cast<int>(wanted), 0));
        store_relaxed_in_block(gang.open_grids[place], open_grid_word(0, found.width(), others).lower());
    }
    fence_in_block();
    store_relaxed_in_block(gang.chunk_lock, 0u);
    if (told != 0) add_to_counter(told_of, -static_cast<int>(told));
    flush_block_batch();
    return filled;
}

/// One lane: fills the share with what the board is known to have, for a warp. What is known may be old.
__device__ inline bool fetch_chunk_for_warp() {
    gang_state& gang = this_block().gang;
    bool filled = false;
    for (unsigned place = 0; !filled && place < open_grid_places; ++place) {
        const open_grid_word seen(load_relaxed_in_block(gang.open_grids[place]));
        if (seen.left() > 0 && seen.width() != info::on_block) filled = fetch_chunk(place, seen);
    }
    return filled;
}

/// One lane, for a worker block whose warps are together: the same for block tasks, with a fresh look at the board.
__device__ __noinline__ inline bool fetch_chunk_for_block() {
    const open_grids_view open_grids;
    bool filled = false;
#pragma unroll
    for (unsigned place = 0; place < open_grid_places; ++place) {
        if (!filled && open_grids.seen[place].left() > 0 && open_grids.seen[place].width() == info::on_block) {
            filled = fetch_chunk(place, open_grids.seen[place]);
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
    const open_grid_word seen = load_chunk();
    if (seen.left() <= 0 || seen.width() == info::on_block) return {0, 0};
    const std::uint32_t wanted = grain_of(seen.width());
    return {wanted, claim_chunk(wanted)};
}

/// The same, and where the share is used up, of what the board is known to have.
__device__ inline warp_claim claim_or_fetch() {
    warp_claim claim;
    do {
        claim = claim_as_warp();
    } while (claim.left == 0 && fetch_chunk_for_warp());
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
    fence_in_block();
    std::uint32_t word = 0;
    if (lane_rank() < task_words) word = load_relaxed_in_block(chunk_word(lane_rank()));
    const std::uint32_t end = load_relaxed_in_block(this_block().gang.chunk_end);
    const bool counted = load_relaxed_in_block(this_block().gang.chunk_is_counted) != 0;
    __syncwarp();
    if (lane_rank() == 0) finish_claim(claim.left, claim.wanted);
    return {word, end - claim.left, min(claim.wanted, claim.left), counted};
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
