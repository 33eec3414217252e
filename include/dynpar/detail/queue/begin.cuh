// Queue engine: tells the host which kernels have begun and how deep: after a fault there is nothing else to read.
#pragma once

#include "state.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// One thread of a block: tells the host that a kernel has begun at this depth, the first time in a run. It happens on every warp, and
/// all at once where a large grid begins; so kernels are told apart by where their names lie, and the names written once.
__device__ __noinline__ inline void note_begin_anew(text kernel, unsigned depth) {
    run_control& control = *engine().control;
    run_result& result = *engine().result;
    const unsigned long long address = reinterpret_cast<std::uintptr_t>(kernel.begin);
    unsigned number = static_cast<unsigned>(address >> 3) % run_result::most_kernels;
    unsigned long long found = 0;
#pragma unroll 1
    for (unsigned probe = 0; probe < run_result::most_kernels; ++probe, number = (number + 1) % run_result::most_kernels) {
        found = look(control.begun_kernels[number]);
        if (found == 0) found = atomicCAS(&control.begun_kernels[number], 0ull, address);
        if (found == 0 || found == address) break;
    }
    if (found == 0) {
        begun_kernel& entry = result.kernels[number];
        entry.name_length = min(kernel.length, trace_name::capacity);
#pragma unroll 1
        for (unsigned i = 0; i < entry.name_length; ++i) entry.name[i] = kernel.begin[i];
    } else if (found != address) {
        return;  // too many kernels
    }
    const unsigned long long bit = 1ull << depth;
    if ((atomicOr(&control.begun_depths[number], bit) & bit) != 0) return;
    const unsigned order = atomicAdd(&control.begun_count, 1u);
    if (order >= run_result::most_begun) return;
    put(result.begun[order], number << 16 | depth << 1 | 1u);
    __threadfence_system();
}

/// The first time on this warp, as far as it remembers.
__device__ __noinline__ inline void note_begin_on_warp(text kernel, unsigned depth, unsigned threads_here) {
    warp_state& warp = this_warp();
    const unsigned these = threads_here >= warp_size ? all_lanes : (1u << threads_here) - 1;
    __syncwarp(these);
    if (lane_rank() == 0) {
        unsigned place = 0;
        while (place < warp_state::noted_capacity && warp.noted[place] != kernel.begin && warp.noted[place] != nullptr) ++place;
        if (place == warp_state::noted_capacity) place = warp.next_noted++ % warp_state::noted_capacity;
        if (warp.noted[place] != kernel.begin) {
            warp.noted[place] = kernel.begin;
            warp.noted_depths[place] = 0;
        }
        warp.noted_depths[place] |= 1ull << depth;
        note_begin_anew(kernel, depth);
    }
    __syncwarp(these);
}

/// All threads of a warp that belong to the block: none goes on, perhaps to break, before the host can know of it.
__device__ inline void note_begin(text kernel, unsigned depth, unsigned threads_here) {
    const warp_state& warp = this_warp();
    depth = min(depth, 63u);  // deeper ones share the last bit
#pragma unroll
    for (unsigned place = 0; place < warp_state::noted_capacity; ++place) {
        if (warp.noted[place] == kernel.begin && (warp.noted_depths[place] >> depth & 1) != 0) return;
    }
    note_begin_on_warp(kernel, depth, threads_here);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
