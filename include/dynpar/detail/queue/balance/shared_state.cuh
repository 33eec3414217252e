// Queue engine: what all worker blocks share, as this one knows it: whether the run is over, and which grids are open.
// Thousands of warps ask for it all the time, so one at a time reads it in device memory, for its worker block.
//
// Owns gang_state::read_at, and with block_chunk.cuh gang_state::open_grids.
#pragma once

#include "block_chunk.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// One lane of a warp with nothing to run, taking turns with the others of its worker block: reads in device memory
/// whether the run is over and which grids are open, and fetches a chunk if warps can run it. The others find what it
/// has read in shared memory.
__device__ inline void poll_shared_state() {
    gang_state& gang = this_block().gang;
    const unsigned now = cycles_now();
    const unsigned read_at = load_relaxed_in_block(gang.read_at);
    if (now - read_at <= tuning::cycles_between_polls_of_shared_state ||
        compare_exchange_relaxed(gang.read_at, read_at, now) != read_at)
        return;
    static_assert(open_grid_places == 3, "two loads of 16 bytes");
    unsigned long long words[4];
    load_four_words(reinterpret_cast<const unsigned long long*>(&engine().control->done), words);
    const unsigned long long done_or_stop = words[0];
    const open_grid_word open_grids[open_grid_places] = {open_grid_word(words[1]), open_grid_word(words[2]),
                                                         open_grid_word(words[3])};
    unsigned place = open_grid_places;
    std::uint32_t seen = 0;
#pragma unroll
    for (unsigned i = 0; i < open_grid_places; ++i) {
        const std::uint32_t lower = open_grids[i].lower();
        store_relaxed_in_block(gang.open_grids[i], lower);
        if (open_grid_word(lower).left() > 0 && open_grid_word(lower).width() != info::on_block) {
            place = i;
            seen = lower;
        }
    }
    const bool done = static_cast<std::uint32_t>(done_or_stop) != 0;
    if (done_or_stop != 0)
        store_relaxed_in_block(gang.over, static_cast<unsigned>(done ? run_is_complete : run_was_stopped));
    if (place != open_grid_places) fetch_chunk(place, open_grid_word(seen));
}

/// Whether an open grid is for worker blocks, as far as this worker block knows; if so, which.
__device__ inline bool block_task_is_open(unsigned& place, open_grid_word& seen) {
    for (place = 0; place < open_grid_places; ++place) {
        seen = open_grid_word(load_relaxed_in_block(this_block().gang.open_grids[place]));
        if (seen.left() > 0 && seen.width() == info::on_block) return true;
    }
    return false;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
