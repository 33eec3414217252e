// Queue engine: the record of a grid that somebody waits for, its continuations and memory, and what happens when it is complete.
#pragma once

#include "queue_stack.cuh"

namespace dynpar {
namespace detail {
namespace queue {

/// A grid that has a continuation, memory, several blocks or a block that waits. Any other grid has no record: it is complete when
/// it has returned and what it launched is complete, so its children count on the record that it counts on itself.
struct alignas(64) grid_record {
    int pending;              // blocks not yet returned, and grids that count on this record
    arena_index parent;       // the record that this grid counts on; 0: the run's first grid
    lane_entry entry;         // the first continuation where it is a lane task, as most are; null: none
    lane_arguments arguments; // its arguments
    std::uint32_t depth_and_flags;
    arena_index memory;       // pieces of the arena that belong to the grid, chained
    arena_index continuations;  // further ones, block_node each, in the order in which they run
    arena_index last_added;   // where among them the grid that runs now adds its own
    std::uint32_t scratch[4]; // the first 16 bytes of scratch memory; of a grid in a stream: which stream

    static constexpr std::uint32_t scratch_taken = 1u << 24;
    static constexpr std::uint32_t in_stream = 1u << 25;
    static constexpr std::uint32_t locked = 1u << 26;
};
static_assert(sizeof(grid_record) == unit_bytes, "a record is one unit of the arena");

/// Goes before every piece of the arena in `grid_record::memory`.
struct alignas(64) memory_header {
    arena_index next;
    std::uint32_t size_class;
};

#if defined(__CUDACC__)

__device__ void advance_stream(arena_index stream);  // queue_stream.cuh

/// A record for a grid with one block that runs or is about to; 0 if there is no memory.
__device__ inline arena_index make_record(arena_index parent, std::uint32_t depth) {
    const arena_index place = take_record();
    if (place == 0) return 0;
    uint4* words = at<uint4>(place);  // entry and what follows it up to the arguments in one store, likewise the rest
    words[0] = make_uint4(1, parent, 0, 0);
    words[2] = make_uint4(depth, 0, 0, 0);
    return place;
}

/// Memory that is given back when the grid is complete; null if there is none.
__device__ __noinline__ inline void* allocate_for(arena_index grid, unsigned long long bytes) {
    const unsigned size_class = size_class_of(bytes + sizeof(memory_header));
    const arena_index piece = allocate(size_class);
    if (piece == 0) return nullptr;
    memory_header* header = at<memory_header>(piece);
    header->size_class = size_class;
    header->next = atomicExch(&at<grid_record>(grid)->memory, piece);
    return header + 1;
}

/// Adds a continuation that runs after all that this grid has added before, and before what was there when it began.
/// `simple` has an entry if the continuation is a lane task. False if there is no memory.
__device__ __noinline__ inline bool add_continuation(arena_index grid, const lane_task& simple, const wide_task& general) {
    grid_record* record = at<grid_record>(grid);
    bool added = false;
    for (bool done = false; !done;) {  // with_lock wants a word of its own; a record has a bit
        if ((atomicOr(&record->depth_and_flags, grid_record::locked) & grid_record::locked) != 0) continue;
        __threadfence();
        if (simple.entry != nullptr && look(record->entry) == nullptr && look(record->last_added) == 0) {
            record->arguments = simple.arguments;
            put(record->entry, simple.entry);
            added = true;
        } else if (const arena_index place = allocate(block_node_class); place != 0) {
            block_node* node = at<block_node>(place);
            copy_task(node->task, general);
            arena_index& before = look(record->last_added) != 0 ? at<block_node>(record->last_added)->next : record->continuations;
            node->next = look(before);
            put(before, place);
            put(record->last_added, place);
            added = true;
        }
        __threadfence();
        atomicAnd(&record->depth_and_flags, ~grid_record::locked);
        done = true;
    }
    return added;
}

/// A record as another multiprocessor may have left it, all but its arguments, in one go: loads that wait for each other cost more
/// than anything else here.
struct record_view {
    uint4 head;  // pending, parent, entry
    uint4 tail;  // depth and flags, memory, continuations, last_added

    __device__ explicit record_view(arena_index grid)
        : head(__ldcg(at<uint4>(grid))), tail(__ldcg(at<uint4>(grid) + 2)) {}

    __device__ arena_index parent() const { return head.y; }
    __device__ lane_entry entry() const {
        return reinterpret_cast<lane_entry>(static_cast<unsigned long long>(head.w) << 32 | head.z);
    }
    __device__ std::uint32_t depth_and_flags() const { return tail.x; }
    __device__ arena_index memory() const { return tail.y; }
    __device__ arena_index continuations() const { return tail.z; }
};

/// A continuation that is no lane task.
__device__ __noinline__ inline void begin_general_continuation(arena_index grid, arena_index place) {
    grid_record* record = at<grid_record>(grid);
    wide_task task;
    copy_fresh_task(task, at<block_node>(place)->task);
    put(record->continuations, look(at<block_node>(place)->next));
    put(record->last_added, 0u);
    put(record->pending, static_cast<int>(task.last - task.first));
    release(place, block_node_class);
    if (!push_wide(task)) stop_run(no_memory);
}

/// Starts the next continuation of a grid all of whose work is done; false if there is none left.
__device__ inline bool begin_continuation(arena_index grid, const record_view& view) {
    if (view.entry() != nullptr) {
        lane_task task;
        task.entry = view.entry();
        task.grid = grid;
        task.info = (view.depth_and_flags() & info::depth_mask) | info::owner;
        const uint4 words = __ldcg(at<uint4>(grid) + 1);
        memcpy(&task.arguments, &words, sizeof(words));
        at<uint4>(grid)[0] = make_uint4(1, view.parent(), 0, 0);
        put(at<grid_record>(grid)->last_added, 0u);
        if (!push(task) && !push_spilled(task)) stop_run(no_memory);
        return true;
    }
    if (view.continuations() == 0) return false;
    begin_general_continuation(grid, view.continuations());
    return true;
}

__device__ __noinline__ inline void release_memory(arena_index piece) {
    while (piece != 0) {
        const arena_index next = look(at<memory_header>(piece)->next);
        release(piece, look(at<memory_header>(piece)->size_class));
        piece = next;
    }
}

/// Gives back what a complete grid had.
__device__ inline void release_record(arena_index grid, const record_view& view) {
    if (view.memory() != 0) release_memory(view.memory());
    const bool streamed = (view.depth_and_flags() & grid_record::in_stream) != 0;
    const arena_index stream = streamed ? look(at<grid_record>(grid)->scratch[0]) : 0;
    give_back_record(grid);
    if (streamed) advance_stream(stream);
}

/// The run's first grid is complete.
__device__ inline void end_run() {
    __threadfence();
    put(engine().control->done, 1u);
}

/// An addition behind all that this thread has written, and that it has seen others write. Unlike a fence it leaves the first-level
/// cache as it is, with the stacks of all threads in it.
__device__ inline int add_behind_writes(int& place, int change) {
    int before;
    asm volatile("atom.add.release.gpu.s32 %0, [%1], %2;" : "=r"(before) : "l"(&place), "r"(change) : "memory");
    return before;
}

/// Adds to a record's count; where it becomes zero, the continuation begins or the grid is complete, and so on upwards.
__device__ __noinline__ inline void retire(arena_index grid, int change) {
    while (grid != 0) {
        if (add_behind_writes(at<grid_record>(grid)->pending, change) + change != 0) return;
        __threadfence();  // the others' writes, for the continuation
        const record_view view(grid);
        if (begin_continuation(grid, view)) return;
        release_record(grid, view);
        grid = view.parent();
        change = -1;
    }
    end_run();
}

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
