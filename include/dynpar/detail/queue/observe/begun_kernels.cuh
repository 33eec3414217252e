// Queue engine: tells the host which kernels have begun, and how deep: after a fault there is nothing else to read.
//
// Owns run_control::begun_kernels, begun_depths and begun_count, run_result::kernels and begun, and gang_state::noted,
// what this worker block remembers. Only kernels of wide blocks are noted.
#pragma once

#include "../memory/state.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// One thread of a block: tells the host that a kernel has begun at this depth, once in a run. Every warp comes here,
/// and all at once where a large grid begins; so kernels are told apart by the addresses of their names, and each name
/// is written once.
__device__ __noinline__ inline void note_begin_anew(text kernel, unsigned depth) {
    run_control& control = *engine().control;
    run_result& result = *engine().result;
    const unsigned long long address = reinterpret_cast<std::uintptr_t>(kernel.begin);
    unsigned number = static_cast<unsigned>(address >> 3) % run_result::most_kernels;
    unsigned long long found = 0, depths = 0;
#pragma unroll 1
    for (unsigned probe = 0; probe < run_result::most_kernels;
         ++probe, number = (number + 1) % run_result::most_kernels) {
        found = load_relaxed(control.begun_kernels[number]);
        depths = load_relaxed(control.begun_depths[number]);
        if (found == 0) found = compare_exchange_relaxed(control.begun_kernels[number], 0ull, address);
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
    if ((depths & bit) != 0 || (fetch_or_relaxed(control.begun_depths[number], bit) & bit) != 0) return;
    const unsigned order = fetch_add_relaxed(control.begun_count, 1u);
    if (order >= run_result::most_begun) return;
    // On its way before the kernel begins; a fence would wait for the host.
    store_relaxed(result.begun[order], number << 16 | depth << 1 | 1u);
}

/// One thread of a worker block, when a run begins: the host knows that its own kernel begins first.
__device__ inline void note_first_kernel(text kernel) {
    noted_kernels& noted = this_block().gang.noted;
    noted.names[0] = noted_kernels::key(kernel);
    noted.depths[0][0] = 1;
    noted.next = 1;
}

/// For a begin that this worker block does not remember. Other warps remember kernels at the same time, so some lanes
/// of a warp may know of the kernel already and not come here: one lane speaks for those that do.
__device__ __noinline__ inline void note_begin_on_worker_block(text kernel, unsigned depth) {
    noted_kernels& noted = this_block().gang.noted;
    const unsigned these = __activemask();
    if (lane_rank() == static_cast<unsigned>(__ffs(static_cast<int>(these))) - 1) {
        const unsigned key = noted_kernels::key(kernel);
        unsigned place = 0;
        while (place < noted_kernels::capacity && load_relaxed_in_block(noted.names[place]) != key) ++place;
        // Forgets another one. Two warps may take a place each.
        if (place == noted_kernels::capacity) {
            place = fetch_add_relaxed(noted.next, 1u) % noted_kernels::capacity;
            store_relaxed_in_block(noted.depths[place][0], 0u);
            store_relaxed_in_block(noted.depths[place][1], 0u);
            store_relaxed_in_block(noted.names[place], key);
        }
        const unsigned bit = 1u << depth % 32;
        if ((fetch_or_relaxed(noted.depths[place][depth / 32], bit) & bit) == 0) note_begin_anew(kernel, depth);
    }
    __syncwarp(these);
}

/// All threads of a warp that belong to the block. In the first warp that begins a kernel, no lane enters it, and
/// perhaps faults, before the host can know of it.
__device__ inline void note_begin(text kernel, unsigned depth) {
    noted_kernels& noted = this_block().gang.noted;
    depth = min(depth, 63u);  // deeper ones share the last bit
#pragma unroll
    for (unsigned place = 0; place < noted_kernels::capacity; ++place) {
        if (load_relaxed_in_block(noted.names[place]) == noted_kernels::key(kernel) &&
            (load_relaxed_in_block(noted.depths[place][depth / 32]) >> depth % 32 & 1) != 0) {
            return;
        }
    }
    note_begin_on_worker_block(kernel, depth);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
