// The limits of nested parallelism: what a run may use; with CUDA also setting them on the device, and reading them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platform.hpp"

namespace dynpar {

/// What a run may use. A limit that is not given keeps its present value: on a GPU the device's own setting, on the
/// engines that dynpar schedules itself the default below.
struct limits {
    /// How deep `wait()` may nest: a grid at nesting depth d may wait if d < sync_depth. On GPUs with compute
    /// capability below 9.0 and the old device runtime it is `cudaLimitDevRuntimeSyncDepth`, which reserves device
    /// memory for every level.
    std::optional<std::size_t> sync_depth;
    /// How many launched grids may be incomplete at once, the first one not counted
    /// (`cudaLimitDevRuntimePendingLaunchCount`, 2048 by default on a GPU; the host engine has no limit unless one is
    /// given, and the queue engine never).
    std::optional<std::size_t> pending_launches;
    /// How deep grids may nest: a grid at depth d may launch children if d < nesting_depth. Not given: no limit.
    std::optional<std::size_t> nesting_depth;
    /// Stack of a GPU thread in bytes (`cudaLimitStackSize`). If not given, the queue engine sets what `sync_depth`
    /// needs, and cannot be made if CUDA does not accept that: it takes at most 512 KiB, enough for some hundred
    /// levels.
    std::optional<std::size_t> stack_bytes;
    /// Memory for `scratch` in bytes. On the device runtime engine the device heap (`cudaLimitMallocHeapSize`, 8 MiB by
    /// default); on the queue engine its memory for grids, unless `queue_options::memory_bytes` is given.
    std::optional<std::size_t> heap_bytes;
    /// Buffer of device-side printf in bytes (`cudaLimitPrintfFifoSize`), 1 MiB by default.
    std::optional<std::size_t> printf_bytes;

    /// The synchronization depth if none is given: as deep as CUDA's first device runtime let grids nest.
    static constexpr std::size_t default_sync_depth = 24;
};

/// What became of one limit.
struct limit_result {
    std::string name;                 ///< as in `limits`: "sync_depth"
    std::size_t asked = 0;            ///< the requested value
    std::optional<std::size_t> got;   ///< its value on the device now; empty if the device has no such limit
    std::ptrdiff_t device_bytes = 0;  ///< device memory that the change took (negative: gave back), in bytes
    std::string refused;              ///< empty if it was set; else why not, and what that means, in a sentence
};

/// Sets the limits that are given on the current CUDA device with `cudaDeviceSetLimit` and reads each back. One result
/// for each limit given, in the order of their declaration. If the device does not have a limit (the synchronization
/// depth on compute capability 9.0 and newer), `refused` says so; that is not an error. `nesting_depth` is not a limit
/// of the device and has no result. Needs the target `dynpar::dynpar`. Throws `cuda_error` if there is no usable
/// device.
std::vector<limit_result> apply(const limits& wanted);

/// The limits of the current device, those that it has. Needs `dynpar::dynpar`. Throws `cuda_error` without a device.
limits device_limits();

/// Applies limits, and restores the earlier values on destruction. Needs `dynpar::dynpar`.
class scoped_limits {
public:
    /// As `apply`, and throws as that does.
    explicit scoped_limits(const limits& wanted);
    ~scoped_limits();
    scoped_limits(const scoped_limits&) = delete;
    scoped_limits& operator=(const scoped_limits&) = delete;

    /// What became of each requested limit.
    const std::vector<limit_result>& results() const { return results_; }

private:
    limits before_;
    std::vector<limit_result> results_;
};

/// One line for people: "pending_launches: 65536 (asked 65536), 438.0 MiB of device memory".
std::string describe(const limit_result& result);

}  // namespace dynpar
