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
#include "../stream.cuh"
#include "failure_table.cuh"

namespace dynpar {
namespace detail {

/// A piece of memory from `scratch<T>(n)`: this header, then the elements.
struct cdp_scratch {
    cdp_scratch* next;
    unsigned long long unused;  // keeps the elements aligned to 16 bytes
};

/// What a block needs to know at its end; in shared memory.
struct cdp_ending {
    unsigned threads;      // that have not returned
    cdp_scratch* scratch;  // what the block took
};

/// The blocks of a grid of several blocks: the last to return sees to the memory that all of them took. A grid of one block
/// needs none of this.
struct cdp_blocks {
    unsigned running;      // blocks that have not returned
    cdp_scratch* scratch;  // what the blocks that have returned took
};

/// A kernel's name, where the host can look it up by the hash that trace records carry.
struct cdp_name {
    static constexpr unsigned capacity = 96;
    unsigned long long hash;  // 0: free
    unsigned length;
    char name[capacity];
};

/// A grid in the trace, as device code writes it.
struct cdp_trace_record {
    unsigned long long name_hash;
    unsigned parent;
    unsigned continues;
    unsigned depth;
    bool lost;
    dynpar::shape shape;
};

/// The last kernel that began at a nesting depth. Lies in host memory, so that it can be read when a fault has taken the device's
/// memory away.
struct cdp_last_begun {
    static constexpr unsigned depths = 64;  // deeper grids share the last entry
    unsigned length;
    char name[cdp_name::capacity];
};

/// A run, in device memory.
struct cdp_run {
    failure_table failures;
    unsigned long long launched;  // launches that the device runtime accepted
    unsigned long long begun;     // grids that began; all of them are complete when the run is
    unsigned deepest;
    unsigned nesting_depth;  // limit
    unsigned sync_depth;     // limit

    unsigned trace_capacity;
    unsigned long long traced;  // grids that wanted a trace record
    cdp_trace_record* trace;
    static constexpr unsigned names_capacity = 256;
    cdp_name names[names_capacity];

    cdp_last_begun* last_begun;                                     // in host memory
    unsigned long long last_begun_hash[cdp_last_begun::depths];     // what is written there

    cdp_blocks root_blocks;
};

/// What every grid of a run is handed.
struct cdp_grid {
    cdp_run* run;
    cdp_blocks* blocks;  // null for a grid of one block
    unsigned depth;
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
    cdp_grid begin(text kernel, const shape& s);
    /// Waits until the run is complete and says what became of it. Throws `kernel_fault`.
    report finish();
    /// The report of a run whose first grid could not be launched.
    report refused(text kernel, const shape& s, status why, cudaError_t code) const;

    cudaStream_t stream() const { return stream_.handle(); }
    const std::string& device() const { return device_; }
    const std::vector<limit_result>& limit_results() const { return limit_results_; }

private:
    report empty_report() const;
    void fill_trace(const cdp_run& run, report& r) const;
    [[noreturn]] void throw_fault(cudaError_t code) const;

    engine_options options_;
    std::vector<limit_result> limit_results_;
    std::string device_;
    dynpar::stream stream_;
    std::string root_name_;
    cdp_run* run_ = nullptr;                  // device memory
    cdp_trace_record* trace_ = nullptr;       // device memory
    cdp_last_begun* last_begun_ = nullptr;    // pinned host memory
    std::unique_ptr<cdp_run> copy_;           // what is copied to and from the device
};

}  // namespace detail
}  // namespace dynpar
