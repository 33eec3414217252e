// Runs kernels that do not nest: on the host engine as they are, on a GPU as plain `__global__` kernels, which need no
// engine; there they are timed as well.
#pragma once

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include <dynpar/dynpar.hpp>

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include <dynpar/cuda_error.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>
#endif

namespace samples {

/// Whether an engine's memory is that of a GPU.
template <class Engine>
constexpr bool runs_on_gpu = !std::is_base_of_v<dynpar::host_engine, std::decay_t<Engine>>;

#if defined(__CUDACC__)

/// A thread's view of its block in a plain grid of up to three dimensions: of dynpar's block (see dynpar/block.hpp) the
/// position and the barrier. A kernel that launches does not compile with it.
class flat_block {
public:
    __device__ unsigned thread_rank() const {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    __device__ unsigned num_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ unsigned block_rank() const { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    __device__ unsigned num_blocks() const { return gridDim.x * gridDim.y * gridDim.z; }
    __device__ dynpar::dimensions thread_index() const { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    __device__ dynpar::dimensions dim_threads() const { return {blockDim.x, blockDim.y, blockDim.z}; }
    __device__ dynpar::dimensions group_index() const { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    __device__ dynpar::dimensions dim_blocks() const { return {gridDim.x, gridDim.y, gridDim.z}; }
    __device__ void sync() { __syncthreads(); }
};

/// The `__global__` function of a kernel that does not nest.
template <class Kernel, class... Args>
__global__ void __launch_bounds__(dynpar::most_threads<Kernel>()) flat_entry(Kernel kernel, Args... args) {
    flat_block block;
    kernel(block, args...);
}

/// Launches `flat_entry`. Throws `dynpar::cuda_error` if the launch is refused.
template <class Kernel, class... Args>
void launch_flat(const dynpar::stream& stream, Kernel kernel, const dynpar::shape& s, Args... args) {
    dynpar::launch(stream, dynpar::launch_configuration(s.blocks, s.threads, s.shared_bytes).named(Kernel::name),
                   flat_entry<Kernel, Args...>, kernel, args...);
}

/// The median of the milliseconds of `runs` calls of `launch(stream)`, by events on the GPU, after one that does not
/// count. Throws `dynpar::cuda_error`.
template <class Launch>
double median_milliseconds(const dynpar::stream& stream, unsigned runs, Launch launch) {
    launch(stream);
    std::vector<float> times(runs);
    dynpar::event begin(dynpar::event_timing::on);
    dynpar::event end(dynpar::event_timing::on);
    for (float& time : times) {
        begin.record(stream);
        launch(stream);
        end.record(stream);
        dynpar::synchronize(stream);
        time = dynpar::milliseconds_between(begin, end);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

#endif

/// Runs a grid and waits for it. Throws what the engine throws, on a GPU `dynpar::cuda_error`.
template <class Engine, class Kernel, class... Args>
void run_flat(Engine& engine, Kernel kernel, const dynpar::shape& s, Args... args) {
    if constexpr (runs_on_gpu<Engine>) {
#if defined(__CUDACC__)
        const dynpar::stream stream;
        launch_flat(stream, kernel, s, args...);
        dynpar::synchronize(stream);
#endif
    } else {
        engine.run(kernel, s, args...);
    }
}

/// Runs a grid several times and returns the median of its milliseconds; on the host engine, whose times say nothing of
/// a GPU, runs it once and returns nothing.
template <class Engine, class Kernel, class... Args>
std::optional<double> time_flat(Engine& engine, unsigned runs, Kernel kernel, const dynpar::shape& s, Args... args) {
    if constexpr (runs_on_gpu<Engine>) {
#if defined(__CUDACC__)
        const dynpar::stream stream;
        return median_milliseconds(stream, runs,
                                   [&](const dynpar::stream& in) { launch_flat(in, kernel, s, args...); });
#endif
    } else {
        static_cast<void>(runs);
        engine.run(kernel, s, args...);
    }
    return std::nullopt;
}

}  // namespace samples
