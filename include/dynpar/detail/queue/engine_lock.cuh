// Queue engine: one run at a time, also when graphs replay some. Events order all other runs; but a graph may be
// replayed at any time, in any stream, beside another graph with a run of the same engine and beside run(). So from the
// first captured run on, every run takes a lock in device memory. Owns run_control::lock and lock_waiters.
#pragma once

#include <cstdio>

#include "memory/state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// A grid of one thread before the run: waits until no other run holds the engine. It occupies a multiprocessor while
/// it waits, and there may be no room for a worker block beside it. So fewer of them wait than there are
/// multiprocessors, and the run that holds the engine can continue. (A template, so that every translation unit may
/// define it.)
template <class Control>
__global__ void enter_engine(Control* control, unsigned multiprocessors) {
#if DYNPAR_ON_DEVICE
    if (compare_exchange_relaxed(control->lock, 0u, 1u) != 0) {
        if (fetch_add_relaxed(control->lock_waiters, 1u) + 1 >= multiprocessors) {
            printf(
                "dynpar: %u graphs at once want one queue engine: more than this GPU can keep waiting; order their "
                "replays\n",
                multiprocessors);
            __trap();
        }
        while (compare_exchange_relaxed(control->lock, 0u, 1u) != 0) __nanosleep(1000);
        fetch_sub_relaxed(control->lock_waiters, 1u);
    }
    fence();
#endif
}

#if DYNPAR_ON_DEVICE

/// One thread, when the run has nothing more to write.
__device__ inline void leave_engine(run_control& control) {
    fence();
    exchange_relaxed(control.lock, 0u);
}

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
