// Device memory for buffers of the engines that run on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "../buffer.hpp"
#include "../cuda_error.hpp"

namespace dynpar {
namespace detail {

/// Set when a run was given up because the GPU made no progress: from then on a call that waits for the GPU never
/// returns, and freeing memory is such a call. What is left then is to end the process.
inline bool& stuck_device() {
    static bool stuck = false;
    return stuck;
}
// Any thread may ask; the compilers' own atomics, since <atomic> is long.
inline bool device_is_stuck() { return __atomic_load_n(&stuck_device(), __ATOMIC_SEQ_CST); }
inline void note_stuck_device() { __atomic_store_n(&stuck_device(), true, __ATOMIC_SEQ_CST); }

/// The current device's memory. Allocations throw `cuda_error`.
inline const memory_space& cuda_memory() {
    static const memory_space space{
        [](std::size_t bytes) {
            void* memory = nullptr;
            check(cudaMalloc(&memory, bytes), "allocating a buffer");
            return memory;
        },
        [](void* memory) noexcept {
            if (!device_is_stuck()) static_cast<void>(cudaFree(memory));
        },
        [](void* there, const void* host, std::size_t bytes) {
            check(cudaMemcpy(there, host, bytes, cudaMemcpyHostToDevice), "copying into a buffer");
            // cudaMemcpy comes back once it has read the host's memory, and streams that do not block, in which a run
            // may be enqueued, do not wait for the default stream.
            check(cudaStreamSynchronize(cudaStreamLegacy), "copying into a buffer");
        },
        [](void* host, const void* there, std::size_t bytes) {
            check(cudaMemcpy(host, there, bytes, cudaMemcpyDeviceToHost), "copying out of a buffer");
        },
    };
    return space;
}

}  // namespace detail
}  // namespace dynpar
