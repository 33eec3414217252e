// Queue engine: the resident grid that is a run, from its first task to the state it leaves for the next run.
#pragma once

#include "begin.cuh"
#include "entry_points.cuh"
#include "launch.cuh"
#include "tracing.cuh"
#include "worker.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// All threads of a worker block.
__device__ __noinline__ inline void begin_worker_block(const engine_view& view, text first_kernel) {
    unsigned* words = reinterpret_cast<unsigned*>(worker_memory);
    for (unsigned i = threadIdx.x; i < state_bytes(blockDim.x) / sizeof(unsigned); i += blockDim.x) words[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        this_block().engine = view;
        this_block().gang.searching = blockDim.x / warp_size;
#if !DYNPAR_NO_TRACE
        if (view.trace != nullptr) begin_trace(first_kernel);
#endif
        note_first_kernel(first_kernel);
    }
    __syncthreads();
    begin_with_memory();
    if (lane_rank() == 0) {
        this_warp().depth = -1;
        this_warp().searches = 1;
        this_warp().stack_begin = stack_place();
    }
    __syncwarp();
#if !DYNPAR_NO_TRACE
    // By the last thread: the first has the first grid to begin.
    if (view.trace != nullptr && blockIdx.x == 0 && threadIdx.x == blockDim.x - 1) keep_name(*view.trace, first_kernel);
    __syncwarp();
#endif
}

/// The first thread of the run: puts the grid that the host has prepared where its workers find it. All wait for it. `payload`: its
/// arguments, also in `arguments` where they fit.
__device__ __noinline__ inline void begin_first_grid(const first_grid& first, wide_entry entry, const wide_arguments& arguments,
                                                     const void* payload, text kernel) {
    if (engine().deadline_nanoseconds != 0) put(engine().control->begun_at, device_nanoseconds());
    wide_task task = first.task;
    std::uint32_t trace_id = dynpar::grid_record::none;
#if !DYNPAR_NO_TRACE
    if (engine().trace != nullptr) {
        constexpr std::uint32_t none = dynpar::grid_record::none;
        const traced_launch launch{kernel, none, none, none, 0, status::success, first.shape};
        write_launch(engine().trace_records[first_trace_id], name_key(kernel), &launch);
        trace_id = first_trace_id;
        task.info |= info::traced;
    }
#endif
    task.entry = entry;
    task.grid = take_first_record();
    task.details = take_details(trace_id, first.payload_size, [] { return take_first_piece(); });
    task.arguments = arguments;
    if (task.grid != 0 && task.details != 0) {
        launch_details& details = *at<launch_details>(task.details);
        put_record(task.grid, static_cast<int>(task.last), 0, 0, task.details);
        put_details(task.details, first.shape, task.size.threads(), trace_id);
        copy_task(details.task, task);
        if (first.payload_size > sizeof(wide_arguments)) memcpy(details.arguments(), payload, first.payload_size);
        end_search();  // before others can count on this warp for a share of the grid
        if (push_wide(task)) return;
    }
    report_failure(operation::launch, status::out_of_memory, kernel, 0, first.shape);
}

/// Tasks that are left when a run was stopped, of one warp.
__device__ inline unsigned long long count_abandoned() {
    warp_state& warp = this_warp();
    unsigned long long left = warp.lane_top - warp.lane_bottom;
    left += warp.wide_top - warp.wide_bottom;
    for (arena_index chunk = warp.spilled_lanes; chunk != 0; chunk = at<chunk_header>(chunk)->next) left += at<chunk_header>(chunk)->count;
    for (arena_index chunk = warp.spilled_wides; chunk != 0; chunk = at<chunk_header>(chunk)->next) left += at<chunk_header>(chunk)->count;
    if (threadIdx.x == 0) {
        gang_state& gang = this_block().gang;
        left += gang.top - gang.bottom + gang.has_candidate + (board_word(gang.share_left).left() > 0 ? 1 : 0);
        for (arena_index chunk = gang.spilled; chunk != 0; chunk = at<chunk_header>(chunk)->next) left += at<chunk_header>(chunk)->count;
    }
    return left;
}

/// The last worker block of a run: says what there is to say, and leaves everything as it was found.
__device__ inline void finish_run() {
    run_control& control = *engine().control;
    failure_table& failures = *engine().failures;
    run_result& result = *engine().result;
    // Read at one go: loads that wait for each other, and a look at host memory, would take longer than all the rest.
    const unsigned stop = look(control.stop);
    const unsigned begun_count = look(control.begun_count);
    const unsigned long long failed_calls = look(failures.failed_calls);
    const bool stopped = stop != not_stopped;
    if (threadIdx.x == 0) {
        unsigned long long abandoned = look(control.abandoned);
        unsigned long long board[board_places];
        for (unsigned place = 0; place < board_places; ++place) board[place] = look(control.board[place]);
        const unsigned long long grids = look(control.grids);
        const unsigned long long taken = look(control.arena_taken);
        const unsigned deepest = look(control.deepest);
        const unsigned deepest_wait = look(control.deepest_wait);
        result.grids = grids;
        result.arena_bytes = (taken + engine().arena_fresh - engine().arena_begin) * unit_bytes;
        result.deepest = deepest;
        result.deepest_wait = deepest_wait;
        for (unsigned place = 0; stopped && place < board_places; ++place) {
            if (board_word(board[place]).left() > 0) ++abandoned;
        }
        result.abandoned = abandoned;
        result.stopped = stop;
        if (device_trace* const trace = engine().trace; trace != nullptr) {
            result.traced = look(trace->wanted);
            result.trace_places = static_cast<unsigned long long>(gridDim.x + look(control.trace_batches)) * trace_batch::size;
            trace->wanted = 0;
            trace->streams = 0;
        } else {
            result.traced = 0;
        }
        if (failed_calls == 0) result.failures.failed_calls = 0;
    }
    if (failed_calls != 0) {  // so that the next run, or replay, counts its own
        const unsigned* const from = reinterpret_cast<const unsigned*>(&failures);
        unsigned* const to = reinterpret_cast<unsigned*>(&result.failures);
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x) to[i] = look(from[i]);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x) {
            reinterpret_cast<unsigned*>(&failures)[i] = 0;
        }
    }
    if (stopped) {  // gifts may lie in their slots
        for (unsigned i = threadIdx.x; i <= engine().ring_mask; i += blockDim.x) {
            engine().warp_slots[i].turn = 0;
            engine().block_slots[i].turn = 0;
        }
    }
    if (begun_count != 0) {
        for (unsigned i = threadIdx.x; i < run_result::most_kernels; i += blockDim.x) {
            control.begun_kernels[i] = 0;
            control.begun_depths[i] = 0;
        }
    }
    for (unsigned i = threadIdx.x; i < size_classes * sublists; i += blockDim.x) control.free_lists[i / sublists][i % sublists] = 0;
    if (engine().replayed) {
        __threadfence_system();
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    control.done = 0;
    control.stop = not_stopped;
    for (unsigned place = 0; place < board_places; ++place) control.board[place] = 0;
    control.arena_taken = 0;
    control.free_batches = 0;
    control.stream_lock = 0;
    control.blocks_left = 0;
    control.deepest = 0;
    control.deepest_wait = 0;
    control.grids = 0;
    control.abandoned = 0;
    control.begun_at = 0;
    control.begun_count = 0;
    control.trace_batches = 0;
    for (ring_counters* ring : {&control.warp_ring, &control.block_ring}) {
        const unsigned long long given = stopped ? 0 : look(ring->given);
        ring->given = given;
        ring->hungry = 0;
        ring->tickets = given;  // tickets that were never served count as not taken
    }
    if (engine().replayed) __threadfence_system();  // the host may look at the result before it has seen the grid end
    put(result.finished, 1u);
}

/// What the warps of this worker block have counted, in one go: all worker blocks add to the same places.
__device__ inline void add_up_counts() {
    run_control& control = *engine().control;
    const warp_state* warps = &this_warp();
    unsigned long long grids = 0;
    unsigned deepest = 0, deepest_wait = 0;
    for (unsigned i = 0; i < blockDim.x / warp_size; ++i) {
        grids += warps[i].grids;
        deepest = max(deepest, warps[i].deepest);
        deepest_wait = max(deepest_wait, warps[i].deepest_wait);
    }
    if (grids != 0) atomicAdd(&control.grids, grids);
    if (deepest != 0) atomicMax(&control.deepest, deepest);
    if (deepest_wait != 0) atomicMax(&control.deepest_wait, deepest_wait);
}

__device__ __noinline__ inline void end_worker_block() {
    run_control& control = *engine().control;
    if (lane_rank() == 0 && look_in_block(this_block().gang.over) != run_is_complete && run_stopped()) {
        atomicAdd(&control.abandoned, count_abandoned());
        fence();
    }
    __syncthreads();
    unsigned last = 0;
#if !DYNPAR_NO_TRACE
    if (engine().trace != nullptr) {
        write_noted_children(this_warp().traced);
        if (threadIdx.x < warp_size) {
            write_noted_children(this_block().gang.traced);
            end_trace();
        }
        __syncthreads();
    }
#endif
    if (threadIdx.x == 0) {
        add_up_counts();
        fence();
        last = atomicAdd(&control.blocks_left, 1u) == gridDim.x - 1;
    }
    if (__syncthreads_or(static_cast<int>(last)) == 0) return;
    fence();
    finish_run();
}

/// DYNPAR_QUEUE_MOST_THREADS: the widest worker block that the resident grid is compiled for, and so the widest block that can run. A
/// kernel called through a pointer may use as many registers as are left to a thread then. In relocatable device code ptxas compiles
/// every function for itself, and the linker refuses one that needs more: so half the width there, and twice the registers.
#if !defined(DYNPAR_QUEUE_MOST_THREADS)
#if defined(__CUDACC_RDC__)
#define DYNPAR_QUEUE_MOST_THREADS 512
#else
#define DYNPAR_QUEUE_MOST_THREADS 1024
#endif
#endif

/// A run. The kernel of the first grid is part of the type, so that the resident grid is in one module with every kernel that can
/// come to run in it: device code that is not relocatable knows no function of another module.
template <class Kernel, class... Args>
__global__ void __launch_bounds__(DYNPAR_QUEUE_MOST_THREADS, 1)
    resident_grid(const __grid_constant__ engine_view view, const __grid_constant__ first_grid first,
                  const __grid_constant__ payload_of<Kernel, Args...> payload) {
    begin_worker_block(view, kernel_name<Kernel>());
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const bool on_lane = (first.task.info & info::width_mask) == info::on_lane;
        const wide_entry entry =
            on_lane ? reinterpret_cast<wide_entry>(&entry_points<Kernel, Args...>::wide_lane) : &entry_points<Kernel, Args...>::wide;
        wide_arguments arguments{};
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(arguments)) memcpy(&arguments, &payload, payload_bytes<Kernel, Args...>);
        begin_first_grid(first, entry, arguments, &payload, kernel_name<Kernel>());
    }
    __syncwarp();
    work();
    end_worker_block();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
