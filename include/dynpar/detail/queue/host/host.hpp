// Queue engine, the host's side: options, device memory, and the report made of a run.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../../../cuda_error.hpp"
#include "../../../engine_options.hpp"
#include "../../../kernel.hpp"
#include "../../../report.hpp"
#include "../../failure_table.cuh"
#include "../../launch_grid.cuh"
#include "../../progress_line.hpp"
#include "../engine_lock.cuh"
#include "../memory/state.cuh"

namespace dynpar {

/// Options of the queue engine.
struct queue_options : engine_options {
    /// Threads of a worker block: the widest block that can run. A multiple of 32, at most 1024; 0: 512, or what the run's first
    /// grid needs if that is more. With 1024 twice as many warps work on a multiprocessor: recursions of many grids of a warp are
    /// faster, lane tasks that join slower (docs/queue-engine.md, Tuning).
    unsigned block_threads = 0;
    /// How many worker blocks; 0: enough for 512 threads on every multiprocessor, which is fastest for small grids.
    unsigned worker_blocks = 0;
    /// Threads that the blocks of moldable kernels get, if their shape allows. A warp is cheapest; 1 where every block does little.
    unsigned moldable_threads = 32;
    /// Device memory in bytes for grids that are alive, their arguments and their scratch memory; 0: `limits::heap_bytes`, and where
    /// that is not given 4 GiB, or a quarter of what is free if that is less. Over it a run ends with `launch_error`.
    std::size_t memory_bytes = 0;
    /// Shared memory in bytes of a worker block, for `block.shared`; a block that needs more has it in device memory.
    unsigned shared_bytes = 16 * 1024;
    /// A run that takes longer is stopped, in milliseconds; 0: none. A kernel that never returns cannot be stopped.
    unsigned long long deadline_milliseconds = 0;
};

namespace detail {
namespace queue {

/// How wide a worker block of a resident grid can be, and how many fit on the device: asked once.
struct launch_cache {
    std::mutex mutex;
    unsigned most_threads = 0;  // it was compiled for
    unsigned threads = 0;
    unsigned bytes = 0;
    unsigned most_bytes = 0;    // of shared memory that were ever asked for: another thread may be about to launch with as many
    int device = -1;
    unsigned blocks = 0;
};

/// Device and pinned memory that goes when its owner does. Failing to free it helps nobody.
struct device_delete {
    void operator()(void* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};
struct pinned_delete {
    void operator()(void* memory) const noexcept { static_cast<void>(cudaFreeHost(memory)); }
};
struct event_delete {
    using pointer = cudaEvent_t;
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
};
struct stream_delete {
    using pointer = cudaStream_t;
    void operator()(cudaStream_t stream) const noexcept { static_cast<void>(cudaStreamDestroy(stream)); }
};

class host_side;

/// One run, from enqueue to its report.
class pending_run {
public:
    pending_run(std::shared_ptr<host_side> host, std::string kernel, const shape& s, run_result* result)
        : host_(std::move(host)), kernel_(std::move(kernel)), shape_(s), result_(result) {}
    ~pending_run();

    report wait();
    bool is_complete() const;

private:
    friend class host_side;

    std::shared_ptr<host_side> host_;
    std::string kernel_;
    shape shape_;
    run_result* result_;                                   // pinned
    std::unique_ptr<CUevent_st, event_delete> complete_;
    unsigned long long stream_ = 0;                        // number
    bool refused_ = false;
    bool captured_ = false;
    report report_;                                        // if it was refused
    clock_pair clocks_before_;                             // only in traced runs, as what follows
    std::int64_t begun_ = 0;                               // by the host's clock
    std::int64_t ended_ = 0;                               // likewise; 0: it was over when somebody came to wait for it
    std::optional<dynpar::trace> trace_;                   // once it is read
};

class host_side : public std::enable_shared_from_this<host_side> {
public:
    explicit host_side(const queue_options& options) : options_(options) {
        check_traceable(options_, "queue");
        int device = 0;
        check(cudaGetDevice(&device), "finding the current device for the queue engine");
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device), "asking for the device's properties");
        device_ = properties.name;
        device_number_ = device;
        multiprocessors_ = static_cast<unsigned>(properties.multiProcessorCount);
        shared_bytes_of_multiprocessor_ = properties.sharedMemPerMultiprocessor;
        shared_bytes_reserved_ = properties.reservedSharedMemPerBlock;
        if (options_.block_threads % warp_size != 0 || options_.block_threads > bounds::block_threads) {
            throw std::invalid_argument("dynpar: queue_options::block_threads is " + std::to_string(options_.block_threads) +
                                        ": give a multiple of 32, at most 1024, or 0");
        }
        options_.moldable_threads = std::clamp(options_.moldable_threads, 1u, least_threads());
        most_workers_ = multiprocessors_ * static_cast<unsigned>(properties.maxThreadsPerMultiProcessor) / warp_size;
        // A device with two worker blocks of 1024 threads has as many warps as one with many small ones.
        set_limits();

        stream_.reset(make_stream());
        allocate(control_, sizeof(run_control), "the queue engine's state");
        allocate(failures_, sizeof(failure_table), "the queue engine's table of failures");
        allocate(lane_deques_, std::size_t{most_workers_} * lane_deque_capacity * sizeof(lane_task), "the queue engine's stacks");
        allocate(wide_deques_, std::size_t{most_workers_} * wide_deque_capacity * sizeof(wide_task), "the queue engine's stacks");
        // A worker block that runs block tasks has two warps at least.
        allocate(block_deques_, std::size_t{most_workers_} / 2 * block_deque_capacity * sizeof(wide_task), "the queue engine's stacks");
        allocate(free_nodes_, std::size_t{most_workers_} * node_cache_capacity * sizeof(arena_index), "the queue engine's free records");
        allocate(free_pieces_, std::size_t{most_workers_} * piece_cache_capacity * sizeof(arena_index), "the queue engine's free pieces");
        if (options_.trace_grids != 0) {
            // Every worker block may have taken more numbers than it needed.
            const std::size_t worker_blocks = most_workers_ / (std::min(least_threads(), 128u) / warp_size);
            const std::size_t in_vain = worker_blocks * (trace_batch::size - 1);
            options_.trace_grids = std::min(options_.trace_grids, trace_batch::most_grids / 2);
            trace_capacity_ = options_.trace_grids + in_vain;
            allocate(trace_, sizeof(device_trace), "the trace");
            allocate(trace_records_, trace_capacity_ * sizeof(device_trace_record), "the trace (engine_options::trace_grids)");
            clocks_ = std::make_unique<clock_comparison>();
        }
        // Room for a ticket and a gift of every worker, and then as many again.
        cells_ = 1;
        while (cells_ < 2 * most_workers_) cells_ *= 2;
        allocate(warp_cells_, cells_ * sizeof(transfer_cell), "the queue engine's ring");
        allocate(block_cells_, cells_ * sizeof(transfer_cell), "the queue engine's ring");
        std::size_t free_bytes = 0, all_bytes = 0;
        check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free device memory");
        if (options_.memory_bytes == 0) {
            options_.memory_bytes = options_.limits.heap_bytes.value_or(std::min(std::size_t{4} << 30, free_bytes / 4));
        }
        if (options_.memory_bytes < 1024 * unit_bytes) {
            throw std::invalid_argument("dynpar: queue_options::memory_bytes is too small: give at least 65536");
        }
        arena_begin_ = traced_descriptors + static_cast<arena_index>(trace_capacity_) * traced_descriptor_units;
        // Places are 32 bits, with one bit kept for other uses.
        arena_units_ = std::min<std::size_t>(arena_begin_ - 1 + options_.memory_bytes / unit_bytes, (std::size_t{1} << 31) - 1);
        allocate(arena_, arena_units_ * unit_bytes, "the queue engine's memory for grids (queue_options::memory_bytes)");
        if (options_.limits.heap_bytes) {
            limit_result heap;
            heap.name = "heap_bytes";
            heap.asked = *options_.limits.heap_bytes;
            heap.got = options_.memory_bytes;
            heap.device_bytes = static_cast<std::ptrdiff_t>(arena_units_ * unit_bytes);
            limit_results_.push_back(heap);
        }

        if (trace_) {
            const auto trace = std::make_unique<device_trace>();
            trace->capacity = static_cast<unsigned>(trace_capacity_);
            trace->records = trace_records_.get();
            check(cudaMemcpy(trace_.get(), trace.get(), sizeof(device_trace), cudaMemcpyHostToDevice), "preparing the trace");
        }
        if (progress_line(options_.progress, "queue").on()) {
            progress_stream_.reset(make_stream());
            void* memory = nullptr;
            check(cudaHostAlloc(&memory, 2 * sizeof(unsigned long long), cudaHostAllocDefault), "allocating host memory for progress");
            progress_.reset(static_cast<unsigned long long*>(memory));
        }
        check(cudaMemset(warp_cells_.get(), 0, cells_ * sizeof(transfer_cell)), "clearing the queue engine's ring");
        check(cudaMemset(block_cells_.get(), 0, cells_ * sizeof(transfer_cell)), "clearing the queue engine's ring");
        check(cudaMemset(failures_.get(), 0, sizeof(failure_table)), "clearing the queue engine's table of failures");
        check(cudaMemset(control_.get(), 0, sizeof(run_control)), "preparing the queue engine's state");
        check(cudaDeviceSynchronize(), "preparing the queue engine");
        last_complete_.reset(make_event());
    }

    cudaStream_t stream() const { return stream_.get(); }
    const queue_options& options() const { return options_; }
    const std::string& device() const { return device_; }
    const std::vector<limit_result>& limit_results() const { return limit_results_; }

    /// The widest worker block that this resident grid was compiled for.
    unsigned most_worker_threads(launch_cache& cache, const void* grid) const {
        const std::lock_guard<std::mutex> guard(cache.mutex);
        if (cache.most_threads == 0) {
            cudaFuncAttributes attributes{};
            check(cudaFuncGetAttributes(&attributes, grid), "asking how wide a worker block can be");
            cache.most_threads = static_cast<unsigned>(attributes.maxThreadsPerBlock);
        }
        if (options_.block_threads > cache.most_threads) {
            throw std::invalid_argument("dynpar: queue_options::block_threads is " + std::to_string(options_.block_threads) +
                                        ", and this kernel was compiled for worker blocks of at most " +
                                        std::to_string(cache.most_threads) + " threads: see DYNPAR_QUEUE_MOST_THREADS");
        }
        return cache.most_threads;
    }

    /// Whether the host may launch a grid of that shape.
    status check_first(const shape& s, unsigned most_threads, unsigned most_worker_threads) const {
        if (dynpar::check(s, most_threads) != status::success) return status::invalid_configuration;
        const unsigned widest = options_.block_threads != 0 ? options_.block_threads : most_worker_threads;
        return s.moldable || s.threads.count() <= widest ? status::success : status::invalid_configuration;
    }

    /// For a first grid that `check_first` has let pass.
    unsigned block_threads_for(const shape& s, unsigned most_worker_threads) const {
        if (options_.block_threads != 0) return options_.block_threads;
        const unsigned needed = s.moldable ? 1 : (static_cast<unsigned>(s.threads.count()) + warp_size - 1) / warp_size * warp_size;
        return std::max(std::min(least_threads(), most_worker_threads), needed);
    }
    unsigned shared_bytes_for(unsigned threads) const { return state_bytes(threads) + (options_.shared_bytes + 15) / 16 * 16; }

    unsigned worker_blocks(launch_cache& cache, const void* grid, unsigned threads, unsigned bytes) const {
        const std::lock_guard<std::mutex> guard(cache.mutex);
        if (cache.threads != threads || cache.bytes != bytes || cache.device != device_number_) {
            if (cache.device != device_number_) cache.most_bytes = 0;
            if (bytes > std::max(48u * 1024, cache.most_bytes)) {
                check(cudaFuncSetAttribute(grid, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                      "asking for the worker blocks' shared memory (queue_options::shared_bytes)");
                cache.most_bytes = bytes;
            }
            int blocks = 0;
            check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid, static_cast<int>(threads), bytes),
                  "asking how many worker blocks fit");
            if (blocks < 1) {
                throw cuda_error(cudaErrorLaunchOutOfResources,
                                 "a worker block of " + std::to_string(threads) + " threads and " + std::to_string(bytes) +
                                     " bytes of shared memory does not fit; lower queue_options::block_threads or shared_bytes",
                                 DYNPAR_HERE);
            }
            // What worker blocks do not need of the shared memory is first-level cache, and the scheduler lives in that. A hint: who is not
            // given it is only slower.
            const unsigned wanted = wanted_blocks(static_cast<unsigned>(blocks) * multiprocessors_, threads);
            const unsigned on_each = (wanted + multiprocessors_ - 1) / multiprocessors_;
            const std::size_t all = shared_bytes_of_multiprocessor_;
            const std::size_t percent = std::min<std::size_t>((on_each * (bytes + shared_bytes_reserved_) * 100 + all - 1) / all, 100);
            check(cudaFuncSetAttribute(grid, cudaFuncAttributePreferredSharedMemoryCarveout, static_cast<int>(percent)),
                  "asking for a large first-level cache");
            cache.threads = threads;
            cache.bytes = bytes;
            cache.device = device_number_;
            cache.blocks = static_cast<unsigned>(blocks) * multiprocessors_;
        }
        return wanted_blocks(cache.blocks, threads);
    }
    unsigned wanted_blocks(unsigned that_fit, unsigned threads) const {
        const unsigned room = std::min(that_fit, most_workers_ / (threads / warp_size));
        // 16 warps a multiprocessor run fastest: more of them crowd each other out of the first-level cache.
        const unsigned enough = multiprocessors_ * std::max(1u, 512 / threads);
        const unsigned wanted = options_.worker_blocks != 0 ? options_.worker_blocks : std::min(that_fit, enough);
        return std::max(1u, std::min(wanted, room));
    }

    /// Held from begin() to launched(): several threads may enqueue runs.
    std::unique_lock<std::mutex> lock_launches() { return std::unique_lock<std::mutex>(launches_mutex_); }

    /// Makes ready for a run in `stream`: it follows the engine's last one.
    std::shared_ptr<pending_run> begin(cudaStream_t stream, text kernel, const shape& s) {
        auto run = std::make_shared<pending_run>(shared_from_this(), std::string(kernel.begin, kernel.length), s, take_result());
        cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
        check(cudaStreamIsCapturing(stream, &capture), "asking whether a stream is being captured");
        run->captured_ = capture == cudaStreamCaptureStatusActive;
        if (!run->captured_) {
            run->complete_ = take_event();  // now: when the grid is launched, nothing may fail that its end waits for
            run->stream_ = stream_number(stream);
        }
        if (run->captured_ && !locks_) {
            wait_for_last_run();  // it holds no lock
            locks_ = true;
        }
        if (!run->captured_ && used_ && run->stream_ != last_stream_) {
            check(cudaStreamWaitEvent(stream, last_complete_.get(), 0), "ordering a run after the engine's last");
        }
        if (trace_ && !run->captured_) {
            if (const auto before = last_traced_.lock()) keep_trace(*before);  // this run writes over it
            last_traced_ = run;
            run->clocks_before_ = clocks_->compare(stream_.get());
            run->begun_ = host_nanoseconds();
        }
        return run;
    }

    /// Takes the engine's lock, where runs do.
    void enter(cudaStream_t stream) {
        if (!locks_) return;
        check(launch_grid(&enter_engine<run_control>, 1, 1, 0, stream, control_.get(), multiprocessors_), "launching what waits for the engine");
    }

    engine_view view(const pending_run& run, unsigned blocks, unsigned threads) const {
        engine_view v{};
        v.control = control_.get();
        v.failures = failures_.get();
        v.result = run.result_;
        v.trace = trace_.get();
        v.trace_records = trace_records_.get();
        v.trace_capacity = static_cast<unsigned>(trace_capacity_);
        v.arena_begin = v.arena_fresh = arena_begin_;
        const std::size_t at_first = std::size_t{blocks} * (threads / warp_size) * units_at_first;
        if (at_first <= (arena_units_ - arena_begin_) / 4) v.arena_fresh += static_cast<arena_index>(at_first);
        v.arena = arena_.get();
        v.arena_units = arena_units_;
        v.lane_deques = lane_deques_.get();
        v.wide_deques = wide_deques_.get();
        v.block_deques = block_deques_.get();
        v.free_nodes = free_nodes_.get();
        v.free_pieces = free_pieces_.get();
        v.warp_cells = warp_cells_.get();
        v.block_cells = block_cells_.get();
        v.cell_mask = static_cast<unsigned>(cells_ - 1);
        while (std::size_t{1} << v.cell_shift < cells_) ++v.cell_shift;
        v.block_threads = threads;
        v.moldable_threads = std::min(options_.moldable_threads, threads);
        v.sync_depth = static_cast<unsigned>(std::min<std::size_t>(sync_depth_, info::depth_mask));
        v.nesting_depth =
            static_cast<unsigned>(std::min<std::size_t>(options_.limits.nesting_depth.value_or(info::depth_mask), info::depth_mask));
        v.stack_bytes = static_cast<unsigned>(stack_bytes_);
        v.shared_bytes = (options_.shared_bytes + 15) / 16 * 16;
        v.deadline_nanoseconds = options_.deadline_milliseconds * 1000000;
        v.replayed = run.captured_;
        v.locked = locks_;
        v.attended = v.deadline_nanoseconds != 0 || progress_ != nullptr;
        return v;
    }

    /// The grid that a run begins with, for worker blocks of so many threads.
    first_grid first(const shape& s, unsigned payload_size, unsigned threads) const {
        const width_choice choice = choose_width(s, std::min(options_.moldable_threads, threads));
        first_grid first{};
        first.shape = s;
        first.payload_size = payload_size;
        put_descriptor(first.descriptor, s, choice.threads, trace_ ? first_trace_id : dynpar::grid_record::none);
        wide_task& task = first.descriptor.task;
        task.size = block_size(choice.threads, s.shared_bytes);
        task.last = static_cast<std::uint32_t>(s.blocks.count());
        task.info = choice.width | info::owner | (task.last > 1 ? info::one_of_several : 0u) | (trace_ ? info::traced : 0u);
        return first;
    }

    void launched(pending_run& run, cudaStream_t stream, cudaError_t code) {
        if (code != cudaSuccess) {
            static_cast<void>(cudaGetLastError());  // it is told here
            if (locks_) static_cast<void>(cudaMemsetAsync(&control_->lock, 0, sizeof(control_->lock), stream));  // nobody else gives it back
            throw cuda_error(code, "launch of the resident grid for " + run.kernel_, DYNPAR_HERE);
        }
        if (run.captured_) return;
        cudaError_t recorded = cudaEventRecord(run.complete_.get(), stream);
        if (recorded == cudaSuccess) recorded = cudaEventRecord(last_complete_.get(), stream);
        if (recorded != cudaSuccess) static_cast<void>(cudaStreamSynchronize(stream));  // nobody else would wait for the grid
        check(recorded, "recording the end of a run");
        last_stream_ = run.stream_;
        used_ = true;
    }

    /// The run of a first grid that cannot be.
    std::shared_ptr<pending_run> refuse(text kernel, const shape& s, status why) {
        auto run = std::make_shared<pending_run>(shared_from_this(), std::string(kernel.begin, kernel.length), s, nullptr);
        run->refused_ = true;
        run->report_ = empty_report();
        run->report_.failed_calls = run->report_.lost_launches = 1;
        failure f;
        f.status = why;
        f.kernel = run->kernel_;
        f.shape = s;
        run->report_.failures.push_back(std::move(f));
        explain(run->report_, 0);
        return run;
    }

    report finish(pending_run& run) {
        if (run.refused_) return run.report_;
        if (const cudaError_t code = wait_until_complete(run); code != cudaSuccess) throw_fault(run, code);
        if (look_at_finished(run) == 0) {
            throw std::logic_error("dynpar: the run was captured in a graph that has not been replayed, or not been waited for");
        }
        const run_result& done = *run.result_;
        report result = empty_report();
        result.grids = done.grids;
        result.deepest_nesting = done.deepest;
        result.needed.nesting_depth = done.deepest;
        result.needed.sync_depth = done.deepest_wait;
        result.needed.live_bytes = done.arena_bytes;
        if (trace_) {
            const auto lock = lock_launches();
            keep_trace(run);
            if (run.trace_) result.trace = *run.trace_;
        }
        if (done.failures.failed_calls != 0) add_to_report(done.failures, result);
        if (done.stopped != not_stopped) {
            if (done.abandoned != 0 || result.failures.empty()) {
                failure f;
                f.status = stop_status(done);
                f.kernel = "grids that were launched and had not begun (first grid: " + run.kernel_ + ")";
                f.shape = run.shape_;
                f.count = std::max<std::uint64_t>(done.abandoned, 1);
                result.failures.push_back(f);
                result.lost_launches += f.count;
                result.failed_calls += f.count;
            }
        }
        explain(result, done.abandoned);
        if (done.stopped == deadline_passed) {
            throw deadlock_error("dynpar: the run of " + run.kernel_ + " " + to_string(run.shape_) + " was stopped by its deadline of " +
                                 std::to_string(options_.deadline_milliseconds) + " ms: " + std::to_string(done.grids) +
                                 " grids had begun, " + std::to_string(done.abandoned) + " were waiting to; " + what_workers_did(done) +
                                 "; raise queue_options::deadline_milliseconds, or look for an endless recursion");
        }
        return result;
    }

private:
    friend class pending_run;

    template <class T>
    using device_pointer = std::unique_ptr<T, device_delete>;

    template <class T>
    static void allocate(device_pointer<T>& owner, std::size_t bytes, const char* what) {
        void* memory = nullptr;
        if (const cudaError_t code = cudaMalloc(&memory, bytes); code != cudaSuccess) {
            static_cast<void>(cudaGetLastError());
            throw cuda_error(code, "allocating " + std::to_string(bytes) + " bytes for " + what, DYNPAR_HERE);
        }
        owner.reset(static_cast<T*>(memory));
    }
    static cudaStream_t make_stream() {
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making the queue engine's stream");
        return stream;
    }
    static cudaEvent_t make_event() {
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
        return event;
    }

    /// A number that no other stream has had: a handle may be that of an earlier stream, or of each thread's own one.
    static unsigned long long stream_number(cudaStream_t stream) {
        unsigned long long number = 0;
        check(cudaStreamGetId(stream, &number), "asking for a stream's number");
        return number;
    }

    /// Also while this thread captures a stream, which forbids it otherwise.
    void wait_for_last_run() {
        if (!used_) return;
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        check(cudaThreadExchangeStreamCaptureMode(&mode), "allowing a wait during capture");
        const cudaError_t code = cudaEventSynchronize(last_complete_.get());
        check(cudaThreadExchangeStreamCaptureMode(&mode), "restoring the mode of capture");
        check(code, "waiting for the engine's last run");
    }

    unsigned least_threads() const { return options_.block_threads != 0 ? options_.block_threads : 512; }

    /// Sets what the device has of the limits, and notes what became of each.
    void set_limits() {
        const limits& wanted = options_.limits;
        sync_depth_ = wanted.sync_depth.value_or(limits::default_sync_depth);
        note_own_limit("sync_depth", sync_depth_, sync_depth_);
        if (wanted.pending_launches) {
            ignore_limit("pending_launches", *wanted.pending_launches,
                         "ignored: on the queue engine launches that wait to begin take memory only (queue_options::memory_bytes)");
        }
        if (wanted.nesting_depth) {
            note_own_limit("nesting_depth", *wanted.nesting_depth, std::min<std::size_t>(*wanted.nesting_depth, info::depth_mask));
        }
        set_stack();
        if (wanted.printf_bytes) {
            if (set_device_limit("printf_bytes", cudaLimitPrintfFifoSize, *wanted.printf_bytes) != cudaSuccess) {
                limit_results_.back().refused += "; CUDA takes it only before the process's first kernel that prints";
            }
        }
    }

    void note_own_limit(const char* name, std::size_t asked, std::size_t got) {
        limit_result result;
        result.name = name;
        result.asked = asked;
        result.got = got;
        limit_results_.push_back(std::move(result));
    }
    void ignore_limit(const char* name, std::size_t asked, const char* why) {
        limit_result result;
        result.name = name;
        result.asked = asked;
        result.refused = why;
        limit_results_.push_back(std::move(result));
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
        limit_results_.push_back(std::move(result));
        return code;
    }

    /// What wait() takes of the stack is the scheduler's part and the kernel's own. The kernel's is not known: this is an estimate,
    /// and device code looks at every wait() how much is left. Never less than there is: another engine may need it.
    void set_stack() {
        const std::size_t of_a_wait = stack_of_wait + (options_.trace_grids != 0 ? 256 : 0);
        std::size_t reckoned = 1024 + stack_kept_free + sync_depth_ * of_a_wait;
        // CUDA sets a stack aside for every thread that the device can hold: gigabytes, where nobody has asked for deep waits.
        if (!options_.limits.sync_depth) reckoned = std::min<std::size_t>(reckoned, stack_by_default);
        const std::size_t asked = options_.limits.stack_bytes.value_or(reckoned);
        std::size_t before = 0;
        check(cudaDeviceGetLimit(&before, cudaLimitStackSize), "asking for the stack's size");
        const cudaError_t code = set_device_limit("stack_bytes", cudaLimitStackSize, std::max(before, asked));
        limit_result& result = limit_results_.back();
        result.asked = asked;
        stack_bytes_ = result.got.value_or(0);
        if (code == cudaSuccess) return;
        const std::string doing = "setting the stack of a thread to " + std::to_string(asked) + " bytes for wait() nested to depth " +
                                  std::to_string(sync_depth_) + " (lower limits::sync_depth, or give limits::stack_bytes)";
        if (options_.limits.sync_depth || options_.limits.stack_bytes) throw cuda_error(code, doing, DYNPAR_HERE);
        result.refused = doing + ": " + result.refused;
    }

    report empty_report() const {
        report r;
        r.engine = "queue";
        r.device = device_;
        return r;
    }

    cudaError_t wait_until_complete(pending_run& run) {
        if (!run.complete_) return cudaSuccess;
        if (!progress_ && !trace_) return cudaEventSynchronize(run.complete_.get());
        if (cudaEventQuery(run.complete_.get()) == cudaErrorNotReady) {
            static_cast<void>(cudaGetLastError());  // it is no error of whoever asks next
            if (progress_) show_progress(run);
            const cudaError_t code = cudaEventSynchronize(run.complete_.get());
            run.ended_ = host_nanoseconds();
            return code;
        }
        return cudaEventSynchronize(run.complete_.get());
    }

    /// Reads the trace of a run, which the next one writes over, when it is complete.
    void keep_trace(pending_run& run) {
        if (!run.captured_ && (run.trace_ || !run.complete_)) return;
        if (wait_until_complete(run) != cudaSuccess) return;  // told by whoever waits for the run
        const run_result& done = *run.result_;
        const auto on_device = std::make_unique<device_trace>();
        check(cudaMemcpy(on_device.get(), trace_.get(), sizeof(device_trace), cudaMemcpyDeviceToHost), "reading the trace");
        std::vector<device_trace_record> records(std::min<std::size_t>(done.trace_places, trace_capacity_));
        check(cudaMemcpy(records.data(), trace_records_.get(), records.size() * sizeof(device_trace_record), cudaMemcpyDeviceToHost),
              "reading the trace");
        records = in_launch_order(records, options_.trace_grids);
        if (done.stopped != not_stopped) {
            for (device_trace_record& record : records) {
                if (record.status == status::success && record.begun == dynpar::grid_record::never) record.status = stop_status(done);
            }
        }
        dynpar::trace& t = run.trace_.emplace();
        t.engine = "queue";
        t.device = device_;
        t.missing = done.traced - records.size();
        if (run.captured_) {  // nobody has compared clocks: the device's alone, from the first launch on
            clock_pair start;
            if (!records.empty()) start.device = static_cast<std::int64_t>(records[0].launched);
            add_grids(t, *on_device, records, engine_kind::queue, run.kernel_, run_clock(start, start, 0));
        } else {
            const run_clock clock(run.clocks_before_, clocks_->compare(stream_.get()), run.begun_);
            add_grids(t, *on_device, records, engine_kind::queue, run.kernel_, clock);
        }
        for (const dynpar::grid_record& grid : t.grids) {
            if (grid.ended != dynpar::grid_record::never) t.nanoseconds = std::max(t.nanoseconds, grid.ended);
        }
        if (run.ended_ != 0) t.nanoseconds = static_cast<std::uint64_t>(run.ended_ - run.begun_);
    }

    /// What the warps of a run were at when it was stopped.
    static std::string what_workers_did(const run_result& done) {
        const stopped_workers& at = done.at_stop;
        std::string text = std::to_string(at.running) + " warps were running grids, " + std::to_string(at.searching) +
                           " were looking for some, " + std::to_string(at.waits) + " blocks were in wait()";
        if (at.donations != 0) text += ", " + std::to_string(at.donations) + " grids were on their way from one warp to another";
        return text;
    }

    /// Of grids that never began because the run was stopped.
    static status stop_status(const run_result& done) {
        return done.stopped == deadline_passed ? status::launch_failed : status::out_of_memory;
    }

    /// Until the run is complete. The workers write down now and then how far they are.
    void show_progress(const pending_run& run) const {
        using namespace std::chrono_literals;
        progress_line line(true, "queue");
        const auto begun = progress_line::clock::now();
        while (cudaEventQuery(run.complete_.get()) == cudaErrorNotReady) {
            if (progress_line::clock::now() - begun <= 1s) continue;
            std::this_thread::sleep_for(1ms);
            if (!line.due()) continue;
            unsigned long long* const counters = progress_.get();
            if (cudaMemcpyAsync(counters, &control_->grids, sizeof(*counters), cudaMemcpyDeviceToHost, progress_stream_.get()) !=
                    cudaSuccess ||
                cudaMemcpyAsync(counters + 1, &control_->arena_taken, sizeof(*counters), cudaMemcpyDeviceToHost,
                                progress_stream_.get()) != cudaSuccess ||
                cudaStreamSynchronize(progress_stream_.get()) != cudaSuccess)
                break;  // what broke is found by the caller
            line.show(counters[0], "grids begun", counters[1] * unit_bytes >> 20, "MiB of memory in use");
        }
        static_cast<void>(cudaGetLastError());
    }

    /// Notes that name this engine's options.
    void explain(report& r, std::uint64_t abandoned) const {
        for (failure& f : r.failures) {
            if (f.status == status::out_of_memory) {
                f.note = "the memory for grids, " + std::to_string((arena_units_ - arena_begin_ + 1) * unit_bytes) +
                         " bytes, was used up with " + std::to_string(abandoned) +
                         " grids alive; raise queue_options::memory_bytes or limits::heap_bytes (--heap-bytes), or check the recursion's "
                         "stop condition";
            } else if (f.status == status::invalid_configuration && dynpar::check(f.shape) == status::success) {
                f.note = "the block is wider than the engine's workers; raise queue_options::block_threads (at most 1024; 512 where the "
                         "kernels are compiled with -rdc=true, unless DYNPAR_QUEUE_MOST_THREADS says more)";
            } else if (f.status == status::sync_depth_exceeded && f.depth < sync_depth_) {
                f.note = "the stack of a thread, " + std::to_string(stack_bytes_) +
                         " bytes, has no room for another wait(): the kernels take more of it than was reckoned with; raise "
                         "limits::stack_bytes";
            } else if (f.status == status::nesting_depth_exceeded && !options_.limits.nesting_depth) {
                f.note = "grids nest to " + std::to_string(info::depth_mask) + " on this engine; check the recursion's stop condition";
            }
        }
    }

    [[noreturn]] void throw_fault(const pending_run& run, cudaError_t code) const {
        static_cast<void>(cudaGetLastError());
        std::string message = "dynpar: a kernel broke in the run of " + run.kernel_ + " " + to_string(run.shape_) +
                              " on engine queue: " + cudaGetErrorName(code) + " (" + std::to_string(static_cast<int>(code)) +
                              "): " + cudaGetErrorString(code);
        unsigned begun = 0;
        while (begun < run_result::most_begun && run.result_->begun[begun] != 0) ++begun;
        if (begun == 0) {
            message += run.shape_.threads.count() > 1 ? "; no other kernel of several threads a block had begun"
                                                      : "; no kernel of several threads a block had begun";
        }
        for (unsigned i = 0; i < std::min(begun, 3u); ++i) {  // the last to appear are the first to suspect
            const unsigned which = run.result_->begun[begun - 1 - i];
            const begun_kernel& kernel = run.result_->kernels[which >> 16];
            message += (i == 0 ? "; last to begin for the first time: " : ", before it ") +
                       std::string(kernel.name, kernel.name_length) + " at depth " + std::to_string(which >> 1 & 63);
        }
        if (const char* what_to_do = advice(code); *what_to_do != '\0') message += std::string("; ") + what_to_do;
        throw kernel_fault(message, static_cast<int>(code));
    }

    static unsigned look_at_finished(const pending_run& run) { return *static_cast<const volatile unsigned*>(&run.result_->finished); }

    run_result* take_result() {
        const std::lock_guard<std::mutex> guard(results_mutex_);
        if (free_results_.empty()) {
            constexpr std::size_t at_a_time = 16;
            void* memory = nullptr;
            check(cudaHostAlloc(&memory, at_a_time * sizeof(run_result), cudaHostAllocDefault), "allocating host memory for reports");
            results_.emplace_back(static_cast<run_result*>(memory));
            for (std::size_t i = 0; i < at_a_time; ++i) free_results_.push_back(results_.back().get() + i);
        }
        run_result* result = free_results_.back();
        free_results_.pop_back();
        result->finished = 0;
        std::fill(std::begin(result->begun), std::end(result->begun), 0u);
        return result;
    }
    void give_back(run_result* result) {
        const std::lock_guard<std::mutex> guard(results_mutex_);
        free_results_.push_back(result);
    }
    /// To make an event takes a microsecond, which is much of an empty run.
    std::unique_ptr<CUevent_st, event_delete> take_event() {
        {
            const std::lock_guard<std::mutex> guard(results_mutex_);
            if (!free_events_.empty()) {
                auto event = std::move(free_events_.back());
                free_events_.pop_back();
                return event;
            }
        }
        return std::unique_ptr<CUevent_st, event_delete>(make_event());
    }
    void give_back(std::unique_ptr<CUevent_st, event_delete> event) {
        const std::lock_guard<std::mutex> guard(results_mutex_);
        free_events_.push_back(std::move(event));
    }

    queue_options options_;
    std::string device_;
    int device_number_ = 0;
    unsigned multiprocessors_ = 0;
    std::size_t shared_bytes_of_multiprocessor_ = 0;
    std::size_t shared_bytes_reserved_ = 0;  // by CUDA, of each block
    unsigned most_workers_ = 0;  // warps
    std::size_t sync_depth_ = 0;
    std::size_t stack_bytes_ = 0;
    std::size_t cells_ = 0;
    std::size_t arena_units_ = 0;
    std::size_t trace_capacity_ = 0;
    arena_index arena_begin_ = 1;
    std::vector<limit_result> limit_results_;

    device_pointer<run_control> control_;
    device_pointer<failure_table> failures_;
    device_pointer<device_trace> trace_;                  // null if there is to be none
    device_pointer<device_trace_record> trace_records_;
    std::unique_ptr<clock_comparison> clocks_;
    std::weak_ptr<pending_run> last_traced_;
    device_pointer<lane_task> lane_deques_;
    device_pointer<wide_task> wide_deques_;
    device_pointer<wide_task> block_deques_;
    device_pointer<arena_index> free_nodes_;
    device_pointer<arena_index> free_pieces_;
    device_pointer<transfer_cell> warp_cells_;
    device_pointer<transfer_cell> block_cells_;
    device_pointer<unsigned char> arena_;
    std::unique_ptr<CUstream_st, stream_delete> stream_;
    std::unique_ptr<CUevent_st, event_delete> last_complete_;
    std::mutex launches_mutex_;          // of what follows, and of last_traced_
    unsigned long long last_stream_ = 0;
    bool used_ = false;
    bool locks_ = false;                 // runs take the engine's lock: see engine_lock.cuh

    std::unique_ptr<CUstream_st, stream_delete> progress_stream_;      // null if no progress is shown
    std::unique_ptr<unsigned long long, pinned_delete> progress_;      // two counters
    std::mutex results_mutex_;  // of what follows
    std::vector<std::unique_ptr<run_result, pinned_delete>> results_;
    std::vector<run_result*> free_results_;
    std::vector<std::unique_ptr<CUevent_st, event_delete>> free_events_;
};

inline report pending_run::wait() { return host_->finish(*this); }

inline bool pending_run::is_complete() const {
    if (refused_) return true;
    if (captured_) return *static_cast<const volatile unsigned*>(&result_->finished) != 0;
    const cudaError_t code = cudaEventQuery(complete_.get());
    if (code == cudaErrorNotReady) return false;
    return true;  // an error is told by wait()
}

inline pending_run::~pending_run() {
    if (complete_) {
        static_cast<void>(cudaEventSynchronize(complete_.get()));
        host_->give_back(std::move(complete_));
    }
    // A graph may be replayed at any time: the place for its result stays.
    if (result_ != nullptr && !captured_) host_->give_back(result_);
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
