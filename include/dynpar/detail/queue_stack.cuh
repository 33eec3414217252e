// Queue engine: the stacks that a warp works from, and the list of block tasks that the warps of a worker block share.
#pragma once

#include "queue_arena.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

// A warp pushes and pops at the top, so that it goes depth first and memory is bounded by depth; it gives away from the bottom,
// where the tasks are that have the most below them. Nobody else touches a warp's stacks, so they need no fences, only
// __syncwarp.

template <class Task>
struct own_stack;

template <>
struct own_stack<lane_task> {
    static constexpr std::uint32_t capacity = lane_stack_capacity;
    static __device__ lane_task* slots() { return engine().lane_stacks + static_cast<std::size_t>(worker_rank()) * capacity; }
    static __device__ std::uint32_t& bottom() { return this_warp().lane_bottom; }
    static __device__ std::uint32_t& top() { return this_warp().lane_top; }
    static __device__ std::uint32_t& base() { return this_warp().lane_base; }
    static __device__ arena_index& spilled() { return this_warp().spilled_lanes; }
};

template <>
struct own_stack<wide_task> {
    static constexpr std::uint32_t capacity = wide_stack_capacity;
    static __device__ wide_task* slots() { return engine().wide_stacks + static_cast<std::size_t>(worker_rank()) * capacity; }
    static __device__ std::uint32_t& bottom() { return this_warp().wide_bottom; }
    static __device__ std::uint32_t& top() { return this_warp().wide_top; }
    static __device__ std::uint32_t& base() { return this_warp().wide_base; }
    static __device__ arena_index& spilled() { return this_warp().spilled_wides; }
};

template <class Task>
__device__ inline Task& slot(std::uint32_t place) {
    return own_stack<Task>::slots()[place % own_stack<Task>::capacity];
}

/// 16 bytes at a time: what the memory system likes best.
template <class Task>
__device__ inline void copy_task(Task& to, const Task& from) {
    const uint4* source = reinterpret_cast<const uint4*>(&from);
    uint4* target = reinterpret_cast<uint4*>(&to);
#pragma unroll
    for (unsigned i = 0; i < sizeof(Task) / sizeof(uint4); ++i) target[i] = source[i];
}
/// The same past the first-level cache, for memory that another multiprocessor has written.
template <class Task>
__device__ inline void copy_fresh_task(Task& to, const Task& from) {
    const uint4* source = reinterpret_cast<const uint4*>(&from);
    uint4* target = reinterpret_cast<uint4*>(&to);
#pragma unroll
    for (unsigned i = 0; i < sizeof(Task) / sizeof(uint4); ++i) target[i] = __ldcg(source + i);
}

/// Runs `critical` while no other thread holds the lock. Lanes of one warp may contend: the holder leaves before they try again.
template <class Critical>
__device__ inline void with_lock(unsigned& lock, Critical critical) {
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0u, 1u) == 0) {
            __threadfence();
            critical();
            __threadfence();
            atomicExch(&lock, 0u);
            done = true;
        }
    }
}
/// The same for a lock among the threads of a worker block: fences of a multiprocessor cost next to nothing.
template <class Critical>
__device__ inline void with_block_lock(unsigned& lock, Critical critical) {
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0u, 1u) == 0) {
            __threadfence_block();
            critical();
            __threadfence_block();
            atomicExch(&lock, 0u);
            done = true;
        }
    }
}

/// False if the stack is full.
template <class Task>
__device__ inline bool push(const Task& task) {
    const std::uint32_t place = atomicAdd(&own_stack<Task>::top(), 1u);
    if (place - own_stack<Task>::bottom() < own_stack<Task>::capacity) {
        copy_task(slot<Task>(place), task);
        return true;
    }
    atomicSub(&own_stack<Task>::top(), 1u);
    return false;
}

// ---- Spilling: chunks of tasks in the arena, chained

struct alignas(64) chunk_header {
    arena_index next;
    std::uint32_t count;
};
inline constexpr unsigned chunk_class = 8;  // 16 KiB
template <class Task>
inline constexpr std::uint32_t chunk_tasks = ((unit_bytes << chunk_class) - sizeof(chunk_header)) / sizeof(Task);
template <class Task>
__device__ inline Task* tasks_of(chunk_header* chunk) {
    return reinterpret_cast<Task*>(chunk + 1);
}

/// For a task that the stack has no place for: called by single lanes in the midst of a round. False if there is no memory.
/// By value: a task whose address is taken would lie in memory also where all goes well.
template <class Task>
__device__ __noinline__ bool push_spilled(Task task) {
    bool there_was_room = true;
    with_block_lock(this_warp().lock, [&] {
        arena_index& head = own_stack<Task>::spilled();
        if (head == 0 || at<chunk_header>(head)->count == chunk_tasks<Task>) {
            const arena_index fresh = allocate(chunk_class);
            if (fresh == 0) {
                there_was_room = false;
                return;
            }
            *at<chunk_header>(fresh) = chunk_header{head, 0};
            head = fresh;
        }
        chunk_header* chunk = at<chunk_header>(head);
        copy_task(tasks_of<Task>(chunk)[chunk->count++], task);
    });
    return there_was_room;
}

/// All lanes together: moves the oldest tasks out of a stack that is nearly full. Where there is no memory it stays so, and the
/// next launches fail.
template <class Task>
__device__ __noinline__ void spill() {
    using stack = own_stack<Task>;
    const unsigned lane = lane_rank();
    arena_index fresh = 0;
    const std::uint32_t count = min(chunk_tasks<Task>, stack::capacity / 2);
    if (lane == 0) fresh = allocate(chunk_class);
    fresh = __shfl_sync(all_lanes, fresh, 0);
    if (fresh == 0) return;
    chunk_header* chunk = at<chunk_header>(fresh);
    for (std::uint32_t i = lane; i < count; i += warp_size) {
        copy_task(tasks_of<Task>(chunk)[i], slot<Task>(stack::bottom() + i));
    }
    __syncwarp();
    if (lane == 0) {
        *chunk = chunk_header{stack::spilled(), count};
        stack::spilled() = fresh;
        stack::bottom() += count;
        if (static_cast<std::int32_t>(stack::base() - stack::bottom()) < 0) stack::base() = stack::bottom();
    }
    __syncwarp();
}

/// All lanes together: brings the chunk that was spilled last back. False if there is none.
template <class Task>
__device__ __noinline__ bool unspill() {
    using stack = own_stack<Task>;
    const arena_index head = stack::spilled();
    if (head == 0) return false;
    const unsigned lane = lane_rank();
    chunk_header* chunk = at<chunk_header>(head);
    const std::uint32_t count = chunk->count;
    const std::uint32_t top = stack::top();
    if (count > stack::capacity - (top - stack::bottom())) return false;
    for (std::uint32_t i = lane; i < count; i += warp_size) copy_task(slot<Task>(top + i), tasks_of<Task>(chunk)[i]);
    __syncwarp();
    if (lane == 0) {
        stack::spilled() = chunk->next;
        stack::top() = top + count;
        release(head, chunk_class);
    }
    __syncwarp();
    return true;
}

// ---- Block tasks: too wide for a warp, so all warps of the worker block take them from one list

inline constexpr unsigned block_node_class = 1;
static_assert(sizeof(block_node) <= unit_bytes << block_node_class);

__device__ inline void push_block_node(arena_index node) {
    gang_state& gang = this_block().gang;
    with_block_lock(gang.lock, [&] {
        at<block_node>(node)->next = gang.tasks;
        put(gang.tasks, node);
    });
}

/// Puts a task where a worker of its width looks for it, on this worker block. False if there is no memory.
__device__ __noinline__ inline bool push_wide(const wide_task& task) {
    if ((task.info & info::width_mask) != info::on_block) return push(task) || push_spilled(task);
    const arena_index node = allocate(block_node_class);
    if (node == 0) return false;
    copy_task(at<block_node>(node)->task, task);
    push_block_node(node);
    return true;
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
