// The stream in which an engine for the GPU runs what `run` is given.
#pragma once

#include <cuda_runtime_api.h>

#include "../cuda_error.hpp"
#include "cuda_owner.hpp"

namespace dynpar {
namespace detail {

struct stream_delete {
    void operator()(cudaStream_t stream) const noexcept { static_cast<void>(cudaStreamDestroy(stream)); }
};
using owned_stream = cuda_owner<cudaStream_t, stream_delete>;

/// A blocking stream: a run begins after what was given to CUDA's default stream before, as a kernel launched with
/// `<<<>>>` does. Programs rely on that without knowing it: `cudaMemcpy` from pageable memory comes back before the
/// last bytes are on the device.
inline owned_stream make_run_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "making the engine's stream");
    return owned_stream(stream);
}

/// Before a run: it begins after what the calling thread's default stream was given before. A blocking stream sees to
/// that where all threads have one; where each has its own (`nvcc --default-stream per-thread`) this does.
inline void follow_default_stream([[maybe_unused]] cudaStream_t run_stream) {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "ordering a run after the default stream");
    cudaError_t code = cudaEventRecord(event, cudaStreamPerThread);
    if (code == cudaSuccess) code = cudaStreamWaitEvent(run_stream, event, 0);
    static_cast<void>(cudaEventDestroy(event));  // it stays until the streams need it no more
    check(code, "ordering a run after the default stream");
#endif
}

}  // namespace detail
}  // namespace dynpar
