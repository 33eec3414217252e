// What the host learns about a run: how many grids ran, what failed, what it needed; and the exceptions that say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "detail/printable.hpp"
#include "detail/stable_sort.hpp"
#include "run_needs.hpp"
#include "shape.hpp"
#include "status.hpp"
#include "trace.hpp"

namespace dynpar {

/// Calls that failed in the same way: same call, kernel, depth, shape and status.
struct failure {
    dynpar::operation operation = operation::launch;  ///< which call of the block failed
    dynpar::status status = status::success;          ///< how
    /// For `launch` and `then`: the kernel that was to run. For the others: the kernel that called.
    std::string kernel;
    unsigned depth = 0;       ///< the nesting depth of that kernel's grid, or what it would have been
    dynpar::shape shape;      ///< the shape of that kernel's grid
    int cuda_code = 0;        ///< the `cudaError_t` behind it, 0 if there is none
    std::uint64_t count = 1;  ///< how many calls
    std::string note;         ///< what to do about it, if the engine knows better than `advice(status)`
};

/// What a run did.
struct report {
    std::string engine;               ///< "host", "cdp", "queue"
    std::string device;               ///< the GPU's name, or "CPU"
    std::uint64_t grids = 0;          ///< grids that ran to completion, continuations included
    std::uint64_t lost_launches = 0;  ///< calls of `launch` and `then` that failed: exact, even if `failures` is not
    std::uint64_t failed_calls = 0;   ///< all calls that failed, the lost launches among them: exact
    std::vector<failure> failures;    ///< the failed calls by kind
    unsigned deepest_nesting = 0;     ///< the greatest depth of a grid that ran
    std::uint64_t pending_limit = 0;  ///< the limit on pending launches that was in force, 0 if there was none
    run_needs needed;                 ///< what the run needed of each limit
    /// Blocks whose shared memory was device memory, which is slower: on the queue engine blocks of one thread, and
    /// those that need more than their part of `queue_options::shared_bytes`, or wait above others that do.
    std::uint64_t shared_in_device_memory = 0;
    dynpar::trace trace;  ///< the grids one by one, if the engine was asked to trace
};

/// What to do about a status, in a sentence.
inline const char* advice(status s) {
    switch (s) {
        case status::success: return "";
        case status::invalid_configuration:
            return "give at least 1 block and 1 to 1024 threads (64 along z), and at most 232448 bytes of shared "
                   "memory";
        case status::invalid_pointer:
            return "pass memory from scratch<T>(n) or an allocation instead of local or shared memory";
        case status::sync_depth_exceeded:
            return "raise limits::sync_depth (--sync-depth), or use then() instead of wait()";
        case status::pending_launches_exceeded:
            return "raise limits::pending_launches (--pending-launches), or launch fewer and larger grids";
        case status::nesting_depth_exceeded:
            return "raise limits::nesting_depth (--nesting-depth), or check the recursion's stop condition";
        case status::shared_memory_exceeded: return "give the launch's shape more shared_bytes";
        case status::out_of_memory: return "raise limits::heap_bytes (--heap-bytes), or keep fewer grids alive at once";
        case status::not_supported: return "run the kernel on another engine";
        case status::launch_failed:
            return "look up the CUDA error code; if there is none, use a stream and an event that were not moved from";
    }
    return "";
}

namespace detail {

/// What to do about a block that is too wide for its kernel: the general advice would allow it. Else "".
inline std::string note_on_bound(status s, const shape& of_grid, unsigned most_threads) {
    if (s != status::invalid_configuration || most_threads >= bounds::block_threads ||
        of_grid.threads.count() <= most_threads)
        return {};
    return "give a block of this kernel at most " + std::to_string(most_threads) +
           " threads: its max_threads says so; or raise max_threads";
}

}  // namespace detail

/// What to do about a failure, in a sentence.
inline std::string advice(const failure& f) {
    if (!f.note.empty()) return f.note;
    const dimensions blocks = f.shape.blocks;
    if (f.status == status::invalid_configuration &&
        (blocks.x > bounds::grid_blocks_x || blocks.y > bounds::grid_blocks_yz || blocks.z > bounds::grid_blocks_yz ||
         blocks.count() > bounds::grid_blocks)) {
        return "give at most " + std::to_string(bounds::grid_blocks) + " blocks, and " +
               std::to_string(bounds::grid_blocks_yz) + " along y and z (shape_for: at most " +
               std::to_string(bounds::items) + " items)";
    }
    return advice(f.status);
}

/// One line: "347000 x launch of gpu_recursive_reduce <<<1, 256>>> at depth 1: pending_launches_exceeded (CUDA error
/// 69)".
inline std::string describe(const failure& f) {
    const bool of_another = f.operation == operation::launch || f.operation == operation::then;
    std::string line = std::to_string(f.count) + " x " + to_string(f.operation) + (of_another ? " of " : " in ") +
                       detail::printable(f.kernel) + " " + to_string(f.shape) + " at depth " + std::to_string(f.depth) +
                       ": " + to_string(f.status);
    if (f.cuda_code != 0) line += " (CUDA error " + std::to_string(f.cuda_code) + ")";
    return line;
}

/// Several lines: what was lost, and of how many; the kinds of failure that cost most, those of lost launches first;
/// how many more there are; each piece of advice once. Empty if nothing failed.
inline std::string describe_failures(const report& r) {
    if (r.failed_calls == 0) return {};
    const auto count = [](std::uint64_t n, const char* one, const char* several) {
        return std::to_string(n) + " " + (n == 1 ? one : several);
    };
    const std::uint64_t others = r.failed_calls - r.lost_launches;
    std::string lines = "dynpar: engine " + r.engine + ": " + count(r.lost_launches, "launch", "launches") + " lost";
    if (others != 0) lines += ", " + count(others, "other call", "other calls") + " failed";
    lines += "; " + count(r.grids, "grid", "grids") + " ran";
    if (r.pending_limit != 0) lines += "; limit on pending launches: " + std::to_string(r.pending_limit);

    std::vector<unsigned> kinds;
    std::uint64_t known = 0;
    for (const failure& f : r.failures) {
        kinds.push_back(static_cast<unsigned>(kinds.size()));
        known += f.count;
    }
    // Stable: of equals the first of the report.
    detail::stable_sort(kinds, [&](unsigned left, unsigned right) {
        const auto loses = [](const failure& f) {
            return f.operation == operation::launch || f.operation == operation::then;
        };
        const failure &a = r.failures[left], &b = r.failures[right];
        return loses(a) != loses(b) ? loses(a) : a.count > b.count;
    });
    constexpr std::size_t most_lines = 8;  // an endless recursion fails at each depth
    const std::size_t shown = kinds.size() <= most_lines + 1 ? kinds.size() : most_lines;
    std::uint64_t listed = 0;
    std::string advices;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const failure& f = r.failures[kinds[i]];
        if (i < shown) {
            lines += "\n  " + describe(f);
            listed += f.count;
        }
        const std::string what_to_do = "\n  What to do: " + advice(f) + "\n";
        if ((advices + "\n").find(what_to_do) == std::string::npos)
            advices.append(what_to_do, 0, what_to_do.size() - 1);
    }
    if (shown < kinds.size()) {
        const bool are_all = known == r.failed_calls;
        const std::size_t more = kinds.size() - shown + (are_all ? 0 : 1);
        lines += "\n  and " + std::string(are_all ? "" : "at least ") + std::to_string(more) +
                 " more kinds of failure, of " + std::to_string(r.failed_calls - listed) + " calls";
    } else if (listed < r.failed_calls) {
        lines += "\n  and " + std::to_string(r.failed_calls - listed) + " more of further kinds";
    }
    return lines + advices;
}

/// Sorts the failures for reading: by depth, then by call and kernel.
inline void sort_failures(report& r) {
    std::vector<unsigned> order;
    for (std::size_t i = 0; i < r.failures.size(); ++i) order.push_back(static_cast<unsigned>(i));
    detail::stable_sort(order, [&](unsigned left, unsigned right) {
        const failure &a = r.failures[left], &b = r.failures[right];
        if (a.depth != b.depth) return a.depth < b.depth;
        if (a.operation != b.operation) return a.operation < b.operation;
        if (const int by_name = a.kernel.compare(b.kernel); by_name != 0) return by_name < 0;
        return a.count < b.count;
    });
    std::vector<failure> sorted;
    for (const unsigned i : order) sorted.push_back(std::move(r.failures[i]));
    r.failures.swap(sorted);
}

/// Thrown by `run` when a call in a kernel failed, most often a launch that was lost. Do not trust the run's results.
class launch_error : public std::runtime_error {
public:
    /// `what()` is `describe_failures(what_happened)`.
    explicit launch_error(dynpar::report what_happened)
        : std::runtime_error(describe_failures(what_happened)), report_(std::move(what_happened)) {}

    /// What the run did until its end; every lost launch is among the failures.
    const dynpar::report& report() const { return report_; }

private:
    dynpar::report report_;
};

/// Thrown by `run` when a kernel itself broke: an exception on the host engine (nested inside this one, see
/// `std::rethrow_if_nested`), a trap, assertion or bad address on a GPU.
class kernel_fault : public std::runtime_error {
public:
    /// `cuda_error_code` is the `cudaError_t`, 0 if there is none.
    explicit kernel_fault(const std::string& message, int cuda_error_code = 0)
        : std::runtime_error(message), code_(cuda_error_code) {}

    /// The `cudaError_t`, or 0 on the host engine.
    int code() const { return code_; }

private:
    int code_;
};

/// Thrown by `run` when no thread can continue and the run is not complete; says what waits for what.
class deadlock_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace dynpar
