// Queue engine: how the persistent grid of a run is launched: how wide its worker blocks are, how many fit, and what
// they begin with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "../../../cuda_error.hpp"
#include "../../../kernel.hpp"
#include "../../least_greatest.hpp"
#include "../../mutex.hpp"
#include "../../record_list.hpp"
#include "../memory/state.cuh"
#include "cuda_handles.hpp"
#include "queue_options.hpp"

namespace dynpar {
namespace detail {
namespace queue {

/// Of a persistent grid. All without those that work at once are the reserve: see reserve.cuh.
struct worker_block_counts {
    unsigned at_once;
    unsigned all;
};

class grid_launcher {
public:
    /// For the current device. Puts into the options what was not given, or cannot be.
    explicit grid_launcher(queue_options& options) {
        int device = 0;
        check(cudaGetDevice(&device), "finding the current device for the queue engine");
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device), "asking for the device's properties");
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
            options.moldable_threads == 0 ? warp_size : least(options.moldable_threads, least_threads());
        // A device with two worker blocks of 1024 threads has as many warps as one with many small ones.
        most_warps_ = multiprocessors_ * static_cast<unsigned>(properties.maxThreadsPerMultiProcessor) / warp_size;
        // Now: later it could wait for other runs.
        beside_ = make_side_stream();
        answer_ = allocate_pinned(sizeof(first_kernel), "allocating host memory for the queue engine");
    }

    const std::string& device() const { return device_; }
    unsigned multiprocessors() const { return multiprocessors_; }
    unsigned most_warps() const { return most_warps_; }  ///< of all worker blocks
    unsigned least_threads() const {
        return options_->block_threads != 0 ? options_->block_threads : 512;
    }  ///< of a worker block

    /// The widest worker block that this persistent grid was compiled for.
    unsigned most_worker_threads(const void* grid) {
        const mutex_lock guard(mutex_);
        unsigned& most = known(grid).most_threads;
        if (most == 0) {
            const relaxed_capture allowed;
            const cudaFuncAttributes attributes = attributes_of(grid);
            // Then a worker block's memory does not begin where worker_memory() says.
            if (!DYNPAR_QUEUE_SHARED_BY_NAME && attributes.ptxVersion >= 90 && attributes.sharedSizeBytes != 0) {
                throw std::invalid_argument(
                    "dynpar: a kernel for the queue engine, or a function of the program of which the address is "
                    "taken, has " +
                    std::to_string(attributes.sharedSizeBytes) +
                    " bytes of __shared__ variables. All blocks that a worker block runs would have them in common: "
                    "take block.shared(), with shared_bytes in the shape. If no kernel for the queue engine uses them, "
                    "compile with -DDYNPAR_QUEUE_SHARED_BY_NAME=1");
            }
            most = static_cast<unsigned>(attributes.maxThreadsPerBlock);
        }
        if (options_->block_threads > most) {
            throw std::invalid_argument("dynpar: queue_options::block_threads is " +
                                        std::to_string(options_->block_threads) +
                                        ", and this kernel was compiled for worker blocks of at most " +
                                        std::to_string(most) + " threads: see DYNPAR_QUEUE_MOST_THREADS");
        }
        return most;
    }

    /// Where a kernel is on the device: what `ask(place, stream)` has copied, or has a grid write, to pinned memory.
    /// It waits for no run. `kernel` is an address that is the kernel's alone.
    template <class Ask>
    first_kernel find(const void* kernel, const Ask& ask) {
        const mutex_lock guard(mutex_);
        const auto is_it = [kernel](const known_kernel& known) { return known.kernel == kernel; };
        if (const known_kernel* const known = kernels_.find(is_it); known != nullptr) return known->where;
        constexpr const char* doing = "asking where a kernel is on the device";
        const relaxed_capture allowed;
        check(ask(static_cast<first_kernel*>(answer_.get()), beside_.get()), doing);
        check(cudaStreamSynchronize(beside_.get()), doing);
        return kernels_.add({kernel, *static_cast<const first_kernel*>(answer_.get())}).where;
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
        return greatest(least(least_threads(), most_worker_threads), needed);
    }
    unsigned shared_bytes_for(unsigned threads) const {
        return state_bytes(threads) + (options_->shared_bytes + 15) / 16 * 16;
    }

    /// `wants_reserve`: whether there may be one.
    worker_block_counts worker_blocks(const void* grid, unsigned threads, unsigned bytes, bool wants_reserve) {
        const mutex_lock guard(mutex_);
        const worker_block_counts wanted = counts(blocks_that_fit(grid, threads, bytes), threads, wants_reserve);
        const unsigned on_each = (wanted.all + multiprocessors_ - 1) / multiprocessors_;
        // What worker blocks do not need of the shared memory is first-level cache, and the scheduler lives in that. A
        // hint: who is not given it is only slower.
        const std::size_t all = shared_bytes_of_multiprocessor_;
        const std::size_t percent =
            least<std::size_t>((on_each * (bytes + shared_bytes_reserved_) * 100 + all - 1) / all, 100);
        ask_for_shared_memory(grid, static_cast<int>(percent));
        return wanted;
    }

    /// The grid that a run begins with, for so many worker blocks of so many threads.
    first_grid first(const first_kernel& kernel, const shape& s, const void* payload, unsigned payload_size,
                     unsigned worker_blocks, unsigned threads, bool traced) const {
        const width_choice choice = choose_width(s, least(options_->moldable_threads, threads));
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
    /// What is known of a persistent grid.
    struct known_grid {
        const void* grid;
        unsigned most_threads;  // of a worker block; 0: not asked yet
        int percent;            // of a multiprocessor's shared memory that was asked for last; -1: CUDA's own choice
    };
    /// How many worker blocks of a persistent grid fit on the device.
    struct known_fit {
        const void* grid;
        unsigned threads, bytes, blocks;
    };
    /// Where a kernel is.
    struct known_kernel {
        const void* kernel;
        first_kernel where;
    };

    known_grid& known(const void* grid) {
        known_grid* const found = grids_.find([grid](const known_grid& known) { return known.grid == grid; });
        return found != nullptr ? *found : grids_.add({grid, 0, -1});
    }
    static cudaFuncAttributes attributes_of(const void* grid) {
        cudaFuncAttributes attributes{};
        check(cudaFuncGetAttributes(&attributes, grid), "asking for the persistent grid's attributes");
        return attributes;
    }
    void ask_for_shared_memory(const void* grid, int percent) {
        known_grid& asked = known(grid);
        if (asked.percent == percent) return;
        const relaxed_capture allowed;
        check(cudaFuncSetAttribute(grid, cudaFuncAttributePreferredSharedMemoryCarveout, percent),
              "asking for a large first-level cache");
        asked.percent = percent;
    }
    /// Lets worker blocks have so much. Never less than before: another engine may be about to launch with as much.
    static void allow_shared_memory(const void* grid, unsigned bytes) {
        static mutex attributes;
        const mutex_lock guard(attributes);
        const int wanted = static_cast<int>(bytes);
        if (wanted <= greatest(48 * 1024, attributes_of(grid).maxDynamicSharedSizeBytes)) return;
        check(cudaFuncSetAttribute(grid, cudaFuncAttributeMaxDynamicSharedMemorySize, wanted),
              "asking for the worker blocks' shared memory (queue_options::shared_bytes)");
    }
    unsigned blocks_that_fit(const void* grid, unsigned threads, unsigned bytes) {
        const auto is_it = [&](const known_fit& fit) {
            return fit.grid == grid && fit.threads == threads && fit.bytes == bytes;
        };
        if (const known_fit* const fit = fits_.find(is_it); fit != nullptr) return fit->blocks;
        const relaxed_capture allowed;
        allow_shared_memory(grid, bytes);
        ask_for_shared_memory(grid, -1);  // or CUDA counts what fits into what other worker blocks have asked for
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
        const unsigned on_device = static_cast<unsigned>(blocks) * multiprocessors_;
        fits_.add({grid, threads, bytes, on_device});
        return on_device;
    }

    /// With a reserve, if nothing is said of worker blocks, each multiprocessor has one, and there is room for another.
    worker_block_counts counts(unsigned that_fit, unsigned threads, bool wants_reserve) const {
        const unsigned at_once = wanted_blocks(that_fit, threads);
        const bool has_reserve = wants_reserve && options_->worker_blocks == 0 && options_->block_threads == 0 &&
                                 at_once == multiprocessors_ && 2 * at_once <= that_fit &&
                                 2 * at_once * (threads / warp_size) <= most_warps_;
        return {at_once, has_reserve ? 2 * at_once : at_once};
    }
    unsigned wanted_blocks(unsigned that_fit, unsigned threads) const {
        const unsigned room = least(that_fit, most_warps_ / (threads / warp_size));
        // 16 warps a multiprocessor run fastest: more of them crowd each other out of the first-level cache.
        const unsigned enough = multiprocessors_ * greatest(1u, 512 / threads);
        const unsigned wanted = options_->worker_blocks != 0 ? options_->worker_blocks : least(that_fit, enough);
        return greatest(1u, least(wanted, room));
    }

    const queue_options* options_ = nullptr;  // the engine's
    std::string device_;
    unsigned multiprocessors_ = 0;
    std::size_t shared_bytes_of_multiprocessor_ = 0;
    std::size_t shared_bytes_reserved_ = 0;  // by CUDA, of each block
    unsigned most_warps_ = 0;
    mutex mutex_;  // of what follows: several threads may enqueue
    record_list<known_grid> grids_;
    record_list<known_fit> fits_;
    record_list<known_kernel> kernels_;  // those that the host has run: few
    owned_stream beside_;                // for questions
    pinned_memory answer_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
