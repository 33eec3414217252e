// Queue engine: how a run ends before all its grids are complete, and the count of what its warps were doing then.
//
// Owns run_control::at_stop but for the donations, and adds warp_state::grids to run_control::grids during a run. May
// stop the run when its deadline has passed.
#pragma once

#include "memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

// Every loop of the scheduler comes back to one of these two functions or to run_stopped(), with nothing but users'
// kernels in between.

/// One lane, now and then: reports how many grids this warp has run, for the host, and checks the clock.
__device__ inline void check_deadline() {
    if (!engine().attended) return;
    warp_state& warp = this_warp();
    if (warp.grids != 0) fetch_add_relaxed(engine().control->grids, warp.grids);
    warp.grids = 0;
    if (engine().deadline_nanoseconds == 0) return;
    // 0: the first worker block has not begun yet.
    const unsigned long long begun_at = load_relaxed(engine().control->begun_at);
    if (begun_at != 0 && device_nanoseconds() - begun_at > engine().deadline_nanoseconds) stop_run(deadline_passed);
}

/// One lane that has read whether the run is to stop: tells the other warps of its worker block.
__device__ inline void tell_of_stop(unsigned stop) {
    if (stop != not_stopped) store_relaxed_in_block(this_block().gang.over, static_cast<unsigned>(run_was_stopped));
}

/// One lane of a busy warp: whether the run is to stop. Reads the clock and device memory.
__device__ __noinline__ inline bool is_to_stop() {
    check_deadline();
    const unsigned stop = load_relaxed(engine().control->stop);
    tell_of_stop(stop);
    return stop != not_stopped;
}

/// One lane of a warp that learns that the run was stopped: counts what the warp was doing.
__device__ __noinline__ inline void count_at_stop(unsigned stopped_workers::*what) {
    fetch_add_relaxed(engine().control->at_stop.*what, 1u);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
