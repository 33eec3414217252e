// Queue engine: the stacks that a warp works from, and the list of block tasks that the warps of a worker block share.
#pragma once

#include "arena.cuh"

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

/// 16 bytes at a time, all that is copied here is so aligned: what the memory system likes best.
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
    for (unsigned i = 0; i < sizeof(Task) / sizeof(uint4); ++i) target[i] = load_fresh(source + i);
}

/// Runs `critical` while no other thread holds the lock. Lanes of one warp may contend: the holder leaves before they try again.
template <class Critical>
__device__ inline void with_lock(unsigned& lock, Critical critical) {
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0u, 1u) == 0) {
            fence();
            critical();
            fence();
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
/// The same for a whole warp: one lane takes the lock for all.
template <class Critical>
__device__ inline void with_block_lock_as_warp(unsigned& lock, Critical critical) {
    if (lane_rank() == 0) {
        while (atomicCAS(&lock, 0u, 1u) != 0) {
        }
        __threadfence_block();
    }
    __syncwarp();
    critical();
    __syncwarp();
    if (lane_rank() == 0) {
        __threadfence_block();
        atomicExch(&lock, 0u);
    }
    __syncwarp();
}

/// A place on the top of the stack, to be filled at once; null if it is full.
template <class Task>
__device__ inline Task* reserve() {
    const std::uint32_t place = atomicAdd(&own_stack<Task>::top(), 1u);
    if (place - own_stack<Task>::bottom() < own_stack<Task>::capacity) return &slot<Task>(place);
    atomicSub(&own_stack<Task>::top(), 1u);
    return nullptr;
}

/// False if the stack is full.
template <class Task>
__device__ inline bool push(const Task& task) {
    Task* const place = reserve<Task>();
    if (place != nullptr) copy_task(*place, task);
    return place != nullptr;
}

// ---- Spilling: chunks of tasks in the arena, chained

struct alignas(64) chunk_header {
    arena_index next;
    std::uint32_t count;
};
// Of a chunk, which must fit on an empty stack: 16 KiB, less only in tests with small stacks.
#if !defined(DYNPAR_QUEUE_CHUNK_CLASS)
#define DYNPAR_QUEUE_CHUNK_CLASS 8
#endif
inline constexpr unsigned chunk_class = DYNPAR_QUEUE_CHUNK_CLASS;
template <class Task>
inline constexpr std::uint32_t chunk_tasks = ((unit_bytes << chunk_class) - sizeof(chunk_header)) / sizeof(Task);
template <class Task>
__device__ inline Task* tasks_of(chunk_header* chunk) {
    return reinterpret_cast<Task*>(chunk + 1);
}

/// Under a lock: puts a task into the chunk at the head of a chain. False if there is no memory.
template <class Task>
__device__ inline bool push_to_chunk(arena_index& head, const Task& task) {
    if (head == 0 || at<chunk_header>(head)->count == chunk_tasks<Task>) {
        const arena_index fresh = allocate(chunk_class);
        if (fresh == 0) return false;
        *at<chunk_header>(fresh) = chunk_header{head, 0};
        head = fresh;
    }
    chunk_header* chunk = at<chunk_header>(head);
    copy_task(tasks_of<Task>(chunk)[chunk->count++], task);
    return true;
}

/// For a task that the stack has no place for: called by single lanes in the midst of a round. False if there is no memory.
/// By value: a task whose address is taken would lie in memory also where all goes well.
template <class Task>
__device__ __noinline__ bool push_spilled(Task task) {
    bool there_was_room = true;
    with_block_lock(this_warp().lock, [&] { there_was_room = push_to_chunk(own_stack<Task>::spilled(), task); });
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

template <class Task>
__device__ inline bool is_deeper(const Task& task, int depth) {
    return static_cast<int>(task.info & info::depth_mask) > depth;
}

/// All lanes together, in a nested step that has nothing deeper than that on the stack: brings tasks back that are, of the first chunk that
/// has any, wherever that is in the chain. Whoever waits may wait for just these, and what lies above them may not run. Where the stack is
/// full, one of them changes places with its top. False if there are none.
template <class Task>
__device__ __noinline__ bool unspill_deeper(int deeper_than) {
    using stack = own_stack<Task>;
    const unsigned lane = lane_rank();
    const unsigned lanes_before = (1u << lane) - 1;
    arena_index before = 0;
    for (arena_index place = stack::spilled(); place != 0;) {
        chunk_header* const chunk = at<chunk_header>(place);
        const std::uint32_t count = chunk->count;
        const arena_index next = chunk->next;
        const std::uint32_t top = stack::top();
        const std::uint32_t room = stack::capacity - (top - stack::bottom());
        std::uint32_t moved = 0, kept = 0;
        for (std::uint32_t first = 0; first < count; first += warp_size) {
            const bool there = first + lane < count;
            Task task;
            if (there) copy_task(task, tasks_of<Task>(chunk)[first + lane]);
            const unsigned deeper = __ballot_sync(all_lanes, there && is_deeper(task, deeper_than));
            if (deeper != 0 && room == 0) {
                if (lane == static_cast<unsigned>(__ffs(static_cast<int>(deeper))) - 1) {
                    copy_task(tasks_of<Task>(chunk)[first + lane], slot<Task>(top - 1));
                    copy_task(slot<Task>(top - 1), task);
                }
                __syncwarp();
                return true;
            }
            const std::uint32_t number = moved + static_cast<unsigned>(__popc(deeper & lanes_before));
            const bool moves = (deeper >> lane & 1) != 0 && number < room;
            const unsigned staying = __ballot_sync(all_lanes, there && !moves);  // all have read before any writes
            if (moves) copy_task(slot<Task>(top + number), task);
            if (there && !moves) copy_task(tasks_of<Task>(chunk)[kept + static_cast<unsigned>(__popc(staying & lanes_before))], task);
            kept += static_cast<unsigned>(__popc(staying));
            moved = first + warp_size < count ? first + warp_size - kept : count - kept;
            __syncwarp();
        }
        if (moved != 0) {
            if (lane == 0) {
                stack::top() = top + moved;
                chunk->count = kept;
                if (kept == 0) {
                    (before == 0 ? stack::spilled() : at<chunk_header>(before)->next) = next;
                    release(place, chunk_class);
                }
            }
            __syncwarp();
            return true;
        }
        before = place;
        place = next;
    }
    return false;
}

// ---- Block tasks: too wide for a warp, so all warps of the worker block take them from one stack, under its lock

__device__ inline wide_task& block_task_slot(std::uint32_t place) {
    return engine().block_stacks[static_cast<std::size_t>(blockIdx.x) * block_stack_capacity + place % block_stack_capacity];
}

/// Without the lock: whether there is something to look for under it.
__device__ inline std::uint32_t block_tasks_on_stack() {
    gang_state& gang = this_block().gang;
    return look_in_block(gang.top) - look_in_block(gang.bottom);
}
__device__ inline bool has_block_tasks() { return block_tasks_on_stack() != 0 || look_in_block(this_block().gang.spilled) != 0; }

/// Under the lock. False if the stack is full.
__device__ inline bool push_block_task_on_stack(const wide_task& task) {
    gang_state& gang = this_block().gang;
    const std::uint32_t top = look_in_block(gang.top);
    if (top - look_in_block(gang.bottom) >= block_stack_capacity) return false;
    copy_task(block_task_slot(top), task);
    put_in_block(gang.top, top + 1);
    return true;
}

/// By a block that all warps of the worker block run: a place for a task that nobody looks at before that block returns or waits. Null if
/// the stack is full.
__device__ inline wide_task* reserve_block_task() {
    gang_state& gang = this_block().gang;
    wide_task* place = nullptr;
    with_block_lock(gang.lock, [&] {
        const std::uint32_t top = look_in_block(gang.top);
        if (top - look_in_block(gang.bottom) < block_stack_capacity) {
            place = &block_task_slot(top);
            put_in_block(gang.top, top + 1);
        }
    });
    return place;
}

/// Under the lock. False if there is no memory.
__device__ inline bool push_block_task(const wide_task& task) {
    gang_state& gang = this_block().gang;
    if (push_block_task_on_stack(task)) return true;
    arena_index head = look_in_block(gang.spilled);
    const bool pushed = push_to_chunk(head, task);
    put_in_block(gang.spilled, head);
    return pushed;
}

/// Under the lock: takes one block of the youngest task that is deeper than that. False if there is none.
__device__ inline bool take_block_task(int deeper_than, wide_task& task) {
    gang_state& gang = this_block().gang;
    const std::uint32_t bottom = look_in_block(gang.bottom);
    const std::uint32_t top = look_in_block(gang.top);
    for (std::uint32_t place = top; place != bottom;) {
        wide_task& found = block_task_slot(--place);
        if (!is_deeper(found, deeper_than)) continue;
        copy_task(task, found);
        if (task.first + 1 == task.last) {
            if (place != top - 1) copy_task(found, block_task_slot(top - 1));
            put_in_block(gang.top, top - 1);
        } else {
            ++found.first;
            task.last = task.first + 1;
        }
        return true;
    }
    arena_index before = 0;
    for (arena_index head = look_in_block(gang.spilled); head != 0; before = head, head = at<chunk_header>(head)->next) {
        chunk_header* const chunk = at<chunk_header>(head);
        wide_task* const tasks = tasks_of<wide_task>(chunk);
        for (std::uint32_t number = chunk->count; number-- != 0;) {
            wide_task& found = tasks[number];
            if (!is_deeper(found, deeper_than)) continue;
            copy_task(task, found);
            if (task.first + 1 != task.last) {
                ++found.first;
                task.last = task.first + 1;
                return true;
            }
            if (number != --chunk->count) copy_task(found, tasks[chunk->count]);
            if (chunk->count == 0) {
                const arena_index next = chunk->next;
                if (before == 0) {
                    put_in_block(gang.spilled, next);
                } else {
                    at<chunk_header>(before)->next = next;
                }
                release(head, chunk_class);
            }
            return true;
        }
    }
    return false;
}

/// All lanes of a warp, under the lock: brings a chunk back that was spilled, where there is room again.
__device__ inline void unspill_block_tasks() {
    gang_state& gang = this_block().gang;
    const arena_index head = look_in_block(gang.spilled);
    if (head == 0) return;
    chunk_header* chunk = at<chunk_header>(head);
    const std::uint32_t count = chunk->count;
    const std::uint32_t top = look_in_block(gang.top);
    if (count > block_stack_capacity - (top - look_in_block(gang.bottom))) return;
    for (std::uint32_t i = lane_rank(); i < count; i += warp_size) copy_task(block_task_slot(top + i), tasks_of<wide_task>(chunk)[i]);
    __syncwarp();
    if (lane_rank() == 0) {
        put_in_block(gang.top, top + count);
        put_in_block(gang.spilled, chunk->next);
        release(head, chunk_class);
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
