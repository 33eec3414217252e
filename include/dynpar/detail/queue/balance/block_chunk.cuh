// Queue engine: a worker block's chunk of an open grid, from which its warps claim blocks, and the batch of their
// returns. Thousands of warps that claim blocks of an open grid one by one would wait for each other, and each for
// device memory.
//
// The chunk is opened under gang_state::chunk_lock. Warps claim with one subtraction from chunk_left, read the task,
// and add to chunk_read; the next chunk is fetched when this one is used up and read. Owns gang_state::chunk* (the
// task, chunk_lock, chunk_left, chunk_end, chunk_size, chunk_read, chunk_is_counted, chunk_is_part) and the block batch
// (batch, batch_of). May subtract from run_control::open_grids, by claim_blocks() alone.
#pragma once

#include <cstddef>

#include "../join/completion.cuh"
#include "../deadline.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline open_grid_word load_chunk() {
    return open_grid_word(load_relaxed_in_block(this_block().gang.chunk_left));
}

/// The task of the chunk, word by word: read and written by relaxed accesses only, since a warp may look at it while
/// another fetches the next chunk.
__device__ inline std::uint32_t& chunk_word(unsigned number) { return word_of(this_block().gang.chunk, number); }

/// Of the grid that the chunk is of, or was a moment ago.
__device__ inline int depth_of_chunk() {
    constexpr unsigned info_word = offsetof(wide_task, info) / sizeof(unsigned);
    return static_cast<int>(load_relaxed_in_block(chunk_word(info_word)) & info::depth_mask);
}
/// The same: the size of its blocks.
__device__ inline block_size size_of_chunk() {
    constexpr unsigned size_word = offsetof(wide_task, size) / sizeof(unsigned);
    block_size size;
    size.bits = load_relaxed_in_block(chunk_word(size_word));
    return size;
}

/// The block batch: returns of blocks of the chunk, which a worker block subtracts from the grid's counter all at once,
/// since thousands of warps that count on one grid node would wait for each other. All are blocks of one grid that
/// warps run. As long as one of those blocks is out, the grid's counter cannot be found at zero, so it is early enough
/// to flush when none is.
///
/// Out are at most a chunk, and of the chunk before it one block with each warp, or with each of its lanes. A chunk for
/// warps may be as large as one for lanes: it was claimed for the grid that had the place when the worker block looked
/// last (fetch_chunk()).
struct block_batch {
    unsigned bits;

    static constexpr unsigned out_bits = 12;
    static constexpr unsigned out_shift = 32 - out_bits;
    static constexpr unsigned one_out = 1u << out_shift;
    static constexpr unsigned many = one_out / 4;

    static constexpr unsigned most_warps = 1024 / warp_size;  // of a worker block
    static_assert((tuning::chunk_rounds + 1) * most_warps * warp_size < 1u << out_bits);

    __device__ explicit block_batch(unsigned all) : bits(all) {}
    /// Blocks that have been claimed and have not returned.
    __device__ unsigned out() const { return bits >> out_shift; }
    __device__ unsigned count() const { return bits & (one_out - 1); }
    __device__ bool are_complete() const { return bits != 0 && out() == 0; }
};
__device__ inline block_batch load_block_batch() { return block_batch(load_relaxed_in_block(this_block().gang.batch)); }

/// One lane: flushes the batch if all claimed blocks have returned.
__device__ __noinline__ inline void flush_complete_block_batch() {
    gang_state& gang = this_block().gang;
    // The warp that holds the lock checks again when it has released it.
    while (load_block_batch().are_complete() && compare_exchange_relaxed(gang.chunk_lock, 0u, 1u) == 0) {
        fence_in_block();
        const block_batch kept = load_block_batch();
        const arena_index grid = load_relaxed_in_block(gang.batch_of);
        // Under the lock no block goes out, and with none out none returns.
        if (kept.are_complete()) store_relaxed_in_block(gang.batch, 0u);
        fence_in_block();
        store_relaxed_in_block(gang.chunk_lock, 0u);
        if (kept.are_complete()) return add_to_counter_as_wide(grid, -static_cast<int>(kept.count()));
    }
}
/// For every warp that finds nothing to do or begins to wait.
__device__ inline void flush_block_batch() {
    if (load_block_batch().are_complete()) flush_complete_block_batch();
}

/// All lanes together: flushes this warp's batch and its worker block's.
__device__ inline void flush_all() {
    flush_warp_batch();
    if (lane_rank() == 0) flush_block_batch();
    sync_warp();
}

/// Whether no open grid is for warps, as far as this worker block knows.
__device__ inline bool no_open_grids() {
    bool empty = true;
#pragma unroll
    for (std::uint32_t& place : this_block().gang.open_grids)
        empty = empty && open_grid_word(load_relaxed_in_block(place)).left() <= 0;
    return empty;
}

/// One lane: a block of the chunk that was out has returned. If it has no children it is `counted` here, otherwise
/// elsewhere. After the last one, when no more can be had, the batch is flushed at once: a warp may be waiting for it.
/// If that begins a continuation, this warp runs its first block: a grid mostly continues from that block, and the code
/// for it is in this multiprocessor's instruction cache.
__device__ inline void return_to_chunk(bool counted) {
    fence_in_block();
    const unsigned change = (counted ? 1u : 0u) - block_batch::one_out;
    const block_batch now(fetch_add_relaxed(this_block().gang.batch, change) + change);
    if (!now.are_complete() || load_chunk().left() > 0 || !no_open_grids()) return;
    this_warp().keeps_first = 1;
    flush_complete_block_batch();
    this_warp().keeps_first = 0;
}
/// One lane: blocks of the chunk that were out will run later, as a task, and are counted then.
__device__ inline void take_out_of_chunk(std::uint32_t blocks) {
    fetch_sub_relaxed(this_block().gang.batch, blocks * block_batch::one_out);
}

/// One lane: claims blocks. Returns how many were left before; 0 if none. The chunk is not opened again before every
/// claimant has called finish_claim(), so that must follow at once.
__device__ inline std::uint32_t claim_chunk(std::uint32_t wanted) {
    return static_cast<std::uint32_t>(
        max(open_grid_word(fetch_sub_relaxed(this_block().gang.chunk_left, wanted)).left(), 0));
}
__device__ inline void finish_claim(std::uint32_t left, std::uint32_t wanted) {
    fence_in_block();
    fetch_add_relaxed(this_block().gang.chunk_read, min(wanted, left));
}
/// Narrows the task of the chunk to the blocks of a claim. The chunk may be another one than when the warp looked at
/// it: then the task is not what it looked for. `end`: of the chunk's blocks.
__device__ inline void narrow_to_claim(wide_task& task, std::uint32_t end, std::uint32_t left, std::uint32_t wanted) {
    task.first = end - left;
    task.last = task.first + min(wanted, left);
}

/// One lane: claims `wanted` blocks of the chunk as a task that runs later, if their grid is deeper than `deeper_than`.
/// False if there are none.
__device__ inline bool take_of_chunk(int deeper_than, bool on_block, std::uint32_t wanted, wide_task& task) {
    const open_grid_word seen = load_chunk();
    if (seen.left() <= 0 || (seen.width() == info::on_block) != on_block) return false;
    if (depth_of_chunk() <= deeper_than) return false;
    between_accesses();
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

/// Whether there may be a block task that is deeper than that: on the worker block's deque, or in its chunk.
__device__ inline bool has_block_work(int deeper_than = -1) {
    if (has_block_tasks() && static_cast<int>(load_relaxed_in_block(this_block().gang.deepest)) > deeper_than)
        return true;
    const open_grid_word seen = load_chunk();
    return seen.left() > 0 && seen.width() == info::on_block && depth_of_chunk() > deeper_than;
}

/// For the holder of the chunk's lock, after it has written the task: opens the chunk, with `blocks` blocks of it up to
/// the one before `end`.
__device__ inline void open_chunk(std::uint32_t width, std::uint32_t end, std::uint32_t blocks, bool counted) {
    gang_state& gang = this_block().gang;
    if (counted) fetch_add_relaxed(gang.batch, blocks * block_batch::one_out);
    store_relaxed_in_block(gang.chunk_end, end);
    store_relaxed_in_block(gang.chunk_size, blocks);
    store_relaxed_in_block(gang.chunk_read, 0u);
    fence_in_block();
    store_relaxed_in_block(gang.chunk_left, open_grid_word(0, width, blocks).lower());
}

/// For the holder of the chunk's lock: makes this task the chunk's. Whether the returns of its blocks are counted in
/// the block batch, of which this was `kept`. `is_part`: the task may end before its grid.
__device__ inline bool put_task_of_chunk(const wide_task& task, block_batch kept, bool is_part) {
    gang_state& gang = this_block().gang;
    unsigned words[task_words];
    memcpy(words, &task, sizeof(task));
#pragma unroll
    for (unsigned i = 0; i < task_words; ++i) store_relaxed_in_block(chunk_word(i), words[i]);
    const bool counted = kept.out() == 0 && (task.info & info::width_mask) == info::on_warp;
    if (counted) store_relaxed_in_block(gang.batch_of, task.grid);
    store_relaxed_in_block(gang.chunk_is_counted, counted ? 1u : 0u);
    store_relaxed_in_block(gang.chunk_is_part, is_part ? 1u : 0u);
    return counted;
}
/// For the holder of the chunk's lock: whether all of it has been claimed, and read.
__device__ inline bool chunk_is_used_up() {
    const gang_state& gang = this_block().gang;
    return load_chunk().left() <= 0 && load_relaxed_in_block(gang.chunk_read) == load_relaxed_in_block(gang.chunk_size);
}

/// One lane of a warp that has nothing to run: fetches the next chunk of an open grid when this one is used up. False
/// if there was nothing to claim, or if another warp is fetching. `seen` may be old.
__device__ __noinline__ inline bool fetch_chunk(unsigned place, open_grid_word seen) {
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.chunk_lock) != 0 || compare_exchange_relaxed(gang.chunk_lock, 0u, 1u) != 0)
        return false;
    fence_in_block();
    bool filled = false;
    unsigned told = 0;
    arena_index told_of = 0;
    if (chunk_is_used_up()) {
        const std::uint32_t wanted =
            guided_chunk(static_cast<std::uint32_t>(seen.left()), seen.width(), load_relaxed_in_block(gang.searching),
                         blockDim.x / warp_size, engine().worker_blocks);
        check_deadline();
        const unsigned stop = load_relaxed(engine().control->stop);  // on its way together with the claim
        const open_grid_word found = claim_blocks(place, wanted);
        tell_of_stop(stop);
        filled = found.left() > 0;
        if (filled) {
            constexpr unsigned descriptor_word = offsetof(wide_task, descriptor) / sizeof(unsigned);
            constexpr unsigned last_word = offsetof(wide_task, last) / sizeof(unsigned);
            const auto blocks = min(wanted, static_cast<std::uint32_t>(found.left()));
            const block_batch kept = load_block_batch();
            // The same descriptor is the same grid as long as that grid is not complete, and while its returns are
            // withheld it is not. Open is what comes last of it, so the task in the chunk must end with the grid.
            const bool same = kept.bits != 0 && load_relaxed_in_block(gang.chunk_is_counted) != 0 &&
                              load_relaxed_in_block(gang.chunk_is_part) == 0 &&
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
                counted = put_task_of_chunk(task, kept, false);
            }
            const std::uint32_t last = load_relaxed_in_block(chunk_word(last_word));
            open_chunk(found.width(), last - static_cast<std::uint32_t>(found.left()) + blocks, blocks, counted);
        }
        const auto others = static_cast<std::uint32_t>(max(found.left() - static_cast<int>(wanted), 0));
        store_relaxed_in_block(gang.open_grids[place], open_grid_word(0, found.width(), others).lower());
    }
    fence_in_block();
    store_relaxed_in_block(gang.chunk_lock, 0u);
    if (told != 0) add_to_counter_as_wide(told_of, -static_cast<int>(told));
    flush_block_batch();
    return filled;
}

/// One lane of a warp that withholds no children, whose newest task is blocks for warps: gives all but the first so
/// many to warps of its worker block that have nothing to run, one each, in the chunk, if that is used up. What it does
/// last may begin a continuation, on the same deque.
__device__ __noinline__ inline void share_newest_task_now(std::uint32_t kept_blocks) {
    warp_state& warp = this_warp();
    gang_state& gang = this_block().gang;
    if (load_relaxed_in_block(gang.chunk_lock) != 0 || compare_exchange_relaxed(gang.chunk_lock, 0u, 1u) != 0) return;
    fence_in_block();
    unsigned told = 0;
    arena_index told_of = 0;
    if (const unsigned idle = idle_warps_beside_this(); idle != 0 && chunk_is_used_up()) {
        const block_batch kept = load_block_batch();
        if (kept.are_complete()) {
            told = kept.count();
            told_of = load_relaxed_in_block(gang.batch_of);
            fetch_sub_relaxed(gang.batch, told);
        }
        wide_task task;
        wide_task& newest = slot<wide_task>(warp.wide_owner_end - 1);
        copy_task(task, newest);
        const bool counted = put_task_of_chunk(task, kept, true);
        const std::uint32_t blocks = min(idle, task.last - task.first - kept_blocks);
        newest.last = task.last - blocks;
        if (newest.first == newest.last) --warp.wide_owner_end;
        open_chunk(info::on_warp, task.last, blocks, counted);
    }
    fence_in_block();
    store_relaxed_in_block(gang.chunk_lock, 0u);
    if (told != 0) add_to_counter_as_wide(told_of, -static_cast<int>(told));
    flush_block_batch();
}
/// All lanes of a warp that waits for nothing: whether others of its worker block have nothing to run.
__device__ inline bool may_share() {
    return __shfl_sync(all_lanes, idle_warps_beside_this() != 0 && load_chunk().left() <= 0, 0);
}
/// The same, if it may, and its newest task is more than so many blocks for warps: shares the others. So a grid that is
/// too small to be published begins on all of a worker block at once.
__device__ inline void share_newest_task(std::uint32_t kept_blocks) {
    flush_withheld_children();
    if (lane_rank() == 0) share_newest_task_now(kept_blocks);
    sync_warp();
}

/// One lane: fetches a chunk that warps can run, of the open grids that this worker block knows. What it knows may be
/// old.
__device__ inline bool fetch_chunk_for_warp() {
    gang_state& gang = this_block().gang;
    bool filled = false;
    for (unsigned place = 0; !filled && place < open_grid_places; ++place) {
        const open_grid_word seen(load_relaxed_in_block(gang.open_grids[place]));
        if (seen.left() > 0 && seen.width() != info::on_block) filled = fetch_chunk(place, seen);
    }
    return filled;
}

/// One lane, for a worker block whose warps have joined: the same for block tasks, after reading the open grids again.
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

/// Blocks of the chunk that a warp has claimed: how many it wanted, and how many were left; 0 if none.
struct warp_claim {
    std::uint32_t wanted;
    std::uint32_t left;
};

/// One lane: claims blocks of the chunk that a warp can run by itself.
__device__ inline warp_claim claim_as_warp() {
    const open_grid_word seen = load_chunk();
    if (seen.left() <= 0 || seen.width() == info::on_block) return {0, 0};
    const std::uint32_t wanted = grain_of(seen.width());
    return {wanted, claim_chunk(wanted)};
}

/// The same, and fetches the next chunk when this one is used up.
__device__ inline warp_claim claim_or_fetch() {
    warp_claim claim;
    do {
        claim = claim_as_warp();
    } while (claim.left == 0 && fetch_chunk_for_warp());
    return claim;
}

/// What has been claimed: the task in words, the number of the first block, and whether its return is counted in the
/// block batch.
struct claimed_blocks {
    std::uint32_t word;
    std::uint32_t first;
    std::uint32_t count;
    bool counted;
};

/// All lanes together: reads what one of them has claimed.
__device__ inline claimed_blocks read_claim(const warp_claim& claim) {
    fence_in_block();
    std::uint32_t word = 0;
    if (lane_rank() < task_words) word = load_relaxed_in_block(chunk_word(lane_rank()));
    const std::uint32_t end = load_relaxed_in_block(this_block().gang.chunk_end);
    const bool counted = load_relaxed_in_block(this_block().gang.chunk_is_counted) != 0;
    sync_warp();
    if (lane_rank() == 0) finish_claim(claim.left, claim.wanted);
    return {word, end - claim.left, min(claim.wanted, claim.left), counted};
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
