// Queue engine: continuations of one thread that are ready to run, as the nodes that hold them. A warp runs them
// together once there is one for each lane, or when it has less than a round of other lane tasks. So a node is all that
// a join has to write, and the lanes of a round mostly run one kernel, not two of which each waits for the other:
// fib(40), which has a continuation for every two calls, executes a third fewer instructions.
//
// No other warp is given any of these. So none stays for long: now and then a round takes them while the warp has
// enough of other tasks, and before anything runs on top of a wait they go to the deque, since what waits there may be
// waiting for them.
//
// Owns warp_state::ready and the places.
#pragma once

#include "../memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline arena_index& ready_place(std::uint32_t place) {
    return engine().ready_continuations[static_cast<std::size_t>(worker_rank()) * most_ready + place];
}

/// Of a node whose counter is zero: its continuation, which is of one thread and held by the node itself, is ready.
/// False if it has to go to the deque.
__device__ inline bool put_ready(arena_index grid) {
    warp_state& warp = this_warp();
    const std::uint32_t place = fetch_add_relaxed(warp.ready, 1u);
    if (place < most_ready) {
        ready_place(place) = grid;
        return true;
    }
    fetch_sub_relaxed(warp.ready, 1u);
    return false;
}
/// One lane, while no other puts any: the last ones, which the warp has begun.
__device__ inline void drop_ready(std::uint32_t count) { this_warp().ready -= count; }

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
