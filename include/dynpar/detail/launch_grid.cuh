// Launches a grid from the host, and says what became of this launch alone.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace dynpar {
namespace detail {

/// As `grid<<<blocks, threads, bytes, stream>>>(arguments...)`. After that cudaGetLastError() may give an error of some earlier call.
template <class... Parameters>
cudaError_t launch_grid(void (*grid)(Parameters...), unsigned blocks, unsigned threads, std::size_t bytes, cudaStream_t stream,
                        Parameters... arguments) {
#if defined(DYNPAR_SIMULATED_GPU)
    return simulated_gpu::launch(grid, blocks, threads, bytes, stream, arguments...);
#else
    void* places[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    return cudaLaunchKernel(reinterpret_cast<const void*>(grid), dim3(blocks), dim3(threads), places, bytes, stream);
#endif
}

}  // namespace detail
}  // namespace dynpar
