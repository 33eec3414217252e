// Device memory for buffers of the engines that run on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "../buffer.hpp"
#include "../cuda_error.hpp"

namespace dynpar {
namespace detail {

/// The current device's memory. Allocations throw `cuda_error`.
inline const memory_space& cuda_memory() {
    static const memory_space space{
        [](std::size_t bytes) {
            void* memory = nullptr;
            check(cudaMalloc(&memory, bytes), "allocating a buffer");
            return memory;
        },
        [](void* memory) noexcept { static_cast<void>(cudaFree(memory)); },
        [](void* there, const void* host, std::size_t bytes) {
            check(cudaMemcpy(there, host, bytes, cudaMemcpyHostToDevice), "copying into a buffer");
        },
        [](void* host, const void* there, std::size_t bytes) {
            check(cudaMemcpy(host, there, bytes, cudaMemcpyDeviceToHost), "copying out of a buffer");
        },
    };
    return space;
}

}  // namespace detail
}  // namespace dynpar
