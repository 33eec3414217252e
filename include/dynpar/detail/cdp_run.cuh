// What the device runtime engine keeps of a run, on the device and on the host.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../engine_options.hpp"
#include "../report.hpp"
#include "device_clock.cuh"
#include "device_trace.cuh"
#include "failure_table.cuh"
#include "progress_line.hpp"
#include "run_stream.hpp"

namespace dynpar {
namespace detail {

/// A piece of memory from `scratch<T>(n)`: this header, then the elements.
struct cdp_scratch {
    cdp_scratch* next;
    unsigned long long bytes;  // with this header, for the trace; and the elements stay aligned to 16 bytes
};

/// What a block's threads keep together, most of it for their end; in shared memory.
struct cdp_ending {
    unsigned threads;         // that have not returned
    unsigned refused_shared;  // calls of shared() that got no memory
    unsigned launching;       // a bit for each warp one of whose threads is launching
    cdp_scratch* scratch;     // what the block took
};

/// The blocks of a grid of several blocks: the last to return sees to the memory that all of them took. A grid of one
/// block needs none of this.
struct cdp_blocks {
    unsigned running;      // blocks that have not returned
    cdp_scratch* scratch;  // what the blocks that have returned took
};

/// The last kernel that began at a nesting depth. Lies in host memory, so that it can be read when a fault has taken
/// the device's memory away.
struct cdp_last_begun {
    static constexpr unsigned depths = 64;  // deeper grids share the last entry
    unsigned length;
    char name[trace_name::capacity];
};

/// A run, in device memory.
struct cdp_run {
    failure_table failures;
    unsigned long long launched;  // launches that the device runtime accepted
    unsigned long long begun;     // grids that began; all of them are complete when the run is
    unsigned deepest;
    unsigned nesting_depth;  // limit
    unsigned sync_depth;     // limit
    unsigned moldable_threads;

    device_trace* trace;  // null where the run is not traced

    cdp_last_begun* last_begun;                                  // in host memory
    unsigned long long last_begun_hash[cdp_last_begun::depths];  // what is written there

    cdp_blocks root_blocks;
};

/// What every grid of a run is handed.
template <bool Traced>
struct cdp_grid {
    cdp_run* run;
    cdp_blocks* blocks;  // null for a grid of one block
    unsigned depth;
};
template <>
struct cdp_grid<true> : cdp_grid<false> {
    unsigned id;      // in the trace
    unsigned parent;  // likewise
};

/// The host's side of the engine: device state, and the report made of it.
class cdp_host {
public:
    explicit cdp_host(const engine_options& options);
    ~cdp_host();
    cdp_host(const cdp_host&) = delete;
    cdp_host& operator=(const cdp_host&) = delete;

    /// Makes the device state ready for a run; what the root grid is to be handed.
    cdp_grid<true> begin(text kernel, const shape& s);
    /// Waits until the run is complete and says what became of it. Throws `kernel_fault`.
    report finish();
    /// The report of a run whose first grid could not be launched.
    report refused(text kernel, const shape& s, status why, cudaError_t code,
                   unsigned most_threads = bounds::block_threads) const;

    cudaStream_t stream() const { return stream_.get(); }
    const std::string& device() const { return device_; }
    const std::vector<limit_result>& limit_results() const { return limit_results_; }
    /// One for each lane of each multiprocessor.
    unsigned reducer_slots() const { return multiprocessors_ * 32; }

private:
    report empty_report() const;
    void fill_trace(report& r);
    void wait();
    void watch();
    [[noreturn]] void give_up(cudaStream_t past_the_run);
    [[noreturn]] void throw_fault(cudaError_t code) const;

    engine_options options_;
    std::vector<limit_result> limit_results_;
    std::string device_;
    int ordinal_ = 0;  // of the device
    unsigned multiprocessors_ = 0;
    owned_stream stream_ = make_run_stream();
    std::string root_name_;
    cdp_run* run_ = nullptr;                    // device memory
    device_trace* trace_ = nullptr;             // device memory, null if there is to be none
    device_trace_record* records_ = nullptr;    // device memory
    std::unique_ptr<clock_comparison> clocks_;  // null likewise
    dynpar::shape root_shape_;
    std::int64_t begun_ = 0;  // the run's start, by the host's clock, in nanoseconds
    clock_pair clocks_before_;
    cdp_last_begun* last_begun_ = nullptr;  // pinned host memory
    std::unique_ptr<cdp_run> copy_;         // what is copied to and from the device
};

}  // namespace detail
}  // namespace dynpar
