// Queue engine: the report made of what a run has written, and the errors of one that broke or was stopped.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../report.hpp"
#include "../../failure_table.cuh"
#include "../../least_greatest.hpp"
#include "../../printable.hpp"
#include "../memory/state.cuh"
#include "engine_limits.hpp"
#include "engine_memory.hpp"
#include "queue_options.hpp"

namespace dynpar {
namespace detail {
namespace queue {

/// The grid that a run begins with, as reports name it.
struct first_of_run {
    std::string kernel;
    dynpar::shape shape;
};

/// Of grids that never began because the run was stopped.
inline status stop_status(const run_result& done) {
    return done.stopped == deadline_passed ? status::launch_failed : status::out_of_memory;
}

/// Knows what notes and errors refer to: the engine's options, limits and memory.
class run_reporter {
public:
    run_reporter(const queue_options& options, const engine_limits& limits, const engine_memory& memory,
                 std::string device)
        : options_(&options), limits_(&limits), memory_(&memory), device_(std::move(device)) {}

    /// Of a first grid that cannot be, of a kernel whose blocks may have so many threads.
    report refused(const first_of_run& first, status why, unsigned most_threads) const {
        report result = empty();
        result.failed_calls = result.lost_launches = 1;
        failure f;
        f.status = why;
        f.kernel = first.kernel;
        f.shape = first.shape;
        f.note = note_on_bound(why, first.shape, most_threads);
        result.failures.push_back(std::move(f));
        explain(result, 0);
        return result;
    }

    /// Of a run that is complete. Throws `deadlock_error` if its deadline has stopped it.
    report of(const first_of_run& first, const run_result& done) const {
        report result = empty();
        result.grids = done.grids;
        result.deepest_nesting = done.deepest;
        result.needed.nesting_depth = done.deepest;
        result.needed.sync_depth = done.deepest_wait;
        result.needed.live_bytes = done.arena_bytes;
        result.shared_in_device_memory = done.shared_in_memory;
        if (done.failures.failed_calls != 0) add_to_report(done.failures, result);
        if (done.stopped != not_stopped && (done.abandoned != 0 || result.failures.empty())) {
            failure f;
            f.status = stop_status(done);
            f.kernel = "grids that were launched and had not begun (first grid: " + first.kernel + ")";
            f.shape = first.shape;
            f.count = greatest<std::uint64_t>(done.abandoned, 1);
            result.lost_launches += f.count;
            result.failed_calls += f.count;
            result.failures.push_back(std::move(f));
        }
        explain(result, done.abandoned);
        if (done.stopped == deadline_passed) {
            throw deadlock_error("dynpar: the run of " + printable(first.kernel) + " " + to_string(first.shape) +
                                 " was stopped by its deadline of " + std::to_string(options_->deadline_milliseconds) +
                                 " ms: " + std::to_string(done.grids) + " grids had begun, " +
                                 std::to_string(done.abandoned) + " were waiting to; " + what_workers_did(done) +
                                 "; raise queue_options::deadline_milliseconds, or look for an endless recursion");
        }
        return result;
    }

    /// Of a run in which a kernel broke. What it has written is all that is left to read.
    [[noreturn]] static void throw_fault(const first_of_run& first, const run_result& done, cudaError_t code) {
        static_cast<void>(cudaGetLastError());
        std::string message = "dynpar: a kernel broke in the run of " + printable(first.kernel) + " " +
                              to_string(first.shape) + " on engine queue: " + cudaGetErrorName(code) + " (" +
                              std::to_string(static_cast<int>(code)) + "): " + cudaGetErrorString(code);
        unsigned begun = 0, told = 0;
        while (begun < run_result::most_begun && done.begun[begun] != 0) ++begun;
        for (; begun != 0 && told != 3; --begun) {  // the first to suspect
            const unsigned word = done.begun[begun - 1];
            const begun_kernel& kernel = done.kernels[word >> 16];
            const unsigned depth = word >> 1 & 63;
            const std::string name(kernel.name, kernel.name_length);
            if (depth == 0 && name == first.kernel.substr(0, trace_name::capacity)) continue;  // begins with the run
            message += (told == 0 ? "; last to begin for the first time: " : ", before it ") + printable(name) +
                       " at depth " + std::to_string(depth);
            ++told;
        }
        if (told == 0) {
            message += first.shape.threads.count() > 1 ? "; no other kernel of several threads a block had begun"
                                                       : "; no kernel of several threads a block had begun";
        }
        if (const char* what_to_do = advice(code); *what_to_do != '\0') message += std::string("; ") + what_to_do;
        throw kernel_fault(message, static_cast<int>(code));
    }

private:
    report empty() const {
        report r;
        r.engine = "queue";
        r.device = device_;
        return r;
    }

    /// What the warps of a run were at when it was stopped.
    static std::string what_workers_did(const run_result& done) {
        const stopped_workers& at = done.at_stop;
        std::string text = std::to_string(at.running) + " warps were running grids, " + std::to_string(at.searching) +
                           " were looking for some, " + std::to_string(at.waits) + " blocks were in wait()";
        if (at.donations != 0)
            text += ", " + std::to_string(at.donations) + " grids were on their way from one warp to another";
        return text;
    }

    /// Notes that name this engine's options, where nothing else is the matter.
    void explain(report& r, std::uint64_t abandoned) const {
        for (failure& f : r.failures) {
            if (!f.note.empty()) continue;
            if (f.status == status::out_of_memory) {
                f.note = "the memory for grids, " + std::to_string(memory_->bytes_for_grids()) +
                         " bytes, was used up with " + std::to_string(abandoned) +
                         " grids alive; raise queue_options::memory_bytes or limits::heap_bytes (--heap-bytes), or "
                         "check the recursion's "
                         "stop condition";
            } else if (f.status == status::invalid_configuration && dynpar::check(f.shape) == status::success) {
                f.note =
                    "the block is wider than the engine's workers; raise queue_options::block_threads (at most 1024; "
                    "512 where the "
                    "kernels are compiled with -rdc=true, unless DYNPAR_QUEUE_MOST_THREADS says more)";
            } else if (f.status == status::sync_depth_exceeded && f.depth < limits_->sync_depth()) {
                f.note =
                    "the stack of a thread, " + std::to_string(limits_->stack_bytes()) +
                    " bytes, has no room for another wait(): the kernels take more of it than was reckoned with; raise "
                    "limits::stack_bytes";
            } else if (f.status == status::nesting_depth_exceeded && !options_->limits.nesting_depth) {
                f.note = "grids nest to " + std::to_string(info::depth_mask) +
                         " on this engine; check the recursion's stop condition";
            }
        }
    }

    const queue_options* options_;
    const engine_limits* limits_;
    const engine_memory* memory_;
    std::string device_;
};

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
