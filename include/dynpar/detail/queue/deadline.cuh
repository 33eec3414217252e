// Queue engine: when a run ends before all its grids are complete, and what its warps were at then.
#pragma once

#include "memory/state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// Every loop of the scheduler comes by one of these two or by run_stopped() again and again, with nothing but users' kernels in between.

/// One lane, now and then: tells the host how far this warp is, and looks at the clock.
__device__ inline void check_deadline() {
    if (!engine().attended) return;
    warp_state& warp = this_warp();
    if (warp.grids != 0) fetch_add_relaxed(engine().control->grids, warp.grids);
    warp.grids = 0;
    if (engine().deadline_nanoseconds == 0) return;
    const unsigned long long begun_at = load_relaxed(engine().control->begun_at);  // 0: the first worker block has not begun yet
    if (begun_at != 0 && device_nanoseconds() - begun_at > engine().deadline_nanoseconds) stop_run(deadline_passed);
}

/// One lane that has read whether the run is to stop: tells the others of its worker block.
__device__ inline void tell_of_stop(unsigned stop) {
    if (stop != not_stopped) store_relaxed_in_block(this_block().gang.over, static_cast<unsigned>(run_was_stopped));
}

/// One lane where there is much to do: whether the run is over, with a look at the clock and at device memory.
__device__ __noinline__ inline bool is_to_stop() {
    check_deadline();
    const unsigned stop = load_relaxed(engine().control->stop);
    tell_of_stop(stop);
    return stop != not_stopped;
}

/// One lane of a warp, where it hears of the end of a run that was stopped: what it was at.
__device__ __noinline__ inline void count_at_stop(unsigned stopped_workers::*what) { fetch_add_relaxed(engine().control->at_stop.*what, 1u); }

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
