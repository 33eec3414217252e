// What owners of CUDA handles share: how a destructor takes the result of closing, and how a stream that is none looks.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "../platform.hpp"

namespace dynpar {
namespace detail {

/// Takes the result of a destroying call in a destructor, which cannot throw. An error of the handle itself (closed
/// twice, another device's) goes to stderr: it is a bug of the program. The runtime being gone at exit and a context
/// lost by a kernel fault are no news: the first is harmless, the second every other call reports.
inline void release(cudaError_t code, const char* what) noexcept {
    if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;
    static_cast<void>(cudaGetLastError());
    if (code == cudaErrorInvalidResourceHandle || code == cudaErrorInvalidValue) {
        std::fprintf(stderr, "dynpar: destroying a CUDA %s: %s; was it destroyed before, or its device reset?\n", what,
                     cudaGetErrorName(code));
    }
}

#if defined(__CUDACC__)
/// Stands for "no stream" in device code, where a null handle is the default stream: what could not be made must not
/// turn into another stream.
__device__ inline cudaStream_t no_stream() { return reinterpret_cast<cudaStream_t>(~0ull); }
#endif

#if DYNPAR_HAS_DEVICE_LAUNCH
/// The result of a call in device code that launches nothing. A failure is taken out of the thread's last error, which
/// is where its next launch finds whether it has failed.
__device__ __forceinline__ cudaError_t result_of(cudaError_t code) {
    if (__builtin_expect(code != cudaSuccess, 0)) static_cast<void>(cudaGetLastError());
    return code;
}
#endif

}  // namespace detail
}  // namespace dynpar
