// Setting the device's limits and reading them back, with what each one costs in device memory.
#include <dynpar/limits.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include <dynpar/cuda_error.hpp>
#include <dynpar/platform.hpp>

namespace dynpar {
namespace {

using limit_member = std::optional<std::size_t> limits::*;  // named, because nvcc writes the bare type with a warning

struct device_limit {
    const char* name;
    cudaLimit id;
    limit_member value;
};

// In the order in which `limits` declares them.
constexpr std::array<device_limit, 5> device_limit_list = {{
    {"sync_depth", cudaLimitDevRuntimeSyncDepth, &limits::sync_depth},
    {"pending_launches", cudaLimitDevRuntimePendingLaunchCount, &limits::pending_launches},
    {"stack_bytes", cudaLimitStackSize, &limits::stack_bytes},
    {"heap_bytes", cudaLimitMallocHeapSize, &limits::heap_bytes},
    {"printf_bytes", cudaLimitPrintfFifoSize, &limits::printf_bytes},
}};

// In the order in which they are set: heap and printf buffer can only be set before the first kernel that uses them, so
// they come before everything that may run kernels; the device runtime's come last, when the stack size that their
// memory depends on is settled.
constexpr std::array<unsigned, 5> setting_order = {3, 4, 2, 0, 1};

__global__ void probe_child() {}

__global__ void probe_parent() { probe_child<<<1, 1>>>(); }

// The driver allocates stacks at a launch, and what the device runtime needs for its limits at the first launch of a
// kernel that itself launches. So memory is measured after such a launch, or the cost would not show.
cudaError_t run_probe() {
    // Not <<<>>>: an error that an earlier call of the program left behind is not the probe's.
    cudaError_t code =
        cudaLaunchKernel(reinterpret_cast<const void*>(&probe_parent), dim3(1), dim3(1), nullptr, 0, nullptr);
    if (code == cudaSuccess) code = cudaDeviceSynchronize();
    if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
    return code;
}

std::size_t free_device_memory() {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the free device memory");
    return free_bytes;
}

// The limit as the device has it; nothing if it has no such limit.
std::optional<std::size_t> read_back(const device_limit& limit) {
    std::size_t value = 0;
    const cudaError_t code = cudaDeviceGetLimit(&value, limit.id);
    if (code == cudaErrorUnsupportedLimit) {
        static_cast<void>(cudaGetLastError());
        return std::nullopt;
    }
    check(code, "reading a device limit");
    return value;
}

std::string quoted(cudaError_t code) {
    return std::string(cudaGetErrorName(code)) + ", " + std::to_string(static_cast<int>(code));
}

// Why the device did not take a limit and what that means, in a sentence.
std::string explain(const device_limit& limit, cudaError_t code) {
    if (limit.id == cudaLimitDevRuntimeSyncDepth && code == cudaErrorUnsupportedLimit) {
        return "this GPU's device runtime has no synchronization depth, nor cudaDeviceSynchronize in device code; the "
               "value still bounds wait() on the queue and host engines";
    }
    if (code == cudaErrorUnsupportedLimit) return "this GPU has no such limit (" + quoted(code) + ")";
    if (code == cudaErrorMemoryAllocation) {
        return "the device has too little free memory for it (" + quoted(code) +
               "); ask for less, or free device memory first";
    }
    if (code == cudaErrorInvalidValue && (limit.id == cudaLimitMallocHeapSize || limit.id == cudaLimitPrintfFifoSize)) {
        return std::string("CUDA takes it only before the first kernel of the process that uses ") +
               (limit.id == cudaLimitMallocHeapSize ? "the device heap" : "printf") + " (" + quoted(code) +
               "); set it at the start of the program";
    }
    if (code == cudaErrorInvalidValue)
        return "the device does not accept this value (" + quoted(code) + "); ask for less";
    return std::string(cudaGetErrorString(code)) + " (" + quoted(code) + ")";
}

// Sets one limit. `free_bytes` is the free device memory before, and is updated.
limit_result set(const device_limit& limit, std::size_t asked, std::size_t& free_bytes) {
    limit_result result;
    result.name = limit.name;
    result.asked = asked;
    const std::optional<std::size_t> before = read_back(limit);
    if (before == asked) {  // nothing to do; and CUDA would refuse the heap's own size after its first use
        result.got = before;
        return result;
    }
    cudaError_t code = cudaDeviceSetLimit(limit.id, asked);
    if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
    if (code == cudaSuccess) {
        code = run_probe();
        // The memory was not to be had. Left so, no kernel that launches children would run any more.
        if (code != cudaSuccess && before) {
            check(cudaDeviceSetLimit(limit.id, *before), "restoring a device limit");
            check(run_probe(), "running a nested kernel after restoring a device limit");
        }
    }
    if (code != cudaSuccess) result.refused = explain(limit, code);
    result.got = read_back(limit);
    const std::size_t free_now = free_device_memory();
    result.device_bytes = static_cast<std::ptrdiff_t>(free_bytes) - static_cast<std::ptrdiff_t>(free_now);
    free_bytes = free_now;
    return result;
}

std::string bytes_for_people(std::ptrdiff_t bytes) {
    char text[64];
    const double mebibytes = static_cast<double>(bytes < 0 ? -bytes : bytes) / (1024.0 * 1024.0);
    std::snprintf(text, sizeof text, bytes < 0 ? "%.1f MiB of device memory given back" : "%.1f MiB of device memory",
                  mebibytes);
    return text;
}

}  // namespace

std::vector<limit_result> apply(const limits& wanted) {
    const bool any = std::any_of(device_limit_list.begin(), device_limit_list.end(),
                                 [&](const device_limit& limit) { return (wanted.*limit.value).has_value(); });
    if (!any) return {};

    // Work that still runs would blur the measurement, and its errors would be taken for those of a limit.
    check(cudaDeviceSynchronize(), "waiting for the device before setting limits");
    check(run_probe(), "running a nested kernel before setting limits");
    std::size_t free_bytes = free_device_memory();

    std::array<std::optional<limit_result>, device_limit_list.size()> results;
    for (const unsigned index : setting_order) {
        const device_limit& limit = device_limit_list[index];
        if (const auto& asked = wanted.*limit.value) results[index] = set(limit, *asked, free_bytes);
    }
    std::vector<limit_result> in_order;
    for (auto& result : results) {
        if (result) in_order.push_back(std::move(*result));
    }
    return in_order;
}

limits device_limits() {
    limits result;
    for (const device_limit& limit : device_limit_list) result.*limit.value = read_back(limit);
    return result;
}

scoped_limits::scoped_limits(const limits& wanted) {
    // Only these: to ask for one that the device does not have takes away an error that an earlier call has left.
    for (const device_limit& limit : device_limit_list) {
        if (wanted.*limit.value) before_.*limit.value = read_back(limit);
    }
    results_ = apply(wanted);
}

scoped_limits::~scoped_limits() {
    try {
        for (const limit_result& result : apply(before_)) {
            if (!result.refused.empty())
                std::fprintf(stderr, "dynpar: restoring a limit: %s\n", describe(result).c_str());
        }
    } catch (const cuda_error&) {
        // A kernel broke in between: the context is lost, its limits with it, and whoever waited for that kernel was
        // told.
    }
}

std::string describe(const limit_result& result) {
    std::string line = result.name + ": ";
    line += result.got ? std::to_string(*result.got) : std::string("none");
    line += " (asked " + std::to_string(result.asked) + ")";
    if (!result.refused.empty()) return line + ", not set: " + result.refused;
    return line + ", " + bytes_for_people(result.device_bytes);
}

}  // namespace dynpar
