// Queue engine: the resident grid that is a run, from its first task to the state it leaves for the next run.
#pragma once

#include "entry_points.cuh"
#include "launch.cuh"
#include "worker.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

/// All threads of a worker block.
__device__ __noinline__ inline void begin_worker_block(const engine_view& view) {
    unsigned* words = reinterpret_cast<unsigned*>(worker_memory);
    for (unsigned i = threadIdx.x; i < state_bytes(blockDim.x) / sizeof(unsigned); i += blockDim.x) words[i] = 0;
    __syncthreads();
    if (threadIdx.x == 0) this_block().engine = view;
    if (lane_rank() == 0) {
        this_warp().depth = -1;
        this_warp().stack_begin = stack_place();
    }
    __syncthreads();
}

/// The first thread of the run: the grid that the host asked for.
__device__ __noinline__ inline void launch_first_grid(launch_request& request, const shape& s) {
    if (engine().deadline_nanoseconds != 0) put(engine().control->begun_at, device_nanoseconds());
    if (engine().trace != nullptr) request.info |= info::traced;
    if (admit(request, s) != status::success) return;
    if (const status result = launch_with_record(request, s, 0); result != status::success) lose(request, s, result);
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
        left += gang.top - gang.bottom + gang.has_candidate;
        for (arena_index chunk = gang.spilled; chunk != 0; chunk = at<chunk_header>(chunk)->next) left += at<chunk_header>(chunk)->count;
    }
    return left;
}

/// The last worker block of a run: says what there is to say, and leaves everything as it was found.
__device__ inline void finish_run() {
    run_control& control = *engine().control;
    const bool stopped = look(control.stop) != not_stopped;
    if (stopped) {  // gifts may lie in their slots
        for (unsigned i = threadIdx.x; i <= engine().ring_mask; i += blockDim.x) {
            engine().warp_slots[i].turn = 0;
            engine().block_slots[i].turn = 0;
        }
        __syncthreads();
    }
    if (look(control.begun_count) != 0) {
        for (unsigned i = threadIdx.x; i < run_result::most_kernels; i += blockDim.x) {
            control.begun_kernels[i] = 0;
            control.begun_depths[i] = 0;
        }
        __syncthreads();
    }
    failure_table& failures = *engine().failures;
    if (look(failures.failed_calls) != 0) {  // so that the next run, or replay, counts its own
        const unsigned* const from = reinterpret_cast<const unsigned*>(&failures);
        unsigned* const to = reinterpret_cast<unsigned*>(&engine().result->failures);
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x) to[i] = look(from[i]);
        __threadfence_system();
        __syncthreads();
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x) {
            reinterpret_cast<unsigned*>(&failures)[i] = 0;
        }
    } else if (threadIdx.x == 0) {
        engine().result->failures.failed_calls = 0;
    }
    for (unsigned i = threadIdx.x; i < size_classes * sublists; i += blockDim.x) control.free_lists[i / sublists][i % sublists] = 0;
    if (threadIdx.x != 0) return;
    for (unsigned place = 0; stopped && place < board_places; ++place) {
        if (board_word(look(control.board[place])).left() > 0) control.abandoned += 1;
    }
    run_result& result = *engine().result;
    result.traced = 0;
    if (engine().trace != nullptr) {
        result.traced = look(engine().trace->wanted);
        engine().trace->wanted = 0;
        engine().trace->streams = 0;
    }
    result.grids = look(control.grids);
    result.abandoned = look(control.abandoned);
    result.arena_bytes = (look(control.arena_next) - engine().arena_begin) * unit_bytes;
    result.deepest = look(control.deepest);
    result.deepest_wait = look(control.deepest_wait);
    result.stopped = look(control.stop);
    __threadfence_system();
    result.finished = look(result.finished) + 1;

    control.done = 0;
    control.stop = not_stopped;
    for (unsigned place = 0; place < board_places; ++place) {
        control.board[place] = 0;
    }
    control.arena_next = engine().arena_begin;
    control.free_batches = 0;
    control.stream_lock = 0;
    control.blocks_left = 0;
    control.deepest = 0;
    control.deepest_wait = 0;
    control.grids = 0;
    control.abandoned = 0;
    control.begun_at = 0;
    control.begun_count = 0;
    for (ring_counters* ring : {&control.warp_ring, &control.block_ring}) {
        ring->given = stopped ? 0 : look(ring->given);
        ring->hungry = 0;
        ring->tickets = ring->given;  // tickets that were never served count as not taken
    }
    __threadfence_system();
}

__device__ __noinline__ inline void end_worker_block() {
    run_control& control = *engine().control;
    const warp_state& warp = this_warp();
    if (lane_rank() == 0) {
        if (warp.grids != 0) atomicAdd(&control.grids, warp.grids);
        if (warp.deepest != 0) atomicMax(&control.deepest, warp.deepest);
        if (warp.deepest_wait != 0) atomicMax(&control.deepest_wait, warp.deepest_wait);
        if (run_stopped()) atomicAdd(&control.abandoned, count_abandoned());
    }
    __threadfence();
    __syncthreads();
    unsigned last = 0;
    if (threadIdx.x == 0) last = atomicAdd(&control.blocks_left, 1u) == gridDim.x - 1;
    if (__syncthreads_or(static_cast<int>(last)) == 0) return;
    __threadfence();
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
__global__ void __launch_bounds__(DYNPAR_QUEUE_MOST_THREADS, 1) resident_grid(engine_view view, shape s, payload_of<Kernel, Args...> payload) {
    begin_worker_block(view);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        launch_request request = make_request<Kernel, Args...>(payload, operation::launch, 0, 0, 0, false);
        launch_first_grid(request, s);
    }
    __syncwarp();
    work();
    end_worker_block();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
