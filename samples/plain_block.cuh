// Runs a block kernel that does not nest as a plain `__global__` kernel, at the full speed of the GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include <dynpar/kernel.hpp>

namespace samples {

/// A thread's view of its block in a plain grid of one dimension: of dynpar's block (see dynpar/block.hpp) what needs
/// no engine. A kernel that launches does not compile with it.
class plain_block {
public:
    __device__ unsigned thread_rank() const { return threadIdx.x; }
    __device__ unsigned num_threads() const { return blockDim.x; }
    __device__ unsigned block_rank() const { return blockIdx.x; }
    __device__ unsigned num_blocks() const { return gridDim.x; }
    __device__ void sync() { __syncthreads(); }

    /// Not checked: the launch must give as much as the kernel takes, each call rounded up to 16 bytes.
    template <class T>
    __device__ T* shared(std::size_t count) {
        extern __shared__ __align__(16) unsigned char samples_shared_memory[];
        T* const memory = reinterpret_cast<T*>(samples_shared_memory + used_);
        used_ += static_cast<unsigned>((count * sizeof(T) + 15) / 16 * 16);
        return memory;
    }

private:
    unsigned used_ = 0;
};

/// The `__global__` function to launch: `plain_entry<Kernel, Args...>`, with the kernel and its arguments.
template <class Kernel, class... Args>
__global__ void __launch_bounds__(dynpar::most_threads<Kernel>()) plain_entry(Kernel kernel, Args... args) {
    plain_block block;
    kernel(block, args...);
}

}  // namespace samples
