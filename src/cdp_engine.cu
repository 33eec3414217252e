// The host's side of the device runtime engine: the state of a run on the device, and the report made of it.
#include <dynpar/engine/cdp.cuh>

#include <algorithm>
#include <climits>
#include <cstring>
#include <unordered_map>

namespace dynpar {
namespace detail {
namespace {

unsigned clamp_to_unsigned(std::size_t value) { return static_cast<unsigned>(std::min<std::size_t>(value, UINT_MAX)); }

// What the engine knows better than the general advice.
const char* note_on(const failure& f) {
    if (f.operation == operation::wait && f.status == status::not_supported) {
        return "this GPU's device runtime cannot wait for children inside a kernel (device-side cudaDeviceSynchronize is gone): "
               "put what follows into a kernel given to then(), or run on the queue or host engine";
    }
    if (f.operation == operation::then && f.status == status::not_supported) {
        return "the old device runtime has no tail launch: use wait(), or build without DYNPAR_CDP1";
    }
    if (f.cuda_code == cudaErrorLaunchOutOfResources) {
        return "the kernel needs more registers or shared memory than the GPU has for a block of that size: use fewer threads";
    }
    if (f.operation == operation::launch && f.status == status::invalid_configuration && f.shape.shared_bytes > 48 * 1024) {
        return "a child grid on the device runtime may have at most 49152 bytes of shared memory";
    }
    return "";
}

}  // namespace

cdp_host::cdp_host(const engine_options& options) : options_(options), copy_(std::make_unique<cdp_run>()) {
    int ordinal = 0;
    check(cudaGetDevice(&ordinal), "asking for the current device");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "asking for the device's properties");
    device_ = properties.name;
    limit_results_ = apply(options.limits);
    try {
        check(cudaMalloc(&run_, sizeof(cdp_run)), "allocating the state of a run");
        if (options.trace_grids != 0) {
            const std::size_t records = std::min<std::size_t>(options.trace_grids, grid_record::none);
            check(cudaMalloc(&trace_, records * sizeof(cdp_trace_record)), "allocating the trace");
        }
        check(cudaHostAlloc(&last_begun_, cdp_last_begun::depths * sizeof(cdp_last_begun), cudaHostAllocMapped),
              "allocating the record of begun grids");
    } catch (...) {
        cudaFree(run_);
        cudaFree(trace_);
        throw;
    }
}

// After a kernel fault these calls fail, and there is nothing left to free.
cdp_host::~cdp_host() {
    static_cast<void>(cudaFree(run_));
    static_cast<void>(cudaFree(trace_));
    static_cast<void>(cudaFreeHost(last_begun_));
}

cdp_grid cdp_host::begin(text kernel, const shape& s) {
    std::memset(last_begun_, 0, cdp_last_begun::depths * sizeof(cdp_last_begun));
    cdp_run& run = *copy_;
    run = cdp_run{};
    run.nesting_depth = clamp_to_unsigned(options_.limits.nesting_depth.value_or(UINT_MAX));
    run.sync_depth = clamp_to_unsigned(options_.limits.sync_depth.value_or(limits::default_sync_depth));
    check(cudaHostGetDevicePointer(&run.last_begun, last_begun_, 0), "mapping the record of begun grids");
    run.root_blocks.running = static_cast<unsigned>(s.blocks.count());

    cdp_grid root{run_, s.blocks.count() > 1 ? &run_->root_blocks : nullptr, 0, grid_record::none, grid_record::none};
    if (trace_ != nullptr) {
        run.trace = trace_;
        run.trace_capacity = clamp_to_unsigned(options_.trace_grids);
        run.traced = 1;
        root.id = 0;
        cdp_trace_record record{};
        record.parent = record.continues = grid_record::none;
        record.shape = s;
        record.name_hash = 0;  // no kernel has it: the host puts the name in
        check(cudaMemcpyAsync(trace_, &record, sizeof record, cudaMemcpyHostToDevice, stream()), "preparing the trace");
    }
    check(cudaMemcpyAsync(run_, &run, sizeof run, cudaMemcpyHostToDevice, stream()), "preparing a run");
    root_name_.assign(kernel.begin, kernel.length);
    return root;
}

report cdp_host::empty_report() const {
    report r;
    r.engine = cdp_engine::name;
    r.device = device_;
    std::size_t limit = 0;
    if (cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount) == cudaSuccess) r.pending_limit = limit;
    return r;
}

report cdp_host::refused(text kernel, const shape& s, status why, cudaError_t code) const {
    static_cast<void>(cudaGetLastError());
    report r = empty_report();
    r.failed_calls = r.lost_launches = 1;
    failure f;
    f.status = why;
    f.kernel.assign(kernel.begin, kernel.length);
    f.shape = s;
    f.cuda_code = code;
    r.failures.push_back(std::move(f));
    return r;
}

report cdp_host::finish() {
    if (const cudaError_t code = cudaStreamSynchronize(stream()); code != cudaSuccess) throw_fault(code);
    cdp_run& run = *copy_;
    check(cudaMemcpy(&run, run_, sizeof run, cudaMemcpyDeviceToHost), "reading what became of a run");
    report r = empty_report();
    r.grids = run.begun;
    r.deepest_nesting = run.deepest;
    add_to_report(run.failures, r);
    for (failure& f : r.failures) f.note = note_on(f);
    if (run.launched + 1 != run.begun) {
        // The device runtime took launches and did not run them. Nothing known does this; were it to happen, it is said.
        failure f;
        f.status = status::launch_failed;
        f.kernel = "a kernel that the device runtime accepted";
        f.count = run.launched + 1 - run.begun;
        f.note = "the device runtime accepted this many launches more than grids began";
        r.failed_calls += f.count;
        r.lost_launches += f.count;
        r.failures.push_back(std::move(f));
    }
    sort_failures(r);
    if (trace_ != nullptr) fill_trace(run, r);
    return r;
}

void cdp_host::fill_trace(const cdp_run& run, report& r) const {
    const std::size_t kept = std::min<std::size_t>(run.traced, run.trace_capacity);
    std::vector<cdp_trace_record> records(kept);
    check(cudaMemcpy(records.data(), trace_, kept * sizeof(cdp_trace_record), cudaMemcpyDeviceToHost), "reading the trace");
    std::unordered_map<unsigned long long, std::string> names{{0, root_name_}};
    for (const cdp_name& name : run.names) {
        if (name.hash != 0) names.emplace(name.hash, std::string(name.name, name.length));
    }
    r.trace.missing = run.traced - kept;
    r.trace.grids.reserve(kept);
    for (std::size_t i = 0; i < kept; ++i) {
        grid_record grid;
        grid.id = static_cast<std::uint32_t>(i);
        grid.parent = records[i].parent;
        grid.continues = records[i].continues;
        grid.depth = records[i].depth;
        grid.shape = records[i].shape;
        grid.status = records[i].lost ? status::launch_failed : status::success;
        grid.kernel = names[records[i].name_hash];
        r.trace.grids.push_back(std::move(grid));
    }
}

void cdp_host::throw_fault(cudaError_t code) const {
    std::string message = std::string("dynpar: a kernel broke in a run of ") + root_name_ + " on " + device_ + ": " +
                          cudaGetErrorName(code) + " (" + std::to_string(static_cast<int>(code)) + "): " + cudaGetErrorString(code);
    std::string begun;
    for (unsigned depth = 0; depth < cdp_last_begun::depths; ++depth) {
        const cdp_last_begun& entry = last_begun_[depth];
        if (entry.length == 0) continue;
        begun += (begun.empty() ? "" : ", ") + std::string(entry.name, std::min(entry.length, cdp_name::capacity)) + " at depth " +
                 std::to_string(depth);
    }
    if (!begun.empty()) message += "; the last kernels that began: " + begun;
    if (const char* what_to_do = advice(code); *what_to_do != '\0') message += std::string("; ") + what_to_do;
    throw kernel_fault(message, code);
}

}  // namespace detail
}  // namespace dynpar
