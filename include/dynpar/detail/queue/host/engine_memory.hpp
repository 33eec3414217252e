// Queue engine: the device memory of an engine, all of it allocated when the engine is made.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "../../least_greatest.hpp"
#include "../memory/state.cuh"
#include "cuda_handles.hpp"
#include "queue_options.hpp"

namespace dynpar {
namespace detail {
namespace queue {

class engine_memory {
public:
    /// Throws `std::invalid_argument` if there cannot be an engine with these options, whatever the device has: before
    /// anything is allocated.
    static void check_options(const queue_options& options) {
        constexpr std::size_t most_traced = trace_batch::most_grids / 2;  // as allocate_trace() says
        if (options.trace_grids > most_traced) {
            throw std::invalid_argument("dynpar: engine_options::trace_grids is " +
                                        std::to_string(options.trace_grids) + ": on the queue engine give at most " +
                                        std::to_string(most_traced));
        }
        if (options.memory_bytes != 0) {
            check_memory("queue_options::memory_bytes", options.memory_bytes);
        } else if (options.limits.heap_bytes) {
            check_memory("limits::heap_bytes", *options.limits.heap_bytes);
        }
    }

    /// For so many warps on the whole device, in worker blocks of at least `least_threads`. Puts into the options what
    /// was not given.
    engine_memory(queue_options& options, unsigned most_warps, unsigned least_threads) {
        control_ = allocate<run_control>(1, "the queue engine's state");
        failures_ = allocate<failure_table>(1, "the queue engine's table of failures");
        const std::size_t warps = most_warps;
        lane_deques_ = allocate<lane_task>(warps * tuning::lane_deque_capacity, "the queue engine's deques");
        ready_continuations_ = allocate<arena_index>(warps * most_ready, "the queue engine's continuations");
        wide_deques_ = allocate<wide_task>(warps * tuning::wide_deque_capacity, "the queue engine's deques");
        // A worker block that runs block tasks has two warps at least.
        block_deques_ = allocate<wide_task>(warps / 2 * tuning::block_deque_capacity, "the queue engine's deques");
        free_nodes_ = allocate<arena_index>(warps * tuning::node_cache_capacity, "the queue engine's free grid nodes");
        free_pieces_ = allocate<arena_index>(warps * tuning::piece_cache_capacity, "the queue engine's free pieces");
        if (options.trace_grids != 0) allocate_trace(options, most_warps / (least(least_threads, 128u) / warp_size));
        // Room for a request and a donation of every warp, and then as many again.
        while (cells_ < 2 * warps) cells_ *= 2;
        warp_cells_ = allocate<transfer_cell>(cells_, "the queue engine's transfer cells");
        block_cells_ = allocate<transfer_cell>(cells_, "the queue engine's transfer cells");
        allocate_arena(options);
        clear();
    }

    /// What a run has to know of it; in each of so many warps.
    void describe(engine_view& v, std::size_t warps) const {
        v.control = control_;
        v.failures = failures_;
        v.trace = trace_;
        v.trace_records = trace_records_;
        v.trace_capacity = static_cast<unsigned>(trace_capacity_);
        v.arena_begin = v.arena_fresh = arena_begin_;
        const std::size_t at_first = warps * units_at_first;
        if (at_first <= (arena_units_ - arena_begin_) / 4) v.arena_fresh += static_cast<arena_index>(at_first);
        v.arena = arena_;
        v.arena_units = arena_units_;
        v.lane_deques = lane_deques_;
        v.wide_deques = wide_deques_;
        v.block_deques = block_deques_;
        v.ready_continuations = ready_continuations_;
        v.free_nodes = free_nodes_;
        v.free_pieces = free_pieces_;
        v.warp_cells = warp_cells_;
        v.block_cells = block_cells_;
        v.cell_mask = static_cast<unsigned>(cells_ - 1);
        while (std::size_t{1} << v.cell_shift < cells_) ++v.cell_shift;
    }

    run_control* control() const { return control_; }
    device_trace* trace() const { return trace_; }  ///< null if there is to be none
    device_trace_record* trace_records() const { return trace_records_; }
    std::size_t trace_capacity() const { return trace_capacity_; }
    std::size_t arena_bytes() const { return arena_units_ * unit_bytes; }
    std::size_t bytes_for_grids() const { return (arena_units_ - arena_begin_ + 1) * unit_bytes; }

private:
    /// So many elements of a trivial type, for `what`.
    template <class T>
    T* allocate(std::size_t count, const char* what) {
        return static_cast<T*>(memory_.add(allocate_on_device(count * sizeof(T), what)));
    }
    void allocate_trace(const queue_options& options, std::size_t worker_blocks) {
        // Every worker block may have taken more numbers than it needed: half of all numbers are for these.
        trace_capacity_ = options.trace_grids + worker_blocks * (trace_batch::size - 1);
        trace_ = allocate<device_trace>(1, "the trace");
        trace_records_ = allocate<device_trace_record>(trace_capacity_, "the trace (engine_options::trace_grids)");
        const auto trace = std::make_unique<device_trace>();
        trace->capacity = static_cast<unsigned>(trace_capacity_);
        trace->records = trace_records_;
        check(cudaMemcpy(trace_, trace.get(), sizeof(device_trace), cudaMemcpyHostToDevice), "preparing the trace");
    }
    void allocate_arena(queue_options& options) {
        std::size_t free_bytes = 0, all_bytes = 0;
        check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free device memory");
        if (options.memory_bytes == 0) {
            options.memory_bytes = options.limits.heap_bytes.value_or(least(std::size_t{4} << 30, free_bytes / 4));
        }
        check_memory("queue_options::memory_bytes, not given,", options.memory_bytes);  // the device is full
        arena_begin_ = traced_descriptors + static_cast<arena_index>(trace_capacity_) * traced_descriptor_units;
        // Places are 32 bits, with one bit kept for other uses.
        arena_units_ =
            least<std::size_t>(arena_begin_ - 1 + options.memory_bytes / unit_bytes, (std::size_t{1} << 31) - 1);
        arena_ = allocate<unsigned char>(
            arena_bytes(), options.trace_grids != 0
                               ? "the queue engine's memory for grids (queue_options::memory_bytes, and 128 bytes for "
                                 "each of engine_options::trace_grids)"
                               : "the queue engine's memory for grids (queue_options::memory_bytes)");
    }
    static void check_memory(const char* option, std::size_t bytes) {
        constexpr std::size_t least = 1024 * unit_bytes;
        if (bytes >= least) return;
        throw std::invalid_argument(std::string("dynpar: ") + option + " is " + std::to_string(bytes) +
                                    ", too little for the queue engine: give at least " + std::to_string(least));
    }
    void clear() {
        check(cudaMemset(warp_cells_, 0, cells_ * sizeof(transfer_cell)), "clearing the queue engine's transfer cells");
        check(cudaMemset(block_cells_, 0, cells_ * sizeof(transfer_cell)),
              "clearing the queue engine's transfer cells");
        check(cudaMemset(failures_, 0, sizeof(failure_table)), "clearing the queue engine's table of failures");
        check(cudaMemset(control_, 0, sizeof(run_control)), "preparing the queue engine's state");
        check(cudaDeviceSynchronize(), "preparing the queue engine");
    }

    owned_together<device_memory> memory_;  // all of it, which what follows points to
    std::size_t cells_ = 1;                 // of each kind
    std::size_t arena_units_ = 0;
    std::size_t trace_capacity_ = 0;
    arena_index arena_begin_ = 1;
    run_control* control_ = nullptr;
    failure_table* failures_ = nullptr;
    device_trace* trace_ = nullptr;
    device_trace_record* trace_records_ = nullptr;
    lane_task* lane_deques_ = nullptr;
    wide_task* wide_deques_ = nullptr;
    wide_task* block_deques_ = nullptr;
    arena_index* ready_continuations_ = nullptr;
    arena_index* free_nodes_ = nullptr;
    arena_index* free_pieces_ = nullptr;
    transfer_cell* warp_cells_ = nullptr;
    transfer_cell* block_cells_ = nullptr;
    unsigned char* arena_ = nullptr;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
