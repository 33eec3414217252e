// The host's side of the device runtime engine: the state of a run on the device, and the report made of it.
#include <dynpar/engine/cdp.cuh>

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <future>

namespace dynpar {
namespace detail {
namespace {

unsigned clamp_to_unsigned(std::size_t value) { return static_cast<unsigned>(std::min<std::size_t>(value, UINT_MAX)); }

// What the engine knows better than the general advice.
const char* note_on(const failure& f) {
    if (f.operation == operation::wait && f.status == status::not_supported) {
        return "this GPU's device runtime cannot wait for children inside a kernel (device-side "
               "cudaDeviceSynchronize is gone): put what follows into a kernel given to then(), or run on "
               "the queue or host engine";
    }
    if (f.operation == operation::then && f.status == status::not_supported) {
        return "the old device runtime has no tail launch: use wait(), or build without DYNPAR_CDP1";
    }
    if (f.cuda_code == cudaErrorLaunchOutOfResources) {
        return "the kernel needs more registers or shared memory than the GPU has for a block of that size: use fewer "
               "threads";
    }
    if (f.operation == operation::launch && f.status == status::invalid_configuration &&
        f.shape.shared_bytes > 48 * 1024) {
        return "a child grid on the device runtime may have at most 49152 bytes of shared memory";
    }
    return "";
}

// When each grid was complete, with all that came from it. Records come in launch order: what a grid launched comes
// after it.
std::vector<std::uint64_t> completion_times(const std::vector<grid_record>& grids) {
    std::vector<std::uint64_t> complete(grids.size(), 0);
    for (std::size_t i = grids.size(); i-- > 0;) {
        const grid_record& grid = grids[i];
        if (!grid.ran()) continue;
        if (grid.ended != grid_record::never) complete[i] = std::max(complete[i], grid.ended);
        for (const std::uint32_t above : {grid.parent, grid.continues})
            if (above < i) complete[above] = std::max(complete[above], complete[i]);
    }
    return complete;
}

// The most launches that were pending at once. A launch is pending until its grid and all that came from it is
// complete: the device runtime refuses exactly what is over its limit by that count (measured with chains whose grids
// return at once). The tail launch that frees a grid's scratch memory is one of them.
std::uint64_t most_pending(const std::vector<grid_record>& grids, const std::vector<device_trace_record>& records) {
    const std::vector<std::uint64_t> complete = completion_times(grids);
    std::vector<std::pair<std::uint64_t, int>> changes;
    changes.reserve(2 * grids.size());
    const auto add = [&](std::uint64_t from, std::uint64_t to) {
        changes.emplace_back(from, -1);  // sorts before an end at the same time
        changes.emplace_back(std::max(from, to), +1);
    };
    for (std::size_t i = 0; i < grids.size(); ++i) {
        if (!grids[i].ran()) continue;
        if (i != 0) add(grids[i].launched, complete[i]);
        if (records[i].frees_scratch) add(grids[i].ended, complete[i]);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t pending = 0;
    std::int64_t most = 0;
    for (const auto& change : changes) most = std::max(most, pending -= change.second);
    return static_cast<std::uint64_t>(most);
}

}  // namespace

cdp_host::cdp_host(const engine_options& options) : options_(options), copy_(std::make_unique<cdp_run>()) {
    check(cudaGetDevice(&ordinal_), "asking for the current device");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal_), "asking for the device's properties");
    multiprocessors_ = static_cast<unsigned>(properties.multiProcessorCount);
    device_ = properties.name;
    limit_results_ = apply(options.limits);
    try {
        check(cudaMalloc(&run_, sizeof(cdp_run)), "allocating the state of a run");
        if (options.trace_grids != 0) {
            const std::size_t records = std::min<std::size_t>(options.trace_grids, grid_record::none - 1);
            check(cudaMalloc(&trace_, sizeof(device_trace)), "allocating the trace");
            check(cudaMalloc(&records_, records * sizeof(device_trace_record)), "allocating the trace");
            clocks_ = std::make_unique<clock_comparison>();
        }
        check(cudaHostAlloc(&last_begun_, cdp_last_begun::depths * sizeof(cdp_last_begun), cudaHostAllocMapped),
              "allocating the record of begun grids");
    } catch (...) {
        cudaFree(run_);
        cudaFree(trace_);
        cudaFree(records_);
        throw;
    }
}

// After a kernel fault these calls fail, and there is nothing left to free.
cdp_host::~cdp_host() {
    if (device_is_stuck()) {  // every one of these calls would wait for a run that does not end
        static_cast<void>(clocks_.release());
        return;
    }
    static_cast<void>(cudaFree(run_));
    static_cast<void>(cudaFree(trace_));
    static_cast<void>(cudaFree(records_));
    static_cast<void>(cudaFreeHost(last_begun_));
}

cdp_grid<true> cdp_host::begin(text kernel, const shape& s) {
    std::memset(last_begun_, 0, cdp_last_begun::depths * sizeof(cdp_last_begun));
    cdp_run& run = *copy_;
    run = cdp_run{};
    run.nesting_depth = clamp_to_unsigned(options_.limits.nesting_depth.value_or(UINT_MAX));
    run.sync_depth = clamp_to_unsigned(options_.limits.sync_depth.value_or(limits::default_sync_depth));
    run.moldable_threads = options_.moldable_threads == 0 ? bounds::block_threads : options_.moldable_threads;
    check(cudaHostGetDevicePointer(&run.last_begun, last_begun_, 0), "mapping the record of begun grids");
    run.root_blocks.running = static_cast<unsigned>(s.blocks.count());

    cdp_grid<true> root{};
    root.run = run_;
    root.blocks = s.blocks.count() > 1 ? &run_->root_blocks : nullptr;
    root.id = root.parent = grid_record::none;
    if (trace_ != nullptr) {
        run.trace = trace_;
        auto trace = std::make_unique<device_trace>();
        trace->capacity = clamp_to_unsigned(std::min<std::size_t>(options_.trace_grids, grid_record::none - 1));
        trace->records = records_;
        trace->wanted = 1;
        root.id = 0;
        device_trace_record record{};
        record.begun = grid_record::never;
        record.parent = record.continues = record.stream = record.processor = grid_record::none;
        record.shape = s;
        check(cudaMemcpyAsync(records_, &record, sizeof record, cudaMemcpyHostToDevice, stream()),
              "preparing the trace");
        check(cudaMemcpyAsync(trace_, trace.get(), sizeof *trace, cudaMemcpyHostToDevice, stream()),
              "preparing the trace");
    }
    check(cudaMemcpyAsync(run_, &run, sizeof run, cudaMemcpyHostToDevice, stream()), "preparing a run");
    root_name_.assign(kernel.begin, kernel.length);
    root_shape_ = s;
    if (trace_ != nullptr) {
        clocks_before_ = clocks_->compare(stream());
        begun_ = host_nanoseconds();
    }
    return root;
}

report cdp_host::empty_report() const {
    report r;
    r.engine = cdp_engine::name;
    r.device = device_;
    std::size_t limit = 0;
    if (cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount) == cudaSuccess) {
        r.pending_limit = limit;
    } else {
        static_cast<void>(cudaGetLastError());
    }
    return r;
}

report cdp_host::refused(text kernel, const shape& s, status why, cudaError_t code, unsigned most_threads) const {
    if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
    report r = empty_report();
    r.failed_calls = r.lost_launches = 1;
    failure f;
    f.status = why;
    f.kernel.assign(kernel.begin, kernel.length);
    f.shape = s;
    f.cuda_code = code;
    f.note = note_on_bound(why, s, most_threads);
    r.failures.push_back(std::move(f));
    return r;
}

report cdp_host::finish() {
    wait();
    if (const cudaError_t code = cudaStreamSynchronize(stream()); code != cudaSuccess) throw_fault(code);
    cdp_run& run = *copy_;
    check(cudaMemcpy(&run, run_, sizeof run, cudaMemcpyDeviceToHost), "reading what became of a run");
    report r = empty_report();
    r.grids = run.begun;
    r.deepest_nesting = run.deepest;
    r.needed.nesting_depth = run.deepest;
    add_to_report(run.failures, r);
    for (failure& f : r.failures)
        if (f.note.empty()) f.note = note_on(f);
    if (run.begun > run.launched + 1) {
        for (failure& f : r.failures) {
            if (f.cuda_code == 0 || (f.operation != operation::launch && f.operation != operation::then)) continue;
            f.note =
                "more grids began than the device runtime is known to have accepted: an error that device code of "
                "the program left behind, not fetched with cudaGetLastError, was taken for that of a launch";
        }
    } else if (run.begun < run.launched + 1) {
        // The device runtime took launches and did not run them. Nothing known does this; were it to happen, it is
        // said.
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
    if (trace_ != nullptr) fill_trace(r);
    return r;
}

/// Waits for the run. Each query of a run that is not complete sets the querying thread's last error to
/// cudaErrorNotReady. If the program has left an error there that it has not fetched yet, another thread queries.
void cdp_host::wait() {
    if (cudaPeekAtLastError() == cudaSuccess) {
        watch();
        static_cast<void>(cudaGetLastError());  // what broke is found by the caller, too
    } else {
        std::async(std::launch::async, [this] {
            if (cudaSetDevice(ordinal_) == cudaSuccess) watch();
        }).get();
    }
}

/// Waits for the run, and shows its progress if asked to: a second stream copies the run's counters meanwhile. A run
/// that has lost launches and then makes no progress is given up: CUDA's device runtime can hang once launches are over
/// the pending limit (seen in plain CUDA too), and a run that has lost a launch has failed anyway.
void cdp_host::watch() {
    constexpr std::int64_t millisecond = 1000000;
    constexpr std::int64_t patience = 10000 * millisecond;
    progress_line line(options_.progress, cdp_engine::name);
    struct side_channel {  // copies that do not wait for the run
        cudaStream_t stream = nullptr;
        unsigned long long* counters = nullptr;
        ~side_channel() {
            if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
            if (counters != nullptr && !device_is_stuck()) static_cast<void>(cudaFreeHost(counters));
        }
    } side;
    const std::int64_t begun = steady_nanoseconds();
    std::int64_t looked = begun, moved = begun;
    unsigned long long before = 0;
    while (cudaStreamQuery(stream()) == cudaErrorNotReady) {
        const std::int64_t now = steady_nanoseconds();
        if (now - begun <= 1000 * millisecond) continue;
        usleep(1000);
        if (now - looked < 200 * millisecond) continue;
        looked = now;
        if (side.stream == nullptr &&
            (cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking) != cudaSuccess ||
             cudaHostAlloc(&side.counters, 4 * sizeof(unsigned long long), cudaHostAllocDefault) != cudaSuccess))
            break;  // nothing can be seen then, but waited for
        static_assert(offsetof(cdp_run, begun) == offsetof(cdp_run, launched) + sizeof(unsigned long long));
        static_assert(offsetof(failure_table, lost_launches) ==
                      offsetof(failure_table, failed_calls) + sizeof(unsigned long long));
        if (cudaMemcpyAsync(side.counters, &run_->launched, 16, cudaMemcpyDeviceToHost, side.stream) != cudaSuccess ||
            cudaMemcpyAsync(side.counters + 2, &run_->failures, 16, cudaMemcpyDeviceToHost, side.stream) !=
                cudaSuccess ||
            cudaStreamSynchronize(side.stream) != cudaSuccess)
            break;
        const unsigned long long grids = side.counters[1], lost = side.counters[3];
        if (line.due()) line.show(grids, "grids begun", side.counters[0] + 1 - grids, "waiting to begin");
        if (grids + side.counters[2] != before) {
            before = grids + side.counters[2];
            moved = now;
        }
        if (lost != 0 && now - moved > patience) give_up(side.stream);
    }
}

/// The run stands still and will not end: says what was lost, from what can be copied past it.
void cdp_host::give_up(cudaStream_t past_the_run) {
    note_stuck_device();
    cdp_run& run = *copy_;
    report r = empty_report();
    if (cudaMemcpyAsync(&run, run_, sizeof run, cudaMemcpyDeviceToHost, past_the_run) == cudaSuccess &&
        cudaStreamSynchronize(past_the_run) == cudaSuccess) {
        r.grids = run.begun;
        add_to_report(run.failures, r);
        sort_failures(r);
    }
    throw deadlock_error(
        describe_failures(r) +
        "\n  After that the device runtime made no progress for 10 s. CUDA's device runtime can hang once launches are "
        "over the pending limit; the run is given up, and this process cannot use the GPU any more");
}

void cdp_host::fill_trace(report& r) {
    const std::int64_t host_end = host_nanoseconds();
    const run_clock clock(clocks_before_, clocks_->compare(stream()), begun_);
    auto on_device = std::make_unique<device_trace>();
    check(cudaMemcpy(on_device.get(), trace_, sizeof(device_trace), cudaMemcpyDeviceToHost), "reading the trace");
    const std::size_t kept = std::min<std::size_t>(on_device->wanted, on_device->capacity);
    std::vector<device_trace_record> records(kept);
    check(cudaMemcpy(records.data(), records_, kept * sizeof(device_trace_record), cudaMemcpyDeviceToHost),
          "reading the trace");

    trace& t = r.trace;
    t.engine = r.engine;
    t.device = r.device;
    t.missing = on_device->wanted - kept;
    t.nanoseconds = static_cast<std::uint64_t>(host_end - begun_);
    add_grids(t, *on_device, records, engine_kind::cdp, root_name_, clock);
    if (t.missing == 0) r.needed.pending_launches = most_pending(t.grids, records);
    r.needed.live_bytes = on_device->most_live_bytes;
#if DYNPAR_CDP1
    r.needed.sync_depth = on_device->deepest_wait;
#endif
}

void cdp_host::throw_fault(cudaError_t code) const {
    std::string message = std::string("dynpar: a kernel broke in a run of ") + printable(root_name_) + " on " +
                          device_ + ": " + cudaGetErrorName(code) + " (" + std::to_string(static_cast<int>(code)) +
                          "): " + cudaGetErrorString(code);
    std::string begun;
    for (unsigned depth = 0; depth < cdp_last_begun::depths; ++depth) {
        const cdp_last_begun& entry = last_begun_[depth];
        if (entry.length == 0) continue;
        begun += (begun.empty() ? "" : ", ") + printable({entry.name, std::min(entry.length, trace_name::capacity)}) +
                 " at depth " + std::to_string(depth);
    }
    if (!begun.empty()) message += "; the last kernels that began: " + begun;
    if (const char* what_to_do = advice(code); *what_to_do != '\0') message += std::string("; ") + what_to_do;
    throw kernel_fault(message, code);
}

}  // namespace detail
}  // namespace dynpar
