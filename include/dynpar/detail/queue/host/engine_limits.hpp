// Queue engine: the limits that an engine was given: which of them the device has, which are the engine's own, and what
// became of each.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../../../cuda_error.hpp"
#include "../../../limits.hpp"
#include "../../least_greatest.hpp"
#include "../memory/state.cuh"

namespace dynpar {
namespace detail {
namespace queue {

class engine_limits {
public:
    /// Sets those that the device has.
    engine_limits(const limits& wanted, bool traced)
        : sync_depth_(wanted.sync_depth.value_or(limits::default_sync_depth)) {
        note_own_limit("sync_depth", sync_depth_, sync_depth_);
        if (wanted.pending_launches) {
            ignore_limit("pending_launches", *wanted.pending_launches,
                         "ignored: on the queue engine launches that wait to begin take memory only "
                         "(queue_options::memory_bytes)");
        }
        if (wanted.nesting_depth) {
            note_own_limit("nesting_depth", *wanted.nesting_depth,
                           least<std::size_t>(*wanted.nesting_depth, info::depth_mask));
        }
        set_stack(wanted, traced);
        if (wanted.printf_bytes) {
            if (set_device_limit("printf_bytes", cudaLimitPrintfFifoSize, *wanted.printf_bytes) != cudaSuccess) {
                results_.back().refused += "; CUDA takes it only before the process's first kernel that prints";
            }
        }
    }

    std::size_t sync_depth() const { return sync_depth_; }
    std::size_t stack_bytes() const { return stack_bytes_; }  ///< of a thread
    const std::vector<limit_result>& results() const { return results_; }

    /// What became of `heap_bytes`, which is the engine's memory for grids.
    void note_heap(std::size_t asked, std::size_t got, std::size_t device_bytes) {
        limit_result heap;
        heap.name = "heap_bytes";
        heap.asked = asked;
        heap.got = got;
        heap.device_bytes = static_cast<std::ptrdiff_t>(device_bytes);
        results_.push_back(std::move(heap));
    }

private:
    void note_own_limit(const char* name, std::size_t asked, std::size_t got) {
        limit_result result;
        result.name = name;
        result.asked = asked;
        result.got = got;
        results_.push_back(std::move(result));
    }
    void ignore_limit(const char* name, std::size_t asked, const char* why) {
        limit_result result;
        result.name = name;
        result.asked = asked;
        result.refused = why;
        results_.push_back(std::move(result));
    }
    cudaError_t set_device_limit(const char* name, cudaLimit limit, std::size_t asked) {
        cudaError_t code = cudaSuccess;
        limit_result result;
        result.name = name;
        result.asked = asked;
        std::size_t before = 0, got = 0, free_before = 0, free_after = 0, all = 0;
        check(cudaDeviceGetLimit(&before, limit), "reading a device limit");
        check(cudaMemGetInfo(&free_before, &all), "asking for free device memory");
        if (before != asked) code = cudaDeviceSetLimit(limit, asked);
        if (code != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            result.refused = std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
        }
        check(cudaDeviceGetLimit(&got, limit), "reading a device limit");
        check(cudaMemGetInfo(&free_after, &all), "asking for free device memory");
        result.got = got;
        result.device_bytes = static_cast<std::ptrdiff_t>(free_before) - static_cast<std::ptrdiff_t>(free_after);
        results_.push_back(std::move(result));
        return code;
    }

    /// What wait() takes of the stack is the scheduler's part and the kernel's own. The kernel's is not known: this is
    /// an estimate, and device code looks at every wait() how much is left. Never less than there is: another engine
    /// may need it.
    void set_stack(const limits& wanted, bool traced) {
        const std::size_t of_a_wait = stack_of_wait + (traced ? 256 : 0);
        std::size_t reckoned = 1024 + stack_kept_free + sync_depth_ * of_a_wait;
        // CUDA sets a stack aside for every thread that the device can hold: gigabytes, where nobody has asked for deep
        // waits.
        if (!wanted.sync_depth) reckoned = least<std::size_t>(reckoned, stack_by_default);
        const std::size_t asked = wanted.stack_bytes.value_or(reckoned);
        std::size_t before = 0;
        check(cudaDeviceGetLimit(&before, cudaLimitStackSize), "asking for the stack's size");
        const cudaError_t code = set_device_limit("stack_bytes", cudaLimitStackSize, greatest(before, asked));
        limit_result& result = results_.back();
        result.asked = asked;
        stack_bytes_ = result.got.value_or(0);
        if (code == cudaSuccess) return;
        const std::string doing = "setting the stack of a thread to " + std::to_string(asked) +
                                  " bytes for wait() nested to depth " + std::to_string(sync_depth_) +
                                  " (lower limits::sync_depth, or give limits::stack_bytes)";
        if (wanted.sync_depth || wanted.stack_bytes) throw cuda_error(code, doing, DYNPAR_HERE);
        result.refused = doing + ": " + result.refused;
    }

    std::size_t sync_depth_;
    std::size_t stack_bytes_ = 0;
    std::vector<limit_result> results_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
