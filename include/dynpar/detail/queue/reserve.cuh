// Queue engine: the reserve: a second worker block on each multiprocessor, which waits when a run begins.
//
// Warps that run short blocks of a warp wait for their instructions most of the time, so twice as many get more done;
// and teams of four warps or more wait for each other. Lanes that join, and grids that stream through memory, only
// crowd each other out of the first-level cache. So a warp or a team that sees many short grids of its width calls the
// reserve, or a warp that sees a grid of very many such blocks. If none does for a millisecond, the reserve ends, since
// other kernels may want its place. Until it is called, it has no part in the run.
//
// Which worker blocks are the reserve turns out when they begin: those that find another on their multiprocessor. CUDA
// does not say where it puts blocks, and some multiprocessors get two before others have any; by number the reserve
// would leave those idle. Worker block 0, which begins the run, is never in the reserve.
//
// Owns gang_state::knows_reserve, and run_control's reserve and begun_on but for the end of a run.
#pragma once

#include "../device_trace.cuh"
#include "queues/open_grids.cuh"
#include "queues/task_deque.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

__device__ inline bool has_reserve(const engine_view& view) { return gridDim.x != view.worker_blocks; }

/// All threads of a worker block that begins.
__device__ inline bool is_in_reserve(const engine_view& view) {
    if (!has_reserve(view)) return false;
    unsigned before = 0;
    if (threadIdx.x == 0)
        before = fetch_add_relaxed(view.control->begun_on[multiprocessor() % run_control::multiprocessors], 1u);
    if (blockIdx.x == 0) return false;
    return __syncthreads_or(static_cast<int>(before)) != 0;
}

/// All threads of a worker block of the reserve, which has no state yet: false if the run has ended, or if it has
/// waited long enough.
__device__ __noinline__ inline bool wait_to_be_called(run_control& control) {
    unsigned seen = reserve_waits;
    if (threadIdx.x == 0) {
        const unsigned begun = cycles_now();
        while ((seen = load_relaxed(control.reserve)) == reserve_waits &&
               cycles_now() - begun < tuning::reserve_waits_cycles)
            // The run waits for the reserve when it ends: for a small part of its time.
            __nanosleep(min(max((cycles_now() - begun) / tuning::reserve_looks_part, tuning::reserve_poll_nanoseconds),
                            tuning::reserve_most_poll_nanoseconds));
    }
    return __syncthreads_or(static_cast<int>(seen == reserve_is_called)) != 0;
}

/// One lane.
__device__ inline void call_reserve() {
    store_relaxed_in_block(this_block().gang.knows_reserve, 1u);
    compare_exchange_relaxed(engine().control->reserve, static_cast<unsigned>(reserve_waits), reserve_is_called);
}

/// All lanes of a warp that has run a block of its worker block's chunk, in so many cycles: calls the reserve if it
/// would help. Where blocks take long, more warps mostly wait for the same memory, and end at more different times.
__device__ inline void call_reserve_for_blocks(unsigned cycles) {
    gang_state& gang = this_block().gang;
    if (lane_rank() != 0 || cycles > tuning::reserve_step_cycles || load_relaxed_in_block(gang.knows_reserve) != 0)
        return;
    const std::uint32_t many = engine().worker_blocks * (blockDim.x / warp_size) * tuning::reserve_least_blocks;
    for (std::uint32_t& place : gang.open_grids) {
        const open_grid_word seen(load_relaxed_in_block(place));
        if (seen.width() == info::on_warp && seen.left() >= static_cast<int>(many)) return call_reserve();
    }
}

/// The first thread of a team of so many threads, which has run `reserve_from_steps` blocks one after another, the
/// last in so many cycles each: calls the reserve if it would help. With blocks of a large grid, or narrower ones, two
/// worker blocks of a multiprocessor keep each other from their instructions. Out of line: most blocks do not come
/// here.
__device__ __noinline__ inline void call_reserve_for_team(unsigned threads, unsigned cycles) {
    if (threads >= tuning::reserve_least_team_threads && cycles <= tuning::reserve_step_cycles &&
        load_relaxed_in_block(this_block().gang.knows_reserve) == 0 &&
        block_tasks_on_deque() >= tuning::reserve_least_tasks)
        call_reserve();
}

/// All lanes of a warp that has wide tasks and waits for nothing, after several steps: calls the reserve if it would
/// help. `cycles`: that these `steps` took, each of which ran one of them.
__device__ inline void call_reserve_if_useful(unsigned cycles, unsigned steps) {
    const gang_state& gang = this_block().gang;
    const warp_state& warp = this_warp();
    if (lane_rank() != 0 || cycles > steps * tuning::reserve_step_cycles ||
        load_relaxed_in_block(gang.knows_reserve) != 0 ||
        warp.wide_owner_end - warp.wide_steal_end < tuning::reserve_least_tasks)
        return;
    if ((slot<wide_task>(warp.wide_owner_end - 1).info & info::width_mask) != info::on_warp) return;
    call_reserve();
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
