// The queue engine: nested grids as tasks of one persistent grid, scheduled in software on the GPU.
#pragma once

#include "../platform.hpp"

#if !DYNPAR_HAS_QUEUE_ENGINE
#error "dynpar: the queue engine needs nvcc and compute capability 7.0 or newer in every architecture: -arch=sm_70 ..."
#endif

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "../block.hpp"
#include "../cuda_error.hpp"
#include "../detail/cuda_memory.hpp"
#include "../detail/launch_check.hpp"
#include "../detail/launch_grid.cuh"
#include "../detail/least_greatest.hpp"
#include "../detail/queue/host/host_side.hpp"
#include "../detail/queue/persistent_grid.cuh"
#include "../detail/run_range.hpp"
#include "../detail/run_stream.hpp"
#include "../engine_options.hpp"
#include "../report.hpp"
#include "basic_engine.hpp"

namespace dynpar {

/// A run of the queue engine in progress. Its destructor waits for the run and discards the report.
class queue_handle {
public:
    /// Waits until the run is complete, and returns its report, failures included. Throws `kernel_fault`, `cuda_error`,
    /// and `deadlock_error` if the run was stopped by its deadline.
    report wait() { return run_->wait(); }
    /// Whether the run is complete. Does not wait.
    bool is_complete() const { return run_->is_complete(); }

private:
    friend class queue_engine;
    explicit queue_handle(std::shared_ptr<detail::queue::pending_run> run) : run_(std::move(run)) {}

    std::shared_ptr<detail::queue::pending_run> run_;
};

/// Runs kernels inside one persistent grid: a child grid is a task of 32 or 64 bytes. For small grids it reaches
/// thousands of times the rate of the device runtime. It needs no relocatable device code. How it works:
/// docs/queue-engine.md; what a task costs: docs/tuning.md.
///
/// A block of one thread runs on a lane, up to 32 threads on a warp, more on a worker block, whose warps then all work
/// on it. The engine allocates its memory when it is made.
class queue_engine : public basic_engine<queue_engine> {
public:
    using basic_engine::try_run;
    using block_type = detail::queue::lane_block;  ///< what kernels get, on a lane

    /// As in `--engine queue`.
    static constexpr const char* name = "queue";

    /// On the current device. Throws `cuda_error` if there is no usable device, or not enough memory.
    explicit queue_engine(const queue_options& options = {})
        : host_(std::make_shared<detail::queue::host_side>(options)) {}

    /// Runs a grid and everything launched from it; returns when all of it is complete. Calls that failed are in the
    /// report. Throws `kernel_fault` if a kernel broke (the CUDA context is then lost), `deadlock_error` if the
    /// deadline has passed, `cuda_error`.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    report try_run(Kernel kernel, const shape& s, Args... args) {
        const detail::run_range range(name, kernel_name<Kernel>());
        detail::follow_default_stream(host_->stream());
        return enqueue(host_->stream(), kernel, s, args...).wait();
    }

    /// Begins a run in stream order and returns at once. Runs of one engine follow one another, also from different
    /// streams; for concurrent runs make several engines and give each fewer `worker_blocks`. If the stream is being
    /// captured, the run becomes part of the graph; after a wait for the graph's stream the handle says what the latest
    /// replay did. A traced run first waits for the engine's previous run and reads its trace.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    queue_handle enqueue(cudaStream_t stream, Kernel kernel, const shape& given, Args... args) {
        namespace queue = detail::queue;
        check_kernel<queue::lane_block, Kernel, Args...>();
        check_kernel<queue::wide_block, Kernel, Args...>();
        const detail::shape_of_launch<Kernel> s(given);
        const text kernel_text = kernel_name<Kernel>();
        constexpr auto grid_of_module =
            &queue::persistent_grid<module_type, sizeof(queue::first_payload<Kernel, Args...>)>;
        const void* const grid = reinterpret_cast<const void*>(grid_of_module);
        const unsigned most_worker_threads = host_->launcher().most_worker_threads(grid);
        if (const status why = host_->launcher().check_first(s, most_threads<Kernel>(), most_worker_threads);
            why != status::success) {
            return queue_handle(host_->refuse(kernel_text, s, why, most_threads<Kernel>()));
        }
        const auto payload = queue::make_first_payload(kernel, args...);
        const queue::first_kernel there = find<module_type, Kernel, Args...>();
        const unsigned threads = host_->launcher().block_threads_for(s, most_worker_threads);
        const unsigned bytes = host_->launcher().shared_bytes_for(threads);
        // A trace's room is for the worker blocks that begin at once.
        const queue::worker_block_counts blocks =
            host_->launcher().worker_blocks(grid, threads, bytes, !host_->is_traced());
        const auto lock = host_->lock_launches();
        auto run = host_->begin(stream, kernel_text, s);
        host_->enter(stream);
        const queue::first_grid first = host_->launcher().first(
            there, s, &payload, queue::payload_bytes<Kernel, Args...>, blocks.at_once, threads, host_->is_traced());
        host_->launched(*run, stream,
                        detail::launch_grid(grid_of_module, blocks.all, threads, bytes, stream,
                                            host_->view(*run, blocks, threads), first, payload));
        return queue_handle(std::move(run));
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    queue_handle enqueue(cudaStream_t, const Kernel&, const Shape&, const Args&...) {
        return queue_handle(
            detail::explain_wrong_launch<std::shared_ptr<detail::queue::pending_run>, Shape, Args...>());
    }

    /// Where its buffers are: the memory of the current device.
    static const memory_space& memory() { return detail::cuda_memory(); }

    /// The GPU's name.
    std::string device() const { return host_->device(); }
    /// The threads that a moldable block gets, of at most as many as `most` says.
    unsigned moldable_threads(at_most most) const { return detail::least(most.threads, options().moldable_threads); }
    /// How many slots a reducer of this engine has: one for each thread that a run may have.
    unsigned reducer_slots() const { return host_->launcher().most_warps() * warp_threads; }
    /// As given, with what was not given filled in.
    const queue_options& options() const { return host_->options(); }
    /// What became of each limit that was given or that the engine needs: the stack of a thread, for one.
    const std::vector<limit_result>& limit_results() const { return host_->limit_results(); }

private:
    using module_type = detail::queue::this_module;

    /// Where a kernel is in a module on the device.
    template <class Module, class Kernel, class... Args>
    detail::queue::first_kernel find() {
        namespace queue = detail::queue;
        if constexpr (queue::holds_lambda<Kernel>) {
            constexpr auto tell = &queue::tell_first_kernel<Module, Kernel, Args...>;
            return host_->launcher().find(reinterpret_cast<const void*>(tell),
                                          [&](queue::first_kernel* place, cudaStream_t stream) {
                                              return detail::launch_grid(tell, 1, 1, 0, stream, place);
                                          });
        } else {
            const void* const variable = &queue::first_kernel_of<Module, Kernel, Args...>;
            return host_->launcher().find(variable, [&](queue::first_kernel* place, cudaStream_t stream) {
                void* there = nullptr;
                const cudaError_t code = cudaGetSymbolAddress(&there, variable);
                return code != cudaSuccess
                           ? code
                           : cudaMemcpyAsync(place, there, sizeof(*place), cudaMemcpyDeviceToHost, stream);
            });
        }
    }

    std::shared_ptr<detail::queue::host_side> host_;
};

}  // namespace dynpar
