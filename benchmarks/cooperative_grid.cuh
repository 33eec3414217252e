// What grids by hand that stay on the GPU have in common: how they are launched, a barrier of all their threads, a
// clock, shared memory. Also for the simulated GPU (tests/simulated_gpu).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include <dynpar/cuda_error.hpp>

#if !defined(DYNPAR_SIMULATED_GPU)
#include <cooperative_groups.h>
#endif

namespace cooperative {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

/// As others have left it, past the first cache.
template <class T>
__device__ T read(const T& place) {
    return *static_cast<const volatile T*>(&place);
}
template <class T>
__device__ void write(T& place, T value) {
    *static_cast<volatile T*>(&place) = value;
}

/// Of a grid; zero at the beginning. CUDA's barrier needs none.
struct barrier_state {
    unsigned arrived;
};

#if defined(DYNPAR_SIMULATED_GPU)
__device__ inline unsigned long long now() { return simulated_gpu::nanoseconds(); }
__device__ inline unsigned char* dynamic_shared_memory() { return simulated_gpu::dynamic_shared_memory(); }
__device__ inline void grid_barrier(barrier_state& barrier) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned turn = atomicAdd(&barrier.arrived, 1u) / gridDim.x;
        while (atomicAdd(&barrier.arrived, 0u) / gridDim.x == turn) __nanosleep(100);
    }
    __syncthreads();
}
#else
__device__ inline unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
__device__ inline unsigned char* dynamic_shared_memory() {
    extern __shared__ __align__(16) unsigned char bytes_of_block[];
    return bytes_of_block;
}
__device__ inline void grid_barrier(barrier_state&) { cooperative_groups::this_grid().sync(); }
#endif

/// Puts a grid into the stream all of whose blocks are on the GPU at the same time.
template <class... Parameters>
void launch_together(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, std::size_t shared_bytes,
                     cudaStream_t stream, std::common_type_t<Parameters>... arguments) {
#if defined(DYNPAR_SIMULATED_GPU)
    dynpar::check(simulated_gpu::launch(kernel, blocks, threads, shared_bytes, stream, arguments...),
                  "launching a grid by hand");
#else
    void* pointers[] = {&arguments...};
    dynpar::check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads),
                                              pointers, shared_bytes, stream),
                  "launching a grid by hand");
#endif
}

#if !defined(DYNPAR_SIMULATED_GPU)
/// How many blocks of a kernel the GPU holds at the same time.
template <class... Parameters>
unsigned most_blocks(void (*kernel)(Parameters...), unsigned threads, std::size_t shared_bytes) {
    int processors = 0;
    int of_one = 0;
    dynpar::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "asking for the GPU");
    dynpar::check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel, static_cast<int>(threads), shared_bytes),
        "asking how many blocks fit");
    return static_cast<unsigned>(processors * of_one);
}
#endif

}  // namespace cooperative
