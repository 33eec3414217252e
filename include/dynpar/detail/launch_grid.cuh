// Launches a grid from the host, and says what became of this launch alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace dynpar {
namespace detail {

/// As `grid<<<blocks, threads, bytes, stream>>>(arguments...)`. After that cudaGetLastError() may give an error of some
/// earlier call.
template <class... Parameters>
cudaError_t launch_grid(void (*grid)(Parameters...), unsigned blocks, unsigned threads, std::size_t bytes,
                        cudaStream_t stream, Parameters... arguments) {
#if defined(DYNPAR_SIMULATED_GPU)
    return simulated_gpu::launch(grid, blocks, threads, bytes, stream, arguments...);
#else
    void* places[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    return cudaLaunchKernel(reinterpret_cast<const void*>(grid), dim3(blocks), dim3(threads), places, bytes, stream);
#endif
}

/// Where the host and a grid write to each other while the grid runs: a simulated GPU stands still while the host does
/// not call CUDA.
inline void let_device_run() {
#if defined(DYNPAR_SIMULATED_GPU)
    simulated_gpu::let_device_run();
#endif
}
#if defined(__CUDACC__)
__device__ inline void let_host_run() {
#if defined(DYNPAR_SIMULATED_GPU)
    simulated_gpu::may_switch();
#endif
}
#endif

}  // namespace detail
}  // namespace dynpar
