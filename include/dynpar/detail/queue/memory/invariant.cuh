// Queue engine: what must hold, where the code relies on it. The simulated GPU checks it, and ends at the first that
// does not hold; a GPU does not. No state.
#pragma once

#include "state.cuh"

#if DYNPAR_ON_DEVICE

/// One thread: that this holds here.
#if defined(DYNPAR_SIMULATED_GPU)
#define DYNPAR_QUEUE_INVARIANT(condition) \
    ::simulated_gpu::check_invariant((condition), #condition, {__FILE__, __LINE__})
#else
#define DYNPAR_QUEUE_INVARIANT(condition) static_cast<void>(0)
#endif

namespace dynpar {
namespace detail {
namespace queue {

// A piece of the arena is used, and given back once, only while somebody has it.
#if defined(DYNPAR_SIMULATED_GPU)
inline void note_taken(arena_index piece) {
    if (piece != 0) ::simulated_gpu::note_taken(at<unsigned char>(piece));
}
inline void note_given_back(arena_index piece) { ::simulated_gpu::note_given_back(at<unsigned char>(piece)); }
inline void note_used(arena_index piece) { ::simulated_gpu::note_used(at<unsigned char>(piece)); }
#else
__device__ inline void note_taken(arena_index) {}
__device__ inline void note_given_back(arena_index) {}
__device__ inline void note_used(arena_index) {}
#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
