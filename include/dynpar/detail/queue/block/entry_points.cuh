// Queue engine: where tasks enter kernels.
//
// One entry for each kernel and kind of task; a task carries the key by which they are found. An entry unpacks the
// arguments, makes the block object and calls the kernel; it changes nothing of the scheduler's. Owns no state.
#pragma once

#include "../observe/begun_kernels.cuh"
#include "lane_block.cuh"
#include "wide_block.cuh"

namespace dynpar {
namespace detail {
namespace queue {

static_assert(is_block<lane_block>() && is_block<wide_block>(), "the queue engine's blocks have the whole interface");

#if defined(__CUDACC__)

#if DYNPAR_ON_DEVICE
__device__ inline status handle_maker::fail(operation what, status why) const {
    return lane_ != nullptr ? lane_->fail(what, why) : wide_->fail(what, why);
}
#endif

/// A payload rebuilt from its bytes, wherever they come from.
template <class Payload, class Words>
struct payload_bytes_of {
    alignas(Payload) unsigned char bytes[sizeof(Payload)];
    __device__ explicit payload_bytes_of(const Words& words) {
        memcpy(bytes, &words, sizeof(Payload) < sizeof(Words) ? sizeof(Payload) : sizeof(Words));
    }
    __device__ const Payload& get() const { return *reinterpret_cast<const Payload*>(bytes); }
};

/// The arguments of a task that has no room for them.
template <class Kernel, class... Args>
__device__ const void* arguments_of(const wide_task& task) {
#if DYNPAR_ON_DEVICE
    if (payload_bytes<Kernel, Args...> <= most_carried_bytes && (task.info & info::carried) != 0)
        return at<unsigned char>(task.arguments.word[0]);
    return at<grid_descriptor>(task.descriptor)->arguments();
#else
    return &task.arguments;
#endif
}
template <class Kernel, class... Args, class Block>
__device__ void enter(Block& block, const wide_task& task) {
    using payload_type = payload_of<Kernel, Args...>;
    if constexpr (sizeof(payload_type) <= sizeof(wide_arguments)) {
        // Not by memcpy, which nvcc performs byte by byte here, for want of an alignment.
        static_assert(alignof(payload_type) <= alignof(wide_arguments));
        const payload_type payload = *reinterpret_cast<const payload_type*>(&task.arguments);
        call(payload.kernel(), block, payload.arguments);
    } else {
        const payload_type payload = *static_cast<const payload_type*>(arguments_of<Kernel, Args...>(task));
        call(payload.kernel(), block, payload.arguments);
    }
}

inline namespace hot {

/// Of a lane task.
DYNPAR_QUEUE_LANE_ENTRY
template <class Kernel, class... Args>
__device__ block_outcome lane_entry_of(arena_index grid, std::uint32_t task_info, lane_arguments arguments) {
    using payload_type = payload_of<Kernel, Args...>;
    if constexpr (sizeof(payload_type) <= sizeof(lane_arguments)) {
        const payload_bytes_of<payload_type, lane_arguments> payload(arguments);
        lane_block block(grid, task_info, 0, 0, kernel_name<Kernel>());
        call(payload.get().kernel(), block, payload.get().arguments);
        return block.outcome();
    }
    return {0, 0};
}

/// Of a wide task that a lane runs.
DYNPAR_QUEUE_LANE_ENTRY
template <class Kernel, class... Args>
__device__ block_outcome wide_lane_entry_of(wide_task task, std::uint32_t rank) {
    lane_block block(task.grid, task.info & ~info::width_mask, task.descriptor, rank, kernel_name<Kernel>());
    enter<Kernel, Args...>(block, task);
    return block.outcome();
}

/// Of a wide task that a warp or a team runs.
DYNPAR_QUEUE_WIDE_ENTRY
template <class Kernel, class... Args>
__device__ std::uint32_t wide_entry_of(std::uint32_t rank, bool on_warp) {
#if DYNPAR_ON_DEVICE
    const wide_task& task = on_warp ? this_warp().current : this_team().current;
    wide_block block(task, rank, on_warp ? lane_rank() : threadIdx.x - this_team().first_thread, kernel_name<Kernel>());
    note_begin(kernel_name<Kernel>(), block.depth());
#else  // the host's side has no scheduler: here it meets the kernel, and never runs
    const wide_task task{};
    wide_block block(task, rank, on_warp, kernel_name<Kernel>());
#endif
    enter<Kernel, Args...>(block, task);
    return block.outcome().launched;
}

}  // namespace hot

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
