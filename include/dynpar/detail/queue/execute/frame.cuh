// Queue engine: frames. A frame is what runs on a warp; the frames below it wait. Also the shared memory of what runs.
// Owns the saving and restoring of a frame's part of warp_state, except depth, awaited and level (nested_step(),
// run_as_team()).
#pragma once

#include "../memory/arena.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline std::uint32_t within(std::uint32_t place, std::uint32_t steal_end, std::uint32_t owner_end) {
    if (static_cast<std::int32_t>(place - steal_end) < 0) return steal_end;
    return static_cast<std::int32_t>(owner_end - place) < 0 ? owner_end : place;
}

/// Where the tasks begin, on the warp's two deques, that what runs now has launched.
struct deque_bases {
    std::uint32_t lane, wide;

    static __device__ deque_bases now() { return {this_warp().lane_base, this_warp().wide_base}; }
    /// One lane: nothing is launched yet.
    static __device__ void begin() {
        warp_state& warp = this_warp();
        warp.lane_base = warp.lane_owner_end;
        warp.wide_base = warp.wide_owner_end;
    }
    /// One lane. Meanwhile the tasks that lay below may have been donated, or run.
    __device__ void restore() const {
        warp_state& warp = this_warp();
        warp.lane_base = within(lane, warp.lane_steal_end, warp.lane_owner_end);
        warp.wide_base = within(wide, warp.wide_steal_end, warp.wide_owner_end);
    }
};

/// The frame of a round of lanes. The rest of warp_state's frame belongs to a block of several threads, which may be
/// waiting below.
template <bool Nested>
struct round_frame {
    deque_bases bases;

    /// All lanes together, after what is to run has been popped.
    __device__ round_frame() {
        if constexpr (Nested) {
            bases = deque_bases::now();
            sync_warp();
        }
        if (lane_rank() == 0) deque_bases::begin();
        sync_warp();
    }
    __device__ void end() const {
        if constexpr (Nested) {
            sync_warp();
            if (lane_rank() == 0) bases.restore();
            sync_warp();
        }
    }
};

/// The nodes of the small grids of a round: one of several blocks in a round on top of a wait puts its own in their
/// place.
template <bool Nested>
struct small_nodes_frame {
    arena_index below;

    __device__ small_nodes_frame() {
        arena_index& mine = this_warp().small_nodes[lane_rank()];
        if constexpr (Nested) below = mine;
        mine = 0;
        sync_warp();
    }
    __device__ void end() const {
        sync_warp();
        if constexpr (Nested) {
            this_warp().small_nodes[lane_rank()] = below;
            sync_warp();
        }
    }
};

/// The frame of a block of several threads.
template <bool Nested>
struct block_frame {
    deque_bases bases;
    arena_index own;
    unsigned own_counts, refused_shared;
    unsigned char* shared_memory;
    std::uint32_t word;  // of the task that runs below
    unsigned long long begun_at;

    /// All lanes together, after what is to run has been popped.
    __device__ block_frame() {
        warp_state& warp = this_warp();
        if constexpr (Nested) {
            bases = deque_bases::now();
            own = warp.own;
            own_counts = warp.own_counts;
            refused_shared = warp.refused_shared;
            shared_memory = warp.shared_memory;
            if (lane_rank() < task_words) word = word_of(warp.current, lane_rank());
            begun_at = warp.begun_at;
            sync_warp();
        }
        if (lane_rank() == 0) {
            deque_bases::begin();
            warp.own = 0;
            warp.own_counts = counted::nothing;
            warp.refused_shared = 0;
        }
        sync_warp();
    }
    __device__ void end() const {
        if constexpr (Nested) {
            warp_state& warp = this_warp();
            sync_warp();
            if (lane_rank() < task_words) word_of(warp.current, lane_rank()) = word;
            if (lane_rank() == 0) {
                bases.restore();
                warp.begun_at = begun_at;
                warp.own = own;
                warp.own_counts = own_counts;
                warp.refused_shared = refused_shared;
                warp.shared_memory = shared_memory;
            }
            sync_warp();
        }
    }
};

/// One thread: memory for `block.shared`, of the multiprocessor if there is enough, else from the arena. `borrowed` is
/// to be given back.
__device__ inline unsigned char* find_shared_memory(unsigned bytes, unsigned char* fast, unsigned fast_bytes,
                                                    arena_index& borrowed) {
    if (bytes <= fast_bytes) return fast;
    fetch_add_relaxed(engine().control->shared_in_memory, 1u);
    borrowed = allocate(size_class_of(bytes));
    if (borrowed == 0) stop_run(no_memory);
    return borrowed != 0 ? at<unsigned char>(borrowed) : nullptr;
}
__device__ inline void return_shared_memory(unsigned bytes, arena_index borrowed) {
    if (borrowed != 0) release(borrowed, size_class_of(bytes));
}
__device__ inline unsigned char* kernels_shared_memory() { return worker_memory() + state_bytes(blockDim.x); }

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
