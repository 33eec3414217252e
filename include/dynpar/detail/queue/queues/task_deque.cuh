// Queue engine: deques. Each warp has one of lane tasks and one of wide tasks, each worker block one of block tasks.
// What does not fit spills to segments in the arena. Owns the segments, and with the headers that it lets move them the
// ends: execute/ pops at the owner end, balance/ donates from the steal end and adds what others have donated, and
// join/ puts continuations below the steal end that nothing waits for. A task in a slot is changed by the warp whose
// deque it is on: its blocks are taken one by one, and its grid becomes another node (point_to_own()).
#pragma once

#include "../memory/arena.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

// A warp pushes and pops at the owner end, so that it works depth first and memory is bounded by depth. It donates from
// the steal end, where the tasks with the most work below them are. Only the warp itself touches its deques, so they
// need no fences, only __syncwarp; the one exception, even_out(), has barriers.

template <class Task>
struct own_deque;

template <>
struct own_deque<lane_task> {
    static constexpr std::uint32_t capacity = tuning::lane_deque_capacity;
    static __device__ lane_task* slots() {
        return engine().lane_deques + static_cast<std::size_t>(worker_rank()) * capacity;
    }
    static __device__ std::uint32_t& steal_end() { return this_warp().lane_steal_end; }
    static __device__ std::uint32_t& owner_end() { return this_warp().lane_owner_end; }
    static __device__ std::uint32_t& base() { return this_warp().lane_base; }
    static __device__ spilled_tasks& spilled() { return this_warp().spilled_lanes; }
};

template <>
struct own_deque<wide_task> {
    static constexpr std::uint32_t capacity = tuning::wide_deque_capacity;
    static __device__ wide_task* slots() {
        return engine().wide_deques + static_cast<std::size_t>(worker_rank()) * capacity;
    }
    static __device__ std::uint32_t& steal_end() { return this_warp().wide_steal_end; }
    static __device__ std::uint32_t& owner_end() { return this_warp().wide_owner_end; }
    static __device__ std::uint32_t& base() { return this_warp().wide_base; }
    static __device__ spilled_tasks& spilled() { return this_warp().spilled_wides; }
};

template <class Task>
__device__ inline Task& slot(std::uint32_t place) {
    return own_deque<Task>::slots()[place % own_deque<Task>::capacity];
}

/// Copies in accesses of 16 bytes, the widest; all tasks are so aligned.
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

/// Runs `critical` while no other thread holds the lock. Lanes of one warp may contend: the holder releases the lock
/// before the others try again.
template <class Critical>
__device__ inline void with_lock(unsigned& lock, Critical critical) {
    for (bool done = false; !done;) {
        if (compare_exchange_relaxed(lock, 0u, 1u) == 0) {
            fence();
            critical();
            fence();
            exchange_relaxed(lock, 0u);
            done = true;
        }
    }
}
/// The same for a lock among the threads of a worker block: fences within a multiprocessor cost next to nothing.
template <class Critical>
__device__ inline void with_block_lock(unsigned& lock, Critical critical) {
    for (bool done = false; !done;) {
        if (compare_exchange_relaxed(lock, 0u, 1u) == 0) {
            fence_in_block();
            critical();
            fence_in_block();
            exchange_relaxed(lock, 0u);
            done = true;
        }
    }
}
/// The same for a whole warp: one lane takes the lock for all.
template <class Critical>
__device__ inline void with_block_lock_as_warp(unsigned& lock, Critical critical) {
    if (lane_rank() == 0) {
        while (compare_exchange_relaxed(lock, 0u, 1u) != 0) {
        }
        fence_in_block();
    }
    sync_warp();
    critical();
    sync_warp();
    if (lane_rank() == 0) {
        fence_in_block();
        exchange_relaxed(lock, 0u);
    }
    sync_warp();
}

/// A slot at the owner end, to be filled at once; null if the deque is full.
template <class Task>
__device__ inline Task* reserve() {
    const std::uint32_t place = fetch_add_relaxed(own_deque<Task>::owner_end(), 1u);
    if (place - own_deque<Task>::steal_end() < own_deque<Task>::capacity) return &slot<Task>(place);
    fetch_sub_relaxed(own_deque<Task>::owner_end(), 1u);
    return nullptr;
}

/// False if the deque is full.
template <class Task>
__device__ inline bool push(const Task& task) {
    const std::uint32_t place = fetch_add_relaxed(own_deque<Task>::owner_end(), 1u);
    // Not by reserve(): the two ways would come together, and part again at once.
    if (__builtin_expect(place - own_deque<Task>::steal_end() >= own_deque<Task>::capacity, 0)) {
        fetch_sub_relaxed(own_deque<Task>::owner_end(), 1u);
        return false;
    }
    between_accesses();
    copy_task(slot<Task>(place), task);
    return true;
}

// ---- Spilling: segments of tasks in the arena, chained

struct alignas(64) segment_header {
    arena_index next;
    std::uint32_t count;
};
template <class Task>
inline constexpr std::uint32_t segment_tasks = ((unit_bytes << tuning::segment_class) - sizeof(segment_header)) /
                                               sizeof(Task);
template <class Task>
__device__ inline Task* tasks_of(segment_header* segment) {
    return reinterpret_cast<Task*>(segment + 1);
}

/// Under a lock: adds a task of a worker block to the segment at the head of a chain. False if there is no memory.
__device__ inline bool push_to_segment(arena_index& head, const wide_task& task) {
    if (head == 0 || at<segment_header>(head)->count == segment_tasks<wide_task>) {
        const arena_index fresh = allocate(tuning::segment_class);
        if (fresh == 0) return false;
        *at<segment_header>(fresh) = segment_header{head, 0};
        head = fresh;
    }
    segment_header* segment = at<segment_header>(head);
    copy_task(tasks_of<wide_task>(segment)[segment->count++], task);
    return true;
}

/// How many tasks the segment at the head of a warp's chain has.
template <class Task>
__device__ inline std::uint32_t tasks_at_head(spilled_tasks spilled) {
    return spilled.head() != 0 ? min(spilled.count(), segment_tasks<Task>) : 0;
}
/// All lanes together, or under the lock: what a warp has spilled without the segment at the head, which says what
/// comes after it.
__device__ inline spilled_tasks without_head(spilled_tasks spilled) {
    const arena_index next = at<segment_header>(spilled.head())->next;
    return next != 0 ? spilled_tasks(next, at<segment_header>(next)->count) : spilled_tasks(0);
}
/// The same: what it has when another segment becomes the head.
template <class Task>
__device__ inline spilled_tasks with_head(spilled_tasks spilled, arena_index fresh, std::uint32_t count) {
    if (spilled.head() != 0) at<segment_header>(spilled.head())->count = tasks_at_head<Task>(spilled);
    at<segment_header>(fresh)->next = spilled.head();
    return {fresh, count};
}

/// One lane that has found the head full: makes another, unless another lane has. False if there is no memory.
template <class Task>
__device__ __noinline__ bool add_segment() {
    bool there_is_room = true;
    with_block_lock(this_warp().lock, [&] {
        unsigned long long& word = own_deque<Task>::spilled().bits;
        const spilled_tasks seen(load_relaxed(word));
        if (seen.head() != 0 && seen.count() < segment_tasks<Task>) return;
        const arena_index fresh = allocate(tuning::segment_class);
        there_is_room = fresh != 0;
        // Without memory the count stays at what there is: a kernel may try over and over.
        const spilled_tasks after =
            there_is_room ? with_head<Task>(seen, fresh, 0) : spilled_tasks(seen.head(), tasks_at_head<Task>(seen));
        exchange_relaxed(word, after.bits);
    });
    return there_is_room;
}

/// A slot in the segment at the head, for a single lane in the middle of a round; null if that is full.
template <class Task>
__device__ inline Task* reserve_spilled() {
    const spilled_tasks seen(fetch_add_relaxed(own_deque<Task>::spilled().bits, 1ull));
    if (seen.head() == 0 || seen.count() >= segment_tasks<Task>) return nullptr;
    return &tasks_of<Task>(at<segment_header>(seen.head()))[seen.count()];
}

/// A task for which the deque has no room. False if there is no memory. The task is passed by value: if its address
/// were taken, it would lie in memory even when there is room.
template <class Task>
__device__ __noinline__ bool push_spilled(Task task) {
    Task* place = reserve_spilled<Task>();
    while (place == nullptr && add_segment<Task>()) place = reserve_spilled<Task>();
    between_accesses();
    if (place != nullptr) copy_task(*place, task);
    return place != nullptr;
}

/// A slot on the deque or, if that is full, in the segment at the head, to be filled at once; null if neither has room.
/// Inlined where a thread may launch thousands of grids: a call, and the task on its way through the stack, take longer
/// than all that is done here.
template <class Task>
__device__ __forceinline__ Task* reserve_where_there_is_room() {
    using deque = own_deque<Task>;
    Task* place = nullptr;
    // To see that the deque is full takes less time than to reserve a slot in vain.
    if (load_relaxed_in_block(deque::owner_end()) - deque::steal_end() < deque::capacity) place = reserve<Task>();
    return place != nullptr ? place : reserve_spilled<Task>();
}

/// All lanes together: moves the oldest tasks out of a deque that is nearly full. If there is no memory it stays full,
/// and the next launches fail.
template <class Task>
__device__ __noinline__ void spill() {
    using deque = own_deque<Task>;
    const unsigned lane = lane_rank();
    arena_index fresh = 0;
    const std::uint32_t count = min(segment_tasks<Task>, deque::capacity / 2);
    if (lane == 0) fresh = allocate(tuning::segment_class);
    fresh = __shfl_sync(all_lanes, fresh, 0);
    if (fresh == 0) return;
    segment_header* segment = at<segment_header>(fresh);
    for (std::uint32_t i = lane; i < count; i += warp_size) {
        copy_task(tasks_of<Task>(segment)[i], slot<Task>(deque::steal_end() + i));
    }
    sync_warp();
    if (lane == 0) {
        deque::spilled() = with_head<Task>(deque::spilled(), fresh, count);
        deque::steal_end() += count;
        if (static_cast<std::int32_t>(deque::base() - deque::steal_end()) < 0) deque::base() = deque::steal_end();
    }
    sync_warp();
}

/// All lanes together: brings back the segment that was spilled last. False if there is none, or no room for it.
template <class Task>
__device__ __noinline__ bool unspill() {
    using deque = own_deque<Task>;
    const spilled_tasks spilled = deque::spilled();
    const arena_index head = spilled.head();
    if (head == 0) return false;
    const unsigned lane = lane_rank();
    segment_header* segment = at<segment_header>(head);
    const std::uint32_t count = tasks_at_head<Task>(spilled);
    const std::uint32_t owner_end = deque::owner_end();
    if (count > deque::capacity - (owner_end - deque::steal_end())) return false;
    for (std::uint32_t i = lane; i < count; i += warp_size)
        copy_task(slot<Task>(owner_end + i), tasks_of<Task>(segment)[i]);
    sync_warp();
    if (lane == 0) {
        deque::spilled() = without_head(spilled);
        deque::owner_end() = owner_end + count;
        release(head, tuning::segment_class);
    }
    sync_warp();
    return true;
}

template <class Task>
__device__ inline bool is_deeper(const Task& task, int depth) {
    return static_cast<int>(task.info & info::depth_mask) > depth;
}

/// All lanes together, in a nested step whose deque has no deeper task than that: brings back the deeper tasks of the
/// first segment in the chain that has any. The waiting block may be waiting for exactly these, and what lies above
/// them must not run. If the deque is full, one of them is exchanged with the task at the owner end. False if there are
/// none.
template <class Task>
__device__ __noinline__ bool unspill_deeper(int deeper_than) {
    using deque = own_deque<Task>;
    const unsigned lane = lane_rank();
    const unsigned lanes_before = (1u << lane) - 1;
    const spilled_tasks spilled = deque::spilled();
    arena_index before = 0;
    for (arena_index place = spilled.head(); place != 0;) {
        segment_header* const segment = at<segment_header>(place);
        const std::uint32_t count = before == 0 ? tasks_at_head<Task>(spilled) : segment->count;
        const arena_index next = segment->next;
        const std::uint32_t owner_end = deque::owner_end();
        const std::uint32_t room = deque::capacity - (owner_end - deque::steal_end());
        std::uint32_t moved = 0, kept = 0;
        for (std::uint32_t first = 0; first < count; first += warp_size) {
            const bool there = first + lane < count;
            Task task;
            if (there) copy_task(task, tasks_of<Task>(segment)[first + lane]);
            const unsigned deeper = __ballot_sync(all_lanes, there && is_deeper(task, deeper_than));
            if (deeper != 0 && room == 0) {
                if (lane == static_cast<unsigned>(__ffs(static_cast<int>(deeper))) - 1) {
                    copy_task(tasks_of<Task>(segment)[first + lane], slot<Task>(owner_end - 1));
                    copy_task(slot<Task>(owner_end - 1), task);
                }
                sync_warp();
                return true;
            }
            const std::uint32_t number = moved + static_cast<unsigned>(__popc(deeper & lanes_before));
            const bool moves = (deeper >> lane & 1) != 0 && number < room;
            const unsigned staying = __ballot_sync(all_lanes, there && !moves);  // all have read before any writes
            if (moves) copy_task(slot<Task>(owner_end + number), task);
            if (there && !moves)
                copy_task(tasks_of<Task>(segment)[kept + static_cast<unsigned>(__popc(staying & lanes_before))], task);
            kept += static_cast<unsigned>(__popc(staying));
            moved = first + warp_size < count ? first + warp_size - kept : count - kept;
            sync_warp();
        }
        if (moved != 0) {
            if (lane == 0) {
                deque::owner_end() = owner_end + moved;
                if (before == 0) {
                    deque::spilled() = kept != 0 ? spilled_tasks(place, kept) : without_head(spilled);
                } else {
                    segment->count = kept;
                    if (kept == 0) at<segment_header>(before)->next = next;
                }
                if (kept == 0) release(place, tuning::segment_class);
            }
            sync_warp();
            return true;
        }
        before = place;
        place = next;
    }
    return false;
}

/// Whether a warp has no tasks other than those on its deque of wide tasks.
__device__ inline bool has_no_tasks_but_wide_ones() {
    const warp_state& warp = this_warp();
    return warp.lane_owner_end == warp.lane_steal_end &&
           (warp.spilled_lanes.head() | warp.spilled_wides.head() | warp.ready) == 0;
}
/// Whether it has none, neither on its deques nor beside them: what has spilled comes back in a step, not while the
/// warp searches.
__device__ inline bool has_no_tasks() {
    return this_warp().wide_owner_end == this_warp().wide_steal_end && has_no_tasks_but_wide_ones();
}

// ---- Block tasks: too wide for a warp, so all warps of a worker block take them from one deque, under its lock

inline constexpr unsigned any_threads = ~0u;

__device__ inline wide_task& block_task_slot(std::uint32_t place) {
    return engine().block_deques[static_cast<std::size_t>(blockIdx.x) * tuning::block_deque_capacity +
                                 place % tuning::block_deque_capacity];
}

/// Without the lock: how many tasks lie on the deque, and whether it is worth taking the lock.
__device__ inline std::uint32_t block_tasks_on_deque() {
    gang_state& gang = this_block().gang;
    return load_relaxed_in_block(gang.owner_end) - load_relaxed_in_block(gang.steal_end);
}
__device__ inline bool has_block_tasks() {
    return block_tasks_on_deque() != 0 || load_relaxed_in_block(this_block().gang.spilled) != 0;
}

/// Under the lock. False if the deque is full.
__device__ inline bool push_on_block_deque(const wide_task& task) {
    gang_state& gang = this_block().gang;
    const std::uint32_t owner_end = load_relaxed_in_block(gang.owner_end);
    if (owner_end - load_relaxed_in_block(gang.steal_end) >= tuning::block_deque_capacity) return false;
    copy_task(block_task_slot(owner_end), task);
    store_relaxed_in_block(gang.owner_end, owner_end + 1);
    return true;
}

/// Under the lock: what has come to the deque, or comes now.
__device__ inline void note_block_tasks(bool was_empty, unsigned narrowest, unsigned deepest) {
    gang_state& gang = this_block().gang;
    if (!was_empty) {
        narrowest = min(narrowest, load_relaxed_in_block(gang.narrowest));
        deepest = max(deepest, load_relaxed_in_block(gang.deepest));
    }
    store_relaxed_in_block(gang.narrowest, narrowest);
    store_relaxed_in_block(gang.deepest, deepest);
}

/// Under the lock: on the deque, or spilled. False if there is no memory.
__device__ __noinline__ inline bool push_block_task(const wide_task& task) {
    gang_state& gang = this_block().gang;
    note_block_tasks(!has_block_tasks(), task.size.threads(), task.info & info::depth_mask);
    if (push_on_block_deque(task)) return true;
    arena_index head = load_relaxed_in_block(gang.spilled);
    const bool pushed = push_to_segment(head, task);
    store_relaxed_in_block(gang.spilled, head);
    return pushed;
}

/// All lanes of a warp, without the lock: pushes as many of their tasks as there is room for, of so many lanes, the
/// first lane's as the newest; or one, on top of the spilled ones. Returns how many; 0 if there is no memory.
__device__ inline std::uint32_t push_block_tasks(const wide_task& task, std::uint32_t lanes) {
    DYNPAR_QUEUE_INVARIANT(lanes != 0);
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    const std::uint32_t narrowest = __reduce_min_sync(all_lanes, lane < lanes ? task.size.threads() : any_threads);
    const std::uint32_t deepest = __reduce_max_sync(all_lanes, lane < lanes ? task.info & info::depth_mask : 0u);
    std::uint32_t count = 0;
    with_block_lock_as_warp(gang.lock, [&] {
        const bool was_empty = !has_block_tasks();
        const std::uint32_t end = load_relaxed_in_block(gang.owner_end);
        count = min(lanes, tuning::block_deque_capacity - (end - load_relaxed_in_block(gang.steal_end)));
        if (lane < count) copy_task(block_task_slot(end + count - 1 - lane), task);
        sync_warp();
        if (lane != 0) return;
        if (count == 0) {
            count = push_block_task(task) ? 1 : 0;
        } else {
            note_block_tasks(was_empty, narrowest, deepest);
            store_relaxed_in_block(gang.owner_end, end + count);
        }
    });
    return __shfl_sync(all_lanes, count, 0);
}

/// Under the lock: takes one block of the newest task that is deeper than that and takes so many threads at most, also
/// from spilled tasks. False if there is none.
__device__ __noinline__ inline bool take_block_task(int deeper_than, unsigned most_threads, wide_task& task) {
    gang_state& gang = this_block().gang;
    const std::uint32_t steal_end = load_relaxed_in_block(gang.steal_end);
    const std::uint32_t owner_end = load_relaxed_in_block(gang.owner_end);
    for (std::uint32_t place = owner_end; place != steal_end;) {
        wide_task& found = block_task_slot(--place);
        if (!is_deeper(found, deeper_than) || found.size.threads() > most_threads) continue;
        copy_task(task, found);
        if (task.first + 1 == task.last) {
            if (place != owner_end - 1) copy_task(found, block_task_slot(owner_end - 1));
            store_relaxed_in_block(gang.owner_end, owner_end - 1);
        } else {
            ++found.first;
            task.last = task.first + 1;
        }
        return true;
    }
    arena_index before = 0;
    for (arena_index head = load_relaxed_in_block(gang.spilled); head != 0;
         before = head, head = at<segment_header>(head)->next) {
        segment_header* const segment = at<segment_header>(head);
        wide_task* const tasks = tasks_of<wide_task>(segment);
        for (std::uint32_t number = segment->count; number-- != 0;) {
            wide_task& found = tasks[number];
            if (!is_deeper(found, deeper_than) || found.size.threads() > most_threads) continue;
            copy_task(task, found);
            if (task.first + 1 != task.last) {
                ++found.first;
                task.last = task.first + 1;
                return true;
            }
            if (number != --segment->count) copy_task(found, tasks[segment->count]);
            if (segment->count == 0) {
                const arena_index next = segment->next;
                if (before == 0) {
                    store_relaxed_in_block(gang.spilled, next);
                } else {
                    at<segment_header>(before)->next = next;
                }
                release(head, tuning::segment_class);
            }
            return true;
        }
    }
    return false;
}

/// All lanes of a warp, under the lock: brings a spilled segment back, if there is room again.
__device__ inline void unspill_block_tasks() {
    gang_state& gang = this_block().gang;
    const arena_index head = load_relaxed_in_block(gang.spilled);
    if (head == 0) return;
    segment_header* segment = at<segment_header>(head);
    const std::uint32_t count = segment->count;
    const std::uint32_t owner_end = load_relaxed_in_block(gang.owner_end);
    if (count > tuning::block_deque_capacity - (owner_end - load_relaxed_in_block(gang.steal_end))) return;
    for (std::uint32_t i = lane_rank(); i < count; i += warp_size)
        copy_task(block_task_slot(owner_end + i), tasks_of<wide_task>(segment)[i]);
    sync_warp();
    if (lane_rank() == 0) {
        store_relaxed_in_block(gang.owner_end, owner_end + count);
        store_relaxed_in_block(gang.spilled, segment->next);
        release(head, tuning::segment_class);
    }
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
