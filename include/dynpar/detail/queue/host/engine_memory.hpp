// Queue engine: the device memory of an engine, all of it allocated when the engine is made.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>

#include "../memory/state.cuh"
#include "cuda_handles.hpp"
#include "queue_options.hpp"

namespace dynpar {
namespace detail {
namespace queue {

class engine_memory {
public:
    /// For so many warps on the whole device, in worker blocks of at least `least_threads`. Puts into the options what
    /// was not given.
    engine_memory(queue_options& options, unsigned most_warps, unsigned least_threads) {
        control_ = allocate_on_device<run_control>(sizeof(run_control), "the queue engine's state");
        failures_ = allocate_on_device<failure_table>(sizeof(failure_table), "the queue engine's table of failures");
        const std::size_t warps = most_warps;
        lane_deques_ = allocate_on_device<lane_task>(warps * tuning::lane_deque_capacity * sizeof(lane_task),
                                                     "the queue engine's deques");
        ready_continuations_ = allocate_on_device<arena_index>(warps * most_ready * sizeof(arena_index),
                                                               "the queue engine's continuations");
        wide_deques_ = allocate_on_device<wide_task>(warps * tuning::wide_deque_capacity * sizeof(wide_task),
                                                     "the queue engine's deques");
        // A worker block that runs block tasks has two warps at least.
        block_deques_ = allocate_on_device<wide_task>(warps / 2 * tuning::block_deque_capacity * sizeof(wide_task),
                                                      "the queue engine's deques");
        free_nodes_ = allocate_on_device<arena_index>(warps * tuning::node_cache_capacity * sizeof(arena_index),
                                                      "the queue engine's free grid nodes");
        free_pieces_ = allocate_on_device<arena_index>(warps * tuning::piece_cache_capacity * sizeof(arena_index),
                                                       "the queue engine's free pieces");
        if (options.trace_grids != 0) allocate_trace(options, most_warps / (std::min(least_threads, 128u) / warp_size));
        // Room for a request and a donation of every warp, and then as many again.
        while (cells_ < 2 * warps) cells_ *= 2;
        warp_cells_ =
            allocate_on_device<transfer_cell>(cells_ * sizeof(transfer_cell), "the queue engine's transfer cells");
        block_cells_ =
            allocate_on_device<transfer_cell>(cells_ * sizeof(transfer_cell), "the queue engine's transfer cells");
        allocate_arena(options);
        clear();
    }

    /// What a run has to know of it; in each of so many warps.
    void describe(engine_view& v, std::size_t warps) const {
        v.control = control_.get();
        v.failures = failures_.get();
        v.trace = trace_.get();
        v.trace_records = trace_records_.get();
        v.trace_capacity = static_cast<unsigned>(trace_capacity_);
        v.arena_begin = v.arena_fresh = arena_begin_;
        const std::size_t at_first = warps * units_at_first;
        if (at_first <= (arena_units_ - arena_begin_) / 4) v.arena_fresh += static_cast<arena_index>(at_first);
        v.arena = arena_.get();
        v.arena_units = arena_units_;
        v.lane_deques = lane_deques_.get();
        v.wide_deques = wide_deques_.get();
        v.block_deques = block_deques_.get();
        v.ready_continuations = ready_continuations_.get();
        v.free_nodes = free_nodes_.get();
        v.free_pieces = free_pieces_.get();
        v.warp_cells = warp_cells_.get();
        v.block_cells = block_cells_.get();
        v.cell_mask = static_cast<unsigned>(cells_ - 1);
        while (std::size_t{1} << v.cell_shift < cells_) ++v.cell_shift;
    }

    run_control* control() const { return control_.get(); }
    device_trace* trace() const { return trace_.get(); }  ///< null if there is to be none
    device_trace_record* trace_records() const { return trace_records_.get(); }
    std::size_t trace_capacity() const { return trace_capacity_; }
    std::size_t arena_bytes() const { return arena_units_ * unit_bytes; }
    std::size_t bytes_for_grids() const { return (arena_units_ - arena_begin_ + 1) * unit_bytes; }

private:
    void allocate_trace(queue_options& options, std::size_t worker_blocks) {
        // Every worker block may have taken more numbers than it needed.
        options.trace_grids = std::min(options.trace_grids, trace_batch::most_grids / 2);
        trace_capacity_ = options.trace_grids + worker_blocks * (trace_batch::size - 1);
        trace_ = allocate_on_device<device_trace>(sizeof(device_trace), "the trace");
        trace_records_ = allocate_on_device<device_trace_record>(trace_capacity_ * sizeof(device_trace_record),
                                                                 "the trace (engine_options::trace_grids)");
        const auto trace = std::make_unique<device_trace>();
        trace->capacity = static_cast<unsigned>(trace_capacity_);
        trace->records = trace_records_.get();
        check(cudaMemcpy(trace_.get(), trace.get(), sizeof(device_trace), cudaMemcpyHostToDevice),
              "preparing the trace");
    }
    void allocate_arena(queue_options& options) {
        std::size_t free_bytes = 0, all_bytes = 0;
        check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free device memory");
        if (options.memory_bytes == 0) {
            options.memory_bytes = options.limits.heap_bytes.value_or(std::min(std::size_t{4} << 30, free_bytes / 4));
        }
        if (options.memory_bytes < 1024 * unit_bytes) {
            throw std::invalid_argument("dynpar: queue_options::memory_bytes is too small: give at least 65536");
        }
        arena_begin_ = traced_descriptors + static_cast<arena_index>(trace_capacity_) * traced_descriptor_units;
        // Places are 32 bits, with one bit kept for other uses.
        arena_units_ =
            std::min<std::size_t>(arena_begin_ - 1 + options.memory_bytes / unit_bytes, (std::size_t{1} << 31) - 1);
        arena_ = allocate_on_device<unsigned char>(arena_bytes(),
                                                   "the queue engine's memory for grids (queue_options::memory_bytes)");
    }
    void clear() {
        check(cudaMemset(warp_cells_.get(), 0, cells_ * sizeof(transfer_cell)),
              "clearing the queue engine's transfer cells");
        check(cudaMemset(block_cells_.get(), 0, cells_ * sizeof(transfer_cell)),
              "clearing the queue engine's transfer cells");
        check(cudaMemset(failures_.get(), 0, sizeof(failure_table)), "clearing the queue engine's table of failures");
        check(cudaMemset(control_.get(), 0, sizeof(run_control)), "preparing the queue engine's state");
        check(cudaDeviceSynchronize(), "preparing the queue engine");
    }

    std::size_t cells_ = 1;  // of each kind
    std::size_t arena_units_ = 0;
    std::size_t trace_capacity_ = 0;
    arena_index arena_begin_ = 1;
    device_pointer<run_control> control_;
    device_pointer<failure_table> failures_;
    device_pointer<device_trace> trace_;
    device_pointer<device_trace_record> trace_records_;
    device_pointer<lane_task> lane_deques_;
    device_pointer<wide_task> wide_deques_;
    device_pointer<wide_task> block_deques_;
    device_pointer<arena_index> ready_continuations_;
    device_pointer<arena_index> free_nodes_;
    device_pointer<arena_index> free_pieces_;
    device_pointer<transfer_cell> warp_cells_;
    device_pointer<transfer_cell> block_cells_;
    device_pointer<unsigned char> arena_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
