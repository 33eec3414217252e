// Queue engine: the grid that a run begins with. Every worker block begins with a share of it: by a stack or by the board it would come
// microseconds later, and there is nothing else to do yet. Some may not begin before others end, where another kernel is in their place; so
// shares go by the order in which they begin, and who has nothing to do takes one that is left. The first one begins before the others, as
// blocks of a grid do that have a lower number.
#pragma once

#include <cstddef>

#include "entry_points.cuh"
#include "launch.cuh"
#include "share.cuh"
#include "tracing.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// The first grid's details, word by word, one in each lane: all but where they are, and where the record is.
template <class Kernel, class... Args>
__device__ inline std::uint32_t word_of_first_details(const first_grid& first, const payload_of<Kernel, Args...>& payload) {
    static_assert(sizeof(launch_details) == warp_size * sizeof(std::uint32_t));
    std::uint32_t word = reinterpret_cast<const std::uint32_t*>(&first.details)[lane_rank()];
    const bool on_lane = (first.details.task.info & info::width_mask) == info::on_lane;
    wide_task task;  // of which the lanes take what they need, without an index, which would put it into local memory
    task.entry = on_lane ? reinterpret_cast<wide_entry>(&entry_points<Kernel, Args...>::wide_lane) : &entry_points<Kernel, Args...>::wide;
    task.arguments = {};
    if constexpr (payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
        memcpy(&task.arguments, &payload, payload_bytes<Kernel, Args...>);
    }
    std::uint32_t words[task_words];
    memcpy(words, &task, sizeof(task));
    constexpr unsigned first_word = offsetof(launch_details, task) / sizeof(word);
    static_assert(offsetof(wide_task, entry) == 0 && offsetof(wide_task, arguments) + sizeof(wide_arguments) == sizeof(wide_task));
#pragma unroll
    for (unsigned i = 0; i < task_words; ++i) {
        const bool is_here = i < sizeof(wide_entry) / sizeof(word) || i >= offsetof(wide_task, arguments) / sizeof(word);
        if (is_here && lane_rank() == first_word + i) word = words[i];
    }
    return word;
}

/// Where the first grid's details and its record are; 0 and 0: nowhere yet, or there was no memory.
struct first_places {
    arena_index details;
    arena_index record;
};

/// One thread of the run: finds them a place, and fills in the record.
__device__ inline first_places make_first_grid(const first_grid& first, const void* payload, text kernel) {
    if (engine().deadline_nanoseconds != 0) put(engine().control->begun_at, device_nanoseconds());
    const arena_index record = take_first_record();
    const arena_index details = take_details(first.details.trace_id, first.payload_size, [] { return take_first_piece(); });
    if (record == 0 || details == 0) {
        report_failure(operation::launch, status::out_of_memory, kernel, 0, first.shape);
        return {0, 0};
    }
    put_record(record, static_cast<int>(first.details.task.last), 0, 0, details);
    if (first.payload_size > sizeof(wide_arguments)) memcpy(at<launch_details>(details)->arguments(), payload, first.payload_size);
#if !DYNPAR_NO_TRACE
    if (first.details.trace_id != dynpar::grid_record::none) {
        constexpr std::uint32_t none = dynpar::grid_record::none;
        const traced_launch launch{kernel, none, none, none, 0, status::success, first.shape};
        write_launch(engine().trace_records[first.details.trace_id], name_key(kernel), &launch);
    }
#endif
    return {details, record};
}

/// One thread of another worker block than the first: waits until the grid has a record, which its blocks count on.
__device__ inline first_places wait_for_first_grid() {
    unsigned long long bits = 0;
    do {
        bits = load_acquire(engine().control->first_places);
    } while (bits == 0 && !run_stopped());
    return {static_cast<arena_index>(bits >> 32), static_cast<arena_index>(bits)};
}
/// One thread of the first worker block, behind all that it has written and seen others write.
__device__ inline void show_first_grid(first_places places) {
    const unsigned long long bits = static_cast<unsigned long long>(places.details) << 32 | places.record;
    store_release(engine().control->first_places, bits);
}

/// Blocks in a share of the first grid.
__device__ inline std::uint32_t first_share_size(std::uint32_t blocks, std::uint32_t width) {
    return fair_share(blocks, width, blockDim.x / warp_size);
}

/// A warp of a worker block that begins: the number of its share, in the first lane. The answer is on its way while the worker block begins.
__device__ inline unsigned number_of_first_share(const engine_view& view, const wide_task& task) {
    const bool is_only_one = first_share_size(task.last, task.info & info::width_mask) >= task.last;
    if (blockIdx.x == 0 || is_only_one || lane_rank() != 0) return blockIdx.x;
    return 1 + atomicAdd(&view.control->first_shares, 1u);
}

/// One lane: blocks of the first grid that are nobody's share, from that one on.
__device__ inline void offer_rest_of_first_grid(arena_index details, std::uint32_t width, std::uint32_t first) {
    wide_task rest;
    copy_task(rest, at<launch_details>(details)->task);
    const std::uint32_t blocks = rest.last - first;
    board_view board;
    if (blocks <= board_word::most_blocks && post(details, width, blocks, board)) return;
    rest.first = first;
    if (!push_here(rest)) stop_run(no_memory);
}

/// One lane of a warp that has nothing to do: blocks of the first grid that no worker block has come for. False if there are none.
__device__ __noinline__ inline bool take_first_share() {
    gang_state& gang = this_block().gang;
    const std::uint32_t shares = look_in_block(gang.first_shares);
    if (shares == 0) return false;
    const unsigned long long bits = load_acquire(engine().control->first_places);
    if (bits == 0) return false;
    std::uint32_t number = 1 + look(engine().control->first_shares);
    if (number < shares) number = 1 + atomicAdd(&engine().control->first_shares, 1u);
    if (number >= shares) {
        put_in_block(gang.first_shares, 0u);
        return false;
    }
    wide_task task;
    copy_fresh_task(task, at<launch_details>(static_cast<arena_index>(bits >> 32))->task);
    const std::uint32_t each = first_share_size(task.last, task.info & info::width_mask);
    task.first = number * each;
    task.last = min(task.last, task.first + each);
    if (!push_here(task)) stop_run(no_memory);
    return true;
}

/// A warp of each worker block, the only one that may fill the share yet: opens it, with blocks of the first grid if there are enough.
/// `word`: of its details. `number`: of the share, in the first lane.
__device__ inline void begin_first_grid(std::uint32_t word, unsigned number, const first_grid& first, const void* payload, text kernel) {
    gang_state& gang = this_block().gang;
    const unsigned lane = lane_rank();
    const wide_task& task = first.details.task;
    const std::uint32_t width = task.info & info::width_mask;
    const std::uint32_t blocks = task.last;
    const std::uint32_t each = first_share_size(blocks, width);
    number = __shfl_sync(all_lanes, number, 0);
    const std::uint64_t before = number < gridDim.x ? static_cast<std::uint64_t>(number) * each : blocks;  // else all are taken
    const auto begin = static_cast<std::uint32_t>(min(before, static_cast<std::uint64_t>(blocks)));
    const std::uint32_t end = begin + min(each, blocks - begin);
    first_places places{0, 0};
    if (begin < end) {
        if (lane == 0) places = number == 0 ? make_first_grid(first, payload, kernel) : wait_for_first_grid();
        places.details = __shfl_sync(all_lanes, places.details, 0);
        places.record = __shfl_sync(all_lanes, places.record, 0);
    }
    if (places.details != 0) {
        constexpr unsigned first_word = offsetof(launch_details, task) / sizeof(word);
        if (lane == first_word + offsetof(wide_task, grid) / sizeof(word)) word = places.record;
        if (lane == first_word + offsetof(wide_task, details) / sizeof(word)) word = places.details;
        if (lane >= first_word && lane < first_word + task_words) put_in_block(share_word(lane - first_word), word);
        if (number == 0 && lane >= sizeof(memory_link) / sizeof(word)) at<std::uint32_t>(places.details)[lane] = word;
        __syncwarp();
        if (lane == 0) {
            const bool counted = width == info::on_warp;
            if (counted) put_in_block(gang.returns_of, places.record);
            put_in_block(gang.share_is_counted, counted ? 1u : 0u);
            open_share(width, end, end - begin, counted);
        }
    }
    if (lane == 0) {
        const std::uint64_t all_shares = static_cast<std::uint64_t>(gridDim.x) * each;
        const std::uint32_t shares = all_shares < blocks ? gridDim.x : (blocks + each - 1) / each;
        put_in_block(gang.first_shares, shares > 1 ? shares : 0u);
        __threadfence_block();
        put_in_block(gang.share_lock, 0u);
        if (number == 0 && places.details != 0 && end < blocks) {
            show_first_grid(places);
            if (all_shares < blocks) offer_rest_of_first_grid(places.details, width, static_cast<std::uint32_t>(all_shares));
        }
    }
    __syncwarp();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
