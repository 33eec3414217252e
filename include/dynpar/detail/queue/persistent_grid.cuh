// Queue engine: the persistent grid, which is a run, from the first task to the state that it leaves for the next run.
//
// Every worker block begins in begin_worker_block() and ends in end_worker_block(); the last one to end runs
// finish_run(). Between them work() owns the run, and nothing here is called. At both ends of the run, and only there,
// this file may write any member of run_control, warp_state, gang_state and run_result.
#pragma once

#include "observe/begun_kernels.cuh"
#include "engine_lock.cuh"
#include "first_grid.cuh"
#include "first_kernel.cuh"
#include "observe/trace.cuh"
#include "worker.cuh"

#if defined(__CUDACC__)

namespace dynpar {
namespace detail {
namespace queue {

#if DYNPAR_ON_DEVICE

/// All lanes of a warp: who is in the team of that number.
__device__ inline void begin_team(unsigned number) {
    const unsigned all = warps_of_worker_block();
    const unsigned depth = 31 - static_cast<unsigned>(__clz(static_cast<int>(number)));  // in the heap
    const unsigned size = number == 1 ? all : rounded_up_warps(all) >> depth;
    const unsigned first = (number - (1u << depth)) * size;
    if (lane_rank() != 0 || first + size > all) return;
    team_state& team = team_of_number(number);
    team.first_thread = first * warp_size;
    team.threads = size * warp_size;
}

/// All threads of a worker block: prepares its shared memory for the run. Inlined, since it reads the persistent grid's
/// parameters.
__device__ inline void begin_worker_block(const engine_view& view, text first_kernel, bool in_reserve,
                                          known_kernels& kernels) {
    const auto clear = [](void* memory, std::size_t bytes) {
        for (unsigned i = lane_rank(); i < bytes / sizeof(uint4); i += warp_size)
            static_cast<uint4*>(memory)[i] = make_uint4(0, 0, 0, 0);
        sync_warp();
    };
    static_assert(sizeof(warp_state) % sizeof(uint4) == 0 && sizeof(gang_state) % sizeof(uint4) == 0);
    clear(&this_warp(), sizeof(warp_state));
    if (lane_rank() == 0) {
        this_warp().depth = -1;
        this_warp().searches = 1;
        this_warp().stack_begin = stack_place();
    }
    if (is_last_warp()) {
        const unsigned* const from = reinterpret_cast<const unsigned*>(&view);
        unsigned* const to = reinterpret_cast<unsigned*>(&this_block().engine);
#pragma unroll
        for (unsigned i = lane_rank(); i < sizeof(engine_view) / sizeof(unsigned); i += warp_size) to[i] = from[i];
    }
    if (warp_rank() == warps_of_worker_block() / 2) begin_known_kernels(kernels);
    for (unsigned team = warp_rank(); team < team_states(warps_of_worker_block()); team += warps_of_worker_block()) {
        clear(&team_of_number(team), sizeof(team_state));
        if (team != 0) begin_team(team);
        sync_warp();
    }
    if (threadIdx.x < warp_size) {
        gang_state& gang = this_block().gang;
        clear(&gang, sizeof(gang));
        if (threadIdx.x == 0) {
            gang.searching = blockDim.x / warp_size;
            gang.knows_reserve = has_reserve(view) && !in_reserve ? 0 : 1;
            gang.chunk_lock = in_reserve ? 0 : 1;  // until the chunk that it begins with is open
#if !DYNPAR_NO_TRACE
            if (view.trace != nullptr) {
                begin_trace(first_kernel);
                // Before any record is written: whoever reads records and then this number knows whether they are all
                // of one run. The other worker blocks write none before this one has shown the first grid.
                if (blockIdx.x == 0) fetch_add_relaxed(view.trace->runs, 1u);
                fence();
            }
#endif
            note_first_kernel(first_kernel);
        }
    }
    __syncthreads();
    begin_with_memory();
    sync_warp();
#if !DYNPAR_NO_TRACE
    if (view.trace != nullptr && blockIdx.x == 0 && threadIdx.x == 0) keep_name(*view.trace, first_kernel);
    sync_warp();
#endif
}

/// Tasks in the segments of a chain from that one on.
__device__ inline unsigned long long count_spilled(arena_index segment) {
    unsigned long long count = 0;
    for (; segment != 0; segment = at<segment_header>(segment)->next) count += at<segment_header>(segment)->count;
    return count;
}
template <class Task>
__device__ inline unsigned long long count_spilled(spilled_tasks spilled) {
    if (spilled.head() == 0) return 0;
    return tasks_at_head<Task>(spilled) + count_spilled(at<segment_header>(spilled.head())->next);
}

/// Tasks of one warp that are left when a run was stopped; its worker block's tasks are counted by the first warp.
__device__ inline unsigned long long count_abandoned() {
    warp_state& warp = this_warp();
    unsigned long long left = warp.lane_owner_end - warp.lane_steal_end;
    left += warp.wide_owner_end - warp.wide_steal_end + warp.ready;
    left += count_spilled<lane_task>(warp.spilled_lanes) + count_spilled<wide_task>(warp.spilled_wides);
    if (threadIdx.x == 0) {
        gang_state& gang = this_block().gang;
        left +=
            gang.owner_end - gang.steal_end + gang.has_candidate + (open_grid_word(gang.chunk_left).left() > 0 ? 1 : 0);
        left += count_spilled(gang.spilled);
    }
    return left;
}

/// Empties a transfer cell after a stopped run. Returns how many tasks were in it.
__device__ inline unsigned take_away_donation(transfer_cell& slot) {
    const bool full = (load_relaxed(slot.turn) & 1) != 0;
    const unsigned count = full ? load_relaxed(slot.count) & ~transfer_cell::holds_wide : 0;
    slot.turn = 0;
    if ((count & transfer_cell::holds_segment) == 0) return count;
    return load_relaxed(at<segment_header>(load_relaxed(slot.segment()))->count);
}

/// The last worker block of a run: publishes the run's result and resets the control block for the next run.
__device__ inline void finish_run() {
    run_control& control = *engine().control;
    failure_table& failures = *engine().failures;
    run_result& result = *engine().result;
    // Read all at once: loads that wait for each other, and one read of host memory, would take longer than all the
    // rest.
    const unsigned stop = load_relaxed(control.stop);
    const unsigned empty_donations = load_relaxed(control.empty_donations);
    const unsigned long long failed_calls = load_relaxed(failures.failed_calls);
    const bool stopped = stop != not_stopped;
    unsigned long long donated[2] = {0, 0};
    unsigned donations = 0;
    const bool cells_may_be_full = stopped || empty_donations != 0;
    if (cells_may_be_full) {
        for (unsigned i = threadIdx.x; i <= engine().cell_mask; i += blockDim.x) {
            donations += take_away_donation(engine().warp_cells[i]) + take_away_donation(engine().block_cells[i]);
        }
        if (donations != 0) fetch_add_relaxed(control.at_stop.donations, donations);
        fence();
        __syncthreads();
        donations = load_relaxed(control.at_stop.donations);
    }
    if (threadIdx.x == 0) {
        unsigned long long abandoned = load_relaxed(control.abandoned) + donations;
        unsigned long long open_grids[open_grid_places];
        for (unsigned place = 0; place < open_grid_places; ++place)
            open_grids[place] = load_relaxed(control.open_grids[place]);
        const unsigned long long grids = load_relaxed(control.grids);
        const unsigned long long taken =
            min(load_relaxed(control.arena_taken), engine().arena_units - engine().arena_fresh);
        const unsigned reserve = load_relaxed(control.reserve);
        const unsigned deepest = load_relaxed(control.deepest);
        const unsigned deepest_wait = load_relaxed(control.deepest_wait);
        const unsigned shared_in_memory = load_relaxed(control.shared_in_memory);
        donated[0] = load_relaxed(control.warp_requests.donated);
        donated[1] = load_relaxed(control.block_requests.donated);
        result.grids = grids;
        unsigned long long used = taken + engine().arena_fresh - engine().arena_begin;
        // What a reserve would have begun with that was never called.
        if (engine().arena_fresh != engine().arena_begin && reserve != reserve_is_called)
            used -= (gridDim.x - engine().worker_blocks) * (blockDim.x / warp_size) * units_at_first;
        result.arena_bytes = used * unit_bytes;
        result.deepest = deepest;
        result.deepest_wait = deepest_wait;
        result.shared_in_memory = shared_in_memory;
        for (unsigned place = 0; stopped && place < open_grid_places; ++place) {
            if (open_grid_word(open_grids[place]).left() > 0) ++abandoned;
        }
        result.abandoned = abandoned;
        if (stopped)
            result.at_stop = {load_relaxed(control.at_stop.searching), load_relaxed(control.at_stop.running),
                              load_relaxed(control.at_stop.waits), donations};
        result.stopped = stop;
        if (device_trace* const trace = engine().trace; trace != nullptr) {
            result.traced = load_relaxed(trace->wanted);
            result.trace_places =
                static_cast<unsigned long long>(gridDim.x + load_relaxed(control.trace_batches)) * trace_batch::size;
            result.trace_run = load_relaxed(trace->runs);
            trace->wanted = 0;
            trace->streams = 0;
        } else {
            result.traced = 0;
        }
        if (failed_calls == 0) result.failures.failed_calls = 0;
    }
    if (failed_calls != 0) {  // so that the next run, or replay, counts only its own
        const unsigned* const from = reinterpret_cast<const unsigned*>(&failures);
        unsigned* const to = reinterpret_cast<unsigned*>(&result.failures);
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x)
            to[i] = load_relaxed(from[i]);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < sizeof(failure_table) / sizeof(unsigned); i += blockDim.x) {
            reinterpret_cast<unsigned*>(&failures)[i] = 0;
        }
    }
    // Cleared in every run, used or not: finding out would take another barrier, since thread 0 resets the counts
    // below.
    for (unsigned i = threadIdx.x; i < run_result::most_kernels; i += blockDim.x) {
        control.begun_kernels[i] = 0;
        control.begun_depths[i] = 0;
    }
    for (unsigned i = threadIdx.x; i < size_classes * tuning::free_lists; i += blockDim.x)
        control.free_lists[i / tuning::free_lists][i % tuning::free_lists] = 0;
    if (has_reserve(engine())) {
        for (unsigned i = threadIdx.x; i < run_control::multiprocessors; i += blockDim.x) control.begun_on[i] = 0;
    }
    // The host, or another run, waits for what the first thread writes last.
    if (engine().replayed || engine().locked) {
        fence_for_host();
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    control.done = 0;
    control.reserve = reserve_waits;
    control.stop = not_stopped;
    for (unsigned place = 0; place < open_grid_places; ++place) control.open_grids[place] = 0;
    control.arena_taken = 0;
    control.node_depot = 0;
    control.piece_depot = 0;
    control.stream_lock = 0;
    control.first_places = 0;
    control.first_chunks = 0;
    control.blocks_left = 0;
    control.deepest = 0;
    control.deepest_wait = 0;
    control.shared_in_memory = 0;
    control.grids = 0;
    control.abandoned = 0;
    if (cells_may_be_full) {
        control.at_stop = {};
        control.empty_donations = 0;
    }
    control.begun_at = 0;
    control.begun_count = 0;
    control.trace_batches = 0;
    request_counters* const all_requests[2] = {&control.warp_requests, &control.block_requests};
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
        if (cells_may_be_full) donated[i] = 0;
        all_requests[i]->donated = donated[i];
        all_requests[i]->open = 0;
        all_requests[i]->posted = donated[i];  // a request that was never served counts as not posted
    }
    if (engine().replayed) fence_for_host();  // the host may read the result before it has seen the grid end
    store_relaxed(result.finished, 1u);
    if (engine().locked) leave_engine(control);
}

/// The first warp: adds what the warps of this worker block have counted to the run's totals. In one go, since all
/// worker blocks add to the same words.
__device__ inline void add_up_counts() {
    const unsigned lane = lane_rank();
    const warp_state* const warps = &this_warp();
    const bool is_warp = lane < blockDim.x / warp_size;
    unsigned long long grids = is_warp ? warps[lane].grids : 0;
    for (unsigned distance = warp_size / 2; distance != 0; distance /= 2)
        grids += __shfl_xor_sync(all_lanes, grids, distance);
    const unsigned deepest = __reduce_max_sync(all_lanes, is_warp ? warps[lane].deepest : 0);
    const unsigned deepest_wait = __reduce_max_sync(all_lanes, is_warp ? warps[lane].deepest_wait : 0);
    if (lane != 0) return;
    run_control& control = *engine().control;
    if (grids != 0) fetch_add_relaxed(control.grids, grids);
    if (deepest != 0) fetch_max_relaxed(control.deepest, deepest);
    if (deepest_wait != 0) fetch_max_relaxed(control.deepest_wait, deepest_wait);
}

/// One thread: counts this worker block as ended. Releases all that it has written and seen others write; the last one
/// acquires what all others have released.
__device__ inline bool is_last_to_end(run_control& control) {
    return fetch_add_acq_rel(reinterpret_cast<int&>(control.blocks_left), 1) == static_cast<int>(gridDim.x) - 1;
}

__device__ __noinline__ inline void end_worker_block() {
    const bool stopped =
        lane_rank() == 0 && load_relaxed_in_block(this_block().gang.over) != run_is_complete && run_stopped();
    if (__syncthreads_or(static_cast<int>(stopped)) != 0) {  // no other warp changes anything any more
        if (lane_rank() == 0) fetch_add_relaxed(engine().control->abandoned, count_abandoned());
        fence();
        __syncthreads();
    }
    unsigned last = 0;
#if !DYNPAR_NO_TRACE
    if (engine().trace != nullptr) {
        write_noted_children(this_warp().traced);
        if (threadIdx.x < warp_size) end_trace();
        __syncthreads();
    }
#endif
    if (threadIdx.x < warp_size) add_up_counts();
    if (threadIdx.x == 0) last = is_last_to_end(*engine().control);
    if (__syncthreads_or(static_cast<int>(last)) != 0) finish_run();
}

#endif

/// DYNPAR_QUEUE_MOST_THREADS: the widest worker block that the persistent grid is compiled for, and so the widest block
/// that can run. It bounds the registers of every kernel, since a kernel called through a pointer may use as many as
/// are left to a thread. In relocatable device code ptxas compiles each function separately, and the linker refuses one
/// that needs more; so the width there is half, and the registers are twice as many.
#if !defined(DYNPAR_QUEUE_MOST_THREADS)
#if defined(__CUDACC_RDC__)
#define DYNPAR_QUEUE_MOST_THREADS 512
#else
#define DYNPAR_QUEUE_MOST_THREADS 1024
#endif
#endif

#if DYNPAR_ON_DEVICE
/// The host has made sure that no kernel has variables there, so this is a GPU or a tool that nobody has tried.
__device__ __noinline__ inline void refuse_shared_memory() {
    if (threadIdx.x != 0 || blockIdx.x != 0) return;  // who trapped first would end what is printed
    printf("dynpar: shared memory does not begin at byte %u here; compile with -DDYNPAR_QUEUE_SHARED_BY_NAME=1\n",
           first_shared_byte);
    __trap();
}
#endif

/// What is known of a module's kernels.
template <class Module>
__device__ known_kernels kernels_of;

/// A run.
template <class Module, unsigned PayloadRoom>
__global__ void __launch_bounds__(DYNPAR_QUEUE_MOST_THREADS, 1)
    persistent_grid(const __grid_constant__ engine_view view, const __grid_constant__ first_grid first,
                    const __grid_constant__ payload_room<PayloadRoom> payload) {
#if DYNPAR_ON_DEVICE
    // nvcc 13.0 defines functions in the order in which it meets them, and forgets the convention of one that a
    // function before it calls (entry_convention.cuh). So they are named here, those first that others call.
    static_cast<void>(&run_claimed_on_lanes);
    static_cast<void>(&run_of_chunk);
    static_cast<void>(&run_newest_wide_on_lanes);
    static_cast<void>(&run_wide);
    static_cast<void>(&find_work);
    static_cast<void>(&work);
    if (!has_worker_memory()) return refuse_shared_memory();
    const bool in_reserve = is_in_reserve(view);
    if (in_reserve && !wait_to_be_called(*view.control)) {
        const bool last = threadIdx.x == 0 && is_last_to_end(*view.control);
        if (__syncthreads_or(static_cast<int>(last)) == 0) return;
        begin_worker_block(view, first.kernel, in_reserve, kernels_of<Module>);
        finish_run();
        return;
    }
    const unsigned chunk = is_last_warp() && !in_reserve ? number_of_first_chunk(view, first) : 0;
    begin_worker_block(view, first.kernel, in_reserve, kernels_of<Module>);
    if (is_last_warp() && !in_reserve) begin_first_grid(chunk, first, &payload);
    work();
    end_worker_block();
#endif
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
