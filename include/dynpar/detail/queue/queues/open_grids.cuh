// Queue engine: open grids. Donations of half of what is left reach the warps one after another; a grid of many blocks
// is published instead, and all idle worker blocks claim blocks of it at once. Owns run_control::open_grids, and the
// count of idle warps (gang_state::searching, warp_state::searches).
#pragma once

#include "../memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// An open grid. Upper half: its descriptor, which outlives every block of the grid, so a claimant needs no handshake
/// to read it. Lower half: what runs its blocks, and how many are not claimed.
struct open_grid_word {
    unsigned long long bits;

    static constexpr std::uint32_t nothing_left = 1u << 29;  // claimants may subtract more than is left
    static constexpr std::uint32_t most_blocks = 1u << 28;
    static constexpr unsigned width_shift = 30;

    open_grid_word() = default;
    __device__ explicit open_grid_word(unsigned long long all) : bits(all) {}
    __device__ open_grid_word(arena_index descriptor, std::uint32_t width, std::uint32_t blocks)
        : bits(static_cast<unsigned long long>(descriptor) << 32 |
               (width >> info::width_shift << width_shift | (nothing_left + blocks))) {}

    __device__ arena_index descriptor() const { return static_cast<arena_index>(bits >> 32); }
    __device__ std::uint32_t width() const { return lower() >> width_shift << info::width_shift; }
    __device__ int left() const {
        return static_cast<int>(lower() & ((1u << width_shift) - 1)) - static_cast<int>(nothing_left);
    }
    __device__ std::uint32_t lower() const { return static_cast<std::uint32_t>(bits); }
};

/// Whether a grid is large enough to be published: all idle worker blocks try to claim some of it at once, most of them
/// in vain if it is not. For fewer rounds than an eighth of the number of worker blocks, donations are enough; of
/// blocks that take a whole worker block, a few are many.
__device__ inline bool is_worth_publishing(std::uint32_t width, unsigned long long blocks) {
    const unsigned worth_it =
        max(2u, engine().worker_blocks /
                    (width == info::on_block ? tuning::publish_block_tasks_from_part : tuning::publish_from_part));
    return blocks >= worth_it * grain_of(width) && blocks <= open_grid_word::most_blocks;
}
/// Whether other warps may run blocks of a grid before the block that launches it has returned: then the grid must be
/// counted at once.
__device__ inline bool is_open_to_others(std::uint32_t width, unsigned long long blocks) {
    return width == info::on_block || is_worth_publishing(width, blocks);
}

/// The open grids, as far as is known.
struct open_grids_view {
    open_grid_word seen[open_grid_places];
    __device__ open_grids_view() {
        const run_control& control = *engine().control;
#pragma unroll
        for (unsigned place = 0; place < open_grid_places; ++place)
            seen[place] = open_grid_word(load_relaxed(control.open_grids[place]));
    }
};

/// Publishes a grid with so many blocks. The caller withholds no children (join/join_counter.cuh). False if all places
/// are taken.
__device__ inline bool publish(arena_index descriptor, std::uint32_t width, std::uint32_t blocks,
                               open_grids_view& open_grids) {
    const open_grid_word fresh(descriptor, width, blocks);
#pragma unroll
    for (unsigned place = 0; place < open_grid_places; ++place) {
        while (open_grids.seen[place].left() <= 0) {
            unsigned long long& word = engine().control->open_grids[place];
            const open_grid_word found{compare_exchange_release(word, open_grids.seen[place].bits, fresh.bits)};
            if (found.bits == open_grids.seen[place].bits) return true;
            open_grids.seen[place] = found;
        }
    }
    return false;
}

/// One thread: claims so many blocks of an open grid, or what is left. Returns the word from before: if it says that n
/// blocks are left, the claim begins n blocks before the grid's end.
__device__ inline open_grid_word claim_blocks(unsigned place, std::uint32_t blocks) {
    return open_grid_word(fetch_add_acquire(engine().control->open_grids[place], 0ull - blocks));
}

/// One lane: counts this warp among those that have nothing to run. A warp is counted from the beginning of the run, so
/// that a chunk is large enough for all warps, also for those that begin later.
__device__ inline void begin_search() {
    if (this_warp().searches == 0) fetch_add_relaxed(this_block().gang.searching, 1u);
    this_warp().searches = 1;
}
__device__ inline void end_search() {
    if (this_warp().searches != 0) fetch_sub_relaxed(this_block().gang.searching, 1u);
    this_warp().searches = 0;
}

/// How many others of the worker block have nothing to run.
__device__ inline unsigned idle_warps_beside_this() {
    return load_relaxed_in_block(this_block().gang.searching) - this_warp().searches;
}

/// One thread: as long as this lives, so many warps of a team that has nothing to run are counted.
class team_search {
public:
    __device__ explicit team_search(unsigned warps) : warps_(warps) {
        fetch_add_relaxed(this_block().gang.searching, warps_);
    }
    __device__ ~team_search() { fetch_sub_relaxed(this_block().gang.searching, warps_); }
    team_search(const team_search&) = delete;
    team_search& operator=(const team_search&) = delete;

private:
    unsigned warps_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
