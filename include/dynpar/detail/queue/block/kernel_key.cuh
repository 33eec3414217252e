// Queue engine: a kernel's key, which is what a task carries of it, and the convention by which entries are called.
// Owns no state.
//
// By CUDA's convention a function keeps some twenty registers for its caller. So an entry, which is called through a
// pointer, would first write all of these that its kernel may need to the stack, in every thread of every block: 24 to
// 36 of them, also where the block returns at once. Here the caller keeps what it needs, which is little, and an entry
// writes three to twelve.
//
// ptxas must know that of each entry and each call, and nvcc has a pragma to say it. But where nvcc 13.0 declares a
// function before it defines it, it leaves that out, and ptxas refuses the program. It declares so what a variable has
// the address of, or a function that comes earlier, in the order in which functions are first mentioned. Entries call
// kernels, which launch others and themselves; so no order would do, if tasks carried the addresses of entries. One
// function alone uses them, name_entries(). Its only caller mentions the entries before it does that one, and has an
// address that all may use: the key. Nobody else may mention an entry.
#pragma once

#include "../memory/memory_order.cuh"
#include "../task/task.cuh"

#if defined(__CUDACC__)

/// DYNPAR_QUEUE_OWN_CONVENTION is 1 where entries have a convention of their own: with the nvcc of which the above is
/// known, 13.0; where it compiles and optimizes whole programs; from compute capability 8.0 on.
#if !defined(DYNPAR_QUEUE_OWN_CONVENTION)
#if defined(__NVCC__) && !defined(DYNPAR_SIMULATED_GPU) && !defined(__CUDACC_RDC__) && !defined(__CUDACC_DEBUG__) && \
    defined(__CUDA_ARCH__)
#define DYNPAR_QUEUE_OWN_CONVENTION (__CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ == 0 && __CUDA_ARCH__ >= 800)
#else
#define DYNPAR_QUEUE_OWN_CONVENTION 0
#endif
#endif

// Stand before each declaration, definition and call of an entry, and say how many registers it keeps for its caller.
#if DYNPAR_QUEUE_OWN_CONVENTION
#define DYNPAR_QUEUE_LANE_ENTRY _Pragma("nv_abi preserve_n_data(4)")
#define DYNPAR_QUEUE_WIDE_ENTRY _Pragma("nv_abi preserve_n_data(8)")
#else
#define DYNPAR_QUEUE_LANE_ENTRY
#define DYNPAR_QUEUE_WIDE_ENTRY
#endif

namespace dynpar {
namespace detail {
namespace queue {

// Where a kernel with arguments of these types is entered, by the width of its blocks: entry_points.cuh.
inline namespace hot {
DYNPAR_QUEUE_LANE_ENTRY
template <class Kernel, class... Args>
__device__ block_outcome lane_entry_of(arena_index grid, std::uint32_t task_info, lane_arguments arguments);
DYNPAR_QUEUE_LANE_ENTRY
template <class Kernel, class... Args>
__device__ block_outcome wide_lane_entry_of(wide_task task, std::uint32_t rank);
DYNPAR_QUEUE_WIDE_ENTRY
template <class Kernel, class... Args>
__device__ std::uint32_t wide_entry_of(std::uint32_t rank, bool on_warp);
}  // namespace hot

/// An address that the compiler does not put where it is asked for.
template <class Entry>
__device__ inline Entry hidden(Entry entry) {
#if DYNPAR_ON_DEVICE
    return reinterpret_cast<Entry>(const_cast<void*>(opaque(reinterpret_cast<const void*>(entry))));
#else
    return entry;
#endif
}
template <class Kernel, class... Args>
__device__ __noinline__ void name_entries(kernel_entries& there) {
    there = {hidden(&lane_entry_of<Kernel, Args...>), hidden(&wide_lane_entry_of<Kernel, Args...>),
             hidden(&wide_entry_of<Kernel, Args...>)};
}
/// Its address is the kernel's key.
template <class Kernel, class... Args>
__device__ __noinline__ void tell_entries(kernel_entries* there) {
    static_cast<void>(&lane_entry_of<Kernel, Args...>);
    static_cast<void>(&wide_lane_entry_of<Kernel, Args...>);
    static_cast<void>(&wide_entry_of<Kernel, Args...>);
    name_entries<Kernel, Args...>(*there);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
