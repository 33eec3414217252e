// Queue engine: how the persistent grid of a run is launched: how wide its worker blocks are, how many fit, and what
// they begin with.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>

#include "../../../cuda_error.hpp"
#include "../../../kernel.hpp"
#include "../memory/state.cuh"
#include "cuda_handles.hpp"
#include "queue_options.hpp"

namespace dynpar {
namespace detail {
namespace queue {

/// How wide a worker block of a persistent grid can be, and how many fit on the device: asked once.
struct launch_cache {
    std::mutex mutex;
    unsigned most_threads = 0;  // it was compiled for
    unsigned threads = 0;
    unsigned bytes = 0;
    unsigned most_bytes =
        0;  // of shared memory that were ever asked for: another thread may be about to launch with as many
    int device = -1;
    unsigned blocks = 0;
    unsigned on_each = 0;  // multiprocessor, for which the first-level cache was asked for; 0: none was
};

/// Of one translation unit's persistent grid.
template <class Module, unsigned PayloadRoom>
launch_cache& launch_cache_of() {
    static launch_cache cache;
    return cache;
}

/// Where a kernel that the host runs is on the device: read once.
struct kernel_cache {
    std::mutex mutex;
    int device = -1;
    first_kernel kernel{};
};
template <class Module, class Kernel, class... Args>
kernel_cache& kernel_cache_of() {
    static kernel_cache cache;
    return cache;
}

/// Of a persistent grid. All without those that work at once are the reserve: see reserve.cuh.
struct worker_block_counts {
    unsigned at_once;
    unsigned all;
};

class grid_launcher {
public:
    /// For the current device. Puts into the options what was not given, or cannot be.
    explicit grid_launcher(queue_options& options) {
        check(cudaGetDevice(&device_number_), "finding the current device for the queue engine");
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device_number_), "asking for the device's properties");
        device_ = properties.name;
        multiprocessors_ = static_cast<unsigned>(properties.multiProcessorCount);
        shared_bytes_of_multiprocessor_ = properties.sharedMemPerMultiprocessor;
        shared_bytes_reserved_ = properties.reservedSharedMemPerBlock;
        if (options.block_threads % warp_size != 0 || options.block_threads > bounds::block_threads) {
            throw std::invalid_argument("dynpar: queue_options::block_threads is " +
                                        std::to_string(options.block_threads) +
                                        ": give a multiple of 32, at most 1024, or 0");
        }
        // Here, and before it is added to: CUDA's own refusal comes at the first run, and sums have 32 bits.
        if (options.shared_bytes > shared_bytes_of_multiprocessor_) {
            throw std::invalid_argument("dynpar: queue_options::shared_bytes is " +
                                        std::to_string(options.shared_bytes) + ", and a multiprocessor of " + device_ +
                                        " has " + std::to_string(shared_bytes_of_multiprocessor_) + ": give less");
        }
        options_ = &options;
        // A warp is cheapest; 1 where every block does little.
        options.moldable_threads =
            options.moldable_threads == 0 ? warp_size : std::min(options.moldable_threads, least_threads());
        // A device with two worker blocks of 1024 threads has as many warps as one with many small ones.
        most_warps_ = multiprocessors_ * static_cast<unsigned>(properties.maxThreadsPerMultiProcessor) / warp_size;
    }

    const std::string& device() const { return device_; }
    unsigned multiprocessors() const { return multiprocessors_; }
    unsigned most_warps() const { return most_warps_; }  ///< of all worker blocks
    unsigned least_threads() const {
        return options_->block_threads != 0 ? options_->block_threads : 512;
    }  ///< of a worker block

    /// The widest worker block that this persistent grid was compiled for.
    unsigned most_worker_threads(launch_cache& cache, const void* grid) const {
        const std::lock_guard<std::mutex> guard(cache.mutex);
        if (cache.most_threads == 0) {
            const relaxed_capture allowed;
            cudaFuncAttributes attributes{};
            check(cudaFuncGetAttributes(&attributes, grid), "asking how wide a worker block can be");
            cache.most_threads = static_cast<unsigned>(attributes.maxThreadsPerBlock);
        }
        if (options_->block_threads > cache.most_threads) {
            throw std::invalid_argument("dynpar: queue_options::block_threads is " +
                                        std::to_string(options_->block_threads) +
                                        ", and this kernel was compiled for worker blocks of at most " +
                                        std::to_string(cache.most_threads) + " threads: see DYNPAR_QUEUE_MOST_THREADS");
        }
        return cache.most_threads;
    }

    /// What is in that variable of the device. Waits for no run.
    first_kernel find(kernel_cache& cache, const first_kernel& variable) const {
        const std::lock_guard<std::mutex> guard(cache.mutex);
        if (cache.device != device_number_) {
            constexpr const char* doing = "asking where a kernel is on the device";
            const relaxed_capture allowed;
            void* there = nullptr;
            check(cudaGetSymbolAddress(&there, static_cast<const void*>(&variable)), doing);
            const owned_stream beside = make_side_stream();
            check(cudaMemcpyAsync(&cache.kernel, there, sizeof(cache.kernel), cudaMemcpyDeviceToHost, beside.get()),
                  doing);
            check(cudaStreamSynchronize(beside.get()), doing);
            cache.device = device_number_;
        }
        return cache.kernel;
    }

    /// Whether the host may launch a grid of that shape.
    status check_first(const shape& s, unsigned most_threads, unsigned most_worker_threads) const {
        if (dynpar::check(s, most_threads) != status::success) return status::invalid_configuration;
        const unsigned widest = options_->block_threads != 0 ? options_->block_threads : most_worker_threads;
        return s.moldable || s.threads.count() <= widest ? status::success : status::invalid_configuration;
    }

    /// For a first grid that `check_first` has let pass.
    unsigned block_threads_for(const shape& s, unsigned most_worker_threads) const {
        if (options_->block_threads != 0) return options_->block_threads;
        const unsigned needed =
            s.moldable ? 1 : (static_cast<unsigned>(s.threads.count()) + warp_size - 1) / warp_size * warp_size;
        return std::max(std::min(least_threads(), most_worker_threads), needed);
    }
    unsigned shared_bytes_for(unsigned threads) const {
        return state_bytes(threads) + (options_->shared_bytes + 15) / 16 * 16;
    }

    /// `wants_reserve`: whether there may be one.
    worker_block_counts worker_blocks(launch_cache& cache, const void* grid, unsigned threads, unsigned bytes,
                                      bool wants_reserve) const {
        const std::lock_guard<std::mutex> guard(cache.mutex);
        const relaxed_capture allowed;
        if (cache.threads != threads || cache.bytes != bytes || cache.device != device_number_) {
            if (cache.device != device_number_) cache.most_bytes = 0;
            if (bytes > std::max(48u * 1024, cache.most_bytes)) {
                check(cudaFuncSetAttribute(grid, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                      "asking for the worker blocks' shared memory (queue_options::shared_bytes)");
                cache.most_bytes = bytes;
            }
            int blocks = 0;
            check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid, static_cast<int>(threads), bytes),
                  "asking how many worker blocks fit");
            if (blocks < 1) {
                throw cuda_error(
                    cudaErrorLaunchOutOfResources,
                    "a worker block of " + std::to_string(threads) + " threads and " + std::to_string(bytes) +
                        " bytes of shared memory does not fit; lower queue_options::block_threads or shared_bytes",
                    DYNPAR_HERE);
            }
            cache.threads = threads;
            cache.bytes = bytes;
            cache.device = device_number_;
            cache.blocks = static_cast<unsigned>(blocks) * multiprocessors_;
            cache.on_each = 0;
        }
        const worker_block_counts wanted = counts(cache.blocks, threads, wants_reserve);
        const unsigned on_each = (wanted.all + multiprocessors_ - 1) / multiprocessors_;
        if (cache.on_each != on_each) {
            // What worker blocks do not need of the shared memory is first-level cache, and the scheduler lives in
            // that. A hint: who is not given it is only slower.
            const std::size_t all = shared_bytes_of_multiprocessor_;
            const std::size_t percent =
                std::min<std::size_t>((on_each * (bytes + shared_bytes_reserved_) * 100 + all - 1) / all, 100);
            check(cudaFuncSetAttribute(grid, cudaFuncAttributePreferredSharedMemoryCarveout, static_cast<int>(percent)),
                  "asking for a large first-level cache");
            cache.on_each = on_each;
        }
        return wanted;
    }

    /// The grid that a run begins with, for so many worker blocks of so many threads.
    first_grid first(const first_kernel& kernel, const shape& s, const void* payload, unsigned payload_size,
                     unsigned worker_blocks, unsigned threads, bool traced) const {
        const width_choice choice = choose_width(s, std::min(options_->moldable_threads, threads));
        first_grid first{};
        first.shape = s;
        put_descriptor(first.descriptor, s, choice.threads, traced ? first_trace_id : dynpar::grid_record::none);
        wide_task& task = first.descriptor.task;
        task.size = block_size(choice.threads, shared_bytes_of(s, choice.threads));
        task.last = static_cast<std::uint32_t>(s.blocks.count());
        task.info =
            choice.width | info::owner | (task.last > 1 ? info::one_of_several : 0u) | (traced ? info::traced : 0u);
        put_kernel(first, kernel, payload, payload_size);
        divide(first, worker_blocks, threads / warp_size);
        return first;
    }

private:
    /// With a reserve, if nothing is said of worker blocks, each multiprocessor has one, and there is room for another.
    worker_block_counts counts(unsigned that_fit, unsigned threads, bool wants_reserve) const {
        const unsigned at_once = wanted_blocks(that_fit, threads);
        const bool has_reserve = wants_reserve && options_->worker_blocks == 0 && options_->block_threads == 0 &&
                                 at_once == multiprocessors_ && 2 * at_once <= that_fit &&
                                 2 * at_once * (threads / warp_size) <= most_warps_;
        return {at_once, has_reserve ? 2 * at_once : at_once};
    }
    unsigned wanted_blocks(unsigned that_fit, unsigned threads) const {
        const unsigned room = std::min(that_fit, most_warps_ / (threads / warp_size));
        // 16 warps a multiprocessor run fastest: more of them crowd each other out of the first-level cache.
        const unsigned enough = multiprocessors_ * std::max(1u, 512 / threads);
        const unsigned wanted = options_->worker_blocks != 0 ? options_->worker_blocks : std::min(that_fit, enough);
        return std::max(1u, std::min(wanted, room));
    }

    const queue_options* options_ = nullptr;  // the engine's
    std::string device_;
    int device_number_ = 0;
    unsigned multiprocessors_ = 0;
    std::size_t shared_bytes_of_multiprocessor_ = 0;
    std::size_t shared_bytes_reserved_ = 0;  // by CUDA, of each block
    unsigned most_warps_ = 0;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
