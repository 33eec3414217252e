// Queue engine: a kernel's key, which is what a task carries of it. Owns no state.
//
// Entries have a convention of their own (entry_convention.cuh), but where nvcc 13.0 declares a function before it
// defines it, it leaves that out, and ptxas refuses the program. It declares so what a variable has the address of, or
// a function that comes earlier, in the order in which functions are first mentioned. Entries call kernels, which
// launch others and themselves; so no order would do, if tasks carried the addresses of entries. One function alone
// uses them, name_entries(). Its only caller mentions the entries before it does that one, and has an address that all
// may use: the key. Nobody else may mention an entry.
#pragma once

#include "../memory/memory_order.cuh"
#include "../task/entry_convention.cuh"
#include "../task/task.cuh"

#if defined(__CUDACC__)

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
