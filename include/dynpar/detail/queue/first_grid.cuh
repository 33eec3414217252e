// Queue engine: how the grid that a run begins with reaches its worker blocks.
//
// Every worker block begins with a chunk of it, straight from the persistent grid's parameters: through a deque or the
// open grids its blocks would begin microseconds later, and there is nothing else to do yet. Some worker blocks may not
// begin before others end, because another kernel is in their place. So chunks are numbered in the order in which
// worker blocks begin, and a warp without work takes a chunk that is left. Worker block 0 makes the grid node; the
// others wait for it, on the assumption that blocks of a grid with lower numbers begin first.
//
// Owns run_control::first_places and first_chunks, and gang_state::first_chunks and first_chunk_blocks. May open the
// worker block's first chunk.
#pragma once

#include <cstddef>

#include "block/entry_points.cuh"
#include "block/launch.cuh"
#include "balance/block_chunk.cuh"
#include "observe/trace.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// Where the first grid's descriptor and its node are; 0 and 0: nowhere yet, or there was no memory.
struct first_places {
    arena_index descriptor;
    arena_index node;
};

/// One thread of the run: allocates both and fills in the node.
__device__ inline first_places make_first_grid(const first_grid& first, const void* payload) {
    if (engine().deadline_nanoseconds != 0) store_relaxed(engine().control->begun_at, device_nanoseconds());
    const arena_index node = take_first_node();
    const arena_index descriptor =
        take_descriptor(first.descriptor.trace_id, first.payload_size, [] { return take_first_piece(); });
    const bool has_memory = node != 0 && descriptor != 0;
#if !DYNPAR_NO_TRACE
    if (first.descriptor.trace_id != dynpar::grid_record::none) {
        constexpr std::uint32_t none = dynpar::grid_record::none;
        const traced_launch launch{
            first.kernel, none, none, none, 0, has_memory ? status::success : status::out_of_memory, first.shape};
        write_launch(engine().trace_records[first.descriptor.trace_id], name_key(first.kernel), &launch);
    }
#endif
    if (!has_memory) {
        report_failure(operation::launch, status::out_of_memory, first.kernel, 0, first.shape);
        return {0, 0};
    }
    put_node(node, static_cast<int>(first.descriptor.task.last), 0, 0, descriptor);
    if (first.payload_size > sizeof(wide_arguments))
        memcpy(at<grid_descriptor>(descriptor)->arguments(), payload, first.payload_size);
    return {descriptor, node};
}

/// One thread of any worker block but the first: waits until the grid has a node, on which its blocks count.
__device__ inline first_places wait_for_first_grid() {
    unsigned long long bits = 0;
    do {
        bits = load_acquire(engine().control->first_places);
    } while (bits == 0 && !run_stopped());
    return {static_cast<arena_index>(bits >> 32), static_cast<arena_index>(bits)};
}
/// One thread of the first worker block: publishes the places, and releases all that it has written and seen others
/// write.
__device__ inline void show_first_grid(first_places places) {
    const unsigned long long bits = static_cast<unsigned long long>(places.descriptor) << 32 | places.node;
    store_release(engine().control->first_places, bits);
}

/// A warp of a worker block that begins: the number of its chunk, in the first lane. Asked for before anything else, so
/// that the answer is on its way while the worker block begins.
__device__ inline unsigned number_of_first_chunk(const engine_view& view, const first_grid& first) {
    if (blockIdx.x == 0 || first.chunks == 1 || lane_rank() != 0) return blockIdx.x;
    return 1 + fetch_add_relaxed(view.control->first_chunks, 1u);
}

/// One lane: publishes the blocks of the first grid that are in no chunk, from block `first` on.
__device__ inline void offer_rest_of_first_grid(arena_index descriptor, std::uint32_t width, std::uint32_t first) {
    wide_task rest;
    copy_task(rest, at<grid_descriptor>(descriptor)->task);
    const std::uint32_t blocks = rest.last - first;
    open_grids_view open_grids;
    if (blocks <= open_grid_word::most_blocks && publish(descriptor, width, blocks, open_grids)) return;
    rest.first = first;
    if (!push_here(rest)) drop_task();
}

/// One lane of a warp without work, as long as there may be one: takes a chunk of the first grid for which no worker
/// block has come yet. False if there is none.
__device__ __noinline__ inline bool take_first_chunk_now() {
    gang_state& gang = this_block().gang;
    const std::uint32_t chunks = load_relaxed_in_block(gang.first_chunks);
    const unsigned long long bits = load_acquire(engine().control->first_places);
    if (bits == 0) return false;
    std::uint32_t number = 1 + load_relaxed(engine().control->first_chunks);
    if (number < chunks) number = 1 + fetch_add_relaxed(engine().control->first_chunks, 1u);
    if (number >= chunks) {
        store_relaxed_in_block(gang.first_chunks, 0u);
        return false;
    }
    wide_task task;
    copy_fresh_task(task, at<grid_descriptor>(static_cast<arena_index>(bits >> 32))->task);
    const std::uint32_t each = load_relaxed_in_block(gang.first_chunk_blocks);
    task.first = number * each;
    task.last = min(task.last, task.first + each);
    if (!push_here(task)) drop_task();
    return true;
}

__device__ inline bool take_first_chunk() {
    return load_relaxed_in_block(this_block().gang.first_chunks) != 0 && take_first_chunk_now();
}

/// One warp of each worker block, while it alone may write the chunk: opens the chunk with blocks of the first grid, if
/// there are enough. `number`: of the chunk, in the first lane.
__device__ inline void begin_first_grid(unsigned number, const first_grid& first, const void* payload) {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    static_assert(sizeof(grid_descriptor) == warp_size * sizeof(std::uint32_t));
    std::uint32_t word = reinterpret_cast<const std::uint32_t*>(&first.descriptor)[lane];  // one in each lane
    const wide_task& task = first.descriptor.task;
    const std::uint32_t width = task.info & info::width_mask;
    const std::uint32_t blocks = task.last;
    const std::uint32_t each = first.chunk_blocks;
    number = __shfl_sync(all_lanes, number, 0);
    // A number past the last worker block's: all chunks are taken.
    const std::uint64_t before = number < engine().worker_blocks ? static_cast<std::uint64_t>(number) * each : blocks;
    const auto begin = static_cast<std::uint32_t>(min(before, static_cast<std::uint64_t>(blocks)));
    const std::uint32_t end = begin + min(each, blocks - begin);
    first_places places{0, 0};
    if (begin < end) {
        if (lane == 0) places = number == 0 ? make_first_grid(first, payload) : wait_for_first_grid();
        places.descriptor = __shfl_sync(all_lanes, places.descriptor, 0);
        places.node = __shfl_sync(all_lanes, places.node, 0);
    }
    if (places.descriptor != 0) {
        constexpr unsigned first_word = offsetof(grid_descriptor, task) / sizeof(word);
        if (lane == first_word + offsetof(wide_task, grid) / sizeof(word)) word = places.node;
        if (lane == first_word + offsetof(wide_task, descriptor) / sizeof(word)) word = places.descriptor;
        if (lane >= first_word && lane < first_word + task_words)
            store_relaxed_in_block(chunk_word(lane - first_word), word);
        if (number == 0 && lane >= sizeof(memory_link) / sizeof(word))
            at<std::uint32_t>(places.descriptor)[lane] = word;
        sync_warp();
        if (lane == 0) {
            const bool counted = width == info::on_warp;
            if (counted) store_relaxed_in_block(gang.batch_of, places.node);
            store_relaxed_in_block(gang.chunk_is_counted, counted ? 1u : 0u);
            open_chunk(width, end, end - begin, counted);
        }
    }
    if (lane == 0) {
        store_relaxed_in_block(gang.first_chunk_blocks, each);
        store_relaxed_in_block(gang.first_chunks, first.chunks > 1 ? first.chunks : 0u);
        fence_in_block();
        store_relaxed_in_block(gang.chunk_lock, 0u);
        if (number == 0 && places.descriptor != 0 && end < blocks) {
            show_first_grid(places);
            const std::uint64_t in_chunks = static_cast<std::uint64_t>(first.chunks) * each;
            if (in_chunks < blocks)
                offer_rest_of_first_grid(places.descriptor, width, static_cast<std::uint32_t>(in_chunks));
        }
    }
    sync_warp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
