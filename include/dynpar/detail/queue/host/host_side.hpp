// Queue engine, the host's side: the runs of an engine, one after another, and what each is waiting for.
#pragma once

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../../cuda_error.hpp"
#include "../../../kernel.hpp"
#include "../../../report.hpp"
#include "../../launch_grid.cuh"
#include "../../least_greatest.hpp"
#include "../../mutex.hpp"
#include "../../progress_line.hpp"
#include "../../steady_clock.hpp"
#include "../engine_lock.cuh"
#include "../memory/state.cuh"
#include "cuda_handles.hpp"
#include "engine_limits.hpp"
#include "engine_memory.hpp"
#include "grid_launcher.hpp"
#include "queue_options.hpp"
#include "run_report.hpp"

namespace dynpar {
namespace detail {
namespace queue {

class host_side;

/// One run, from enqueue to its report.
class pending_run {
public:
    pending_run(std::shared_ptr<host_side> host, std::string kernel, const shape& s, run_result* result)
        : host_(std::move(host)), first_{std::move(kernel), s}, result_(result) {}
    ~pending_run();

    report wait();
    bool is_complete() const;

private:
    friend class host_side;

    std::shared_ptr<host_side> host_;
    first_of_run first_;
    run_result* result_;  // pinned
    owned_event complete_;
    unsigned long long stream_ = 0;  // number
    bool refused_ = false;
    bool captured_ = false;
    report report_;             // if it was refused
    clock_pair clocks_before_;  // only in traced runs, as what follows
    std::int64_t begun_ = 0;    // by the host's clock
    std::int64_t ended_ = 0;    // likewise; 0: it was over when somebody came to wait for it
    bool has_trace_ = false;    // once it is read
    dynpar::trace trace_;
    unsigned trace_run_ = 0;  // which run that is: a captured one may be replayed
};

class host_side : public std::enable_shared_from_this<host_side> {
public:
    explicit host_side(const queue_options& options)
        : options_(checked(options)),
          launcher_(options_),
          limits_(options_.limits, options_.trace_grids != 0),
          stream_(make_run_stream()),
          memory_(options_, launcher_.most_warps(), launcher_.least_threads()),
          reporter_(options_, limits_, memory_, launcher_.device()) {
        if (options_.limits.heap_bytes)
            limits_.note_heap(*options_.limits.heap_bytes, options_.memory_bytes, memory_.arena_bytes());
        if (is_traced()) clocks_ = std::make_unique<clock_comparison>();
        if (progress_line(options_.progress, "queue").on()) {
            progress_stream_ = make_side_stream();
            progress_ = allocate_pinned(2 * sizeof(unsigned long long), "allocating host memory for progress");
        }
    }

    cudaStream_t stream() const { return stream_.get(); }
    const queue_options& options() const { return options_; }
    const std::string& device() const { return launcher_.device(); }
    const std::vector<limit_result>& limit_results() const { return limits_.results(); }
    grid_launcher& launcher() { return launcher_; }
    const grid_launcher& launcher() const { return launcher_; }
    bool is_traced() const { return memory_.trace() != nullptr; }
    bool shows_progress() const { return progress_.get() != nullptr; }

    /// Held from begin() to launched(): several threads may enqueue runs.
    mutex_lock lock_launches() { return mutex_lock(launches_mutex_); }

    /// Makes ready for a run in `stream`: it follows the engine's last one.
    std::shared_ptr<pending_run> begin(cudaStream_t stream, text kernel, const shape& s) {
        auto run = std::make_shared<pending_run>(shared_from_this(), std::string(kernel.begin, kernel.length), s,
                                                 take_result());
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
            check(cudaStreamWaitEvent(stream, last_complete_, 0), "ordering a run after the engine's last");
        }
        if (is_traced() && !run->captured_) {
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
        check(launch_grid(&enter_engine<run_control>, 1, 1, 0, stream, memory_.control(), launcher_.multiprocessors()),
              "launching what waits for the engine");
    }

    engine_view view(const pending_run& run, const worker_block_counts& blocks, unsigned threads) const {
        engine_view v{};
        memory_.describe(v, std::size_t{blocks.all} * (threads / warp_size));
        v.result = run.result_;
        v.worker_blocks = blocks.at_once;
        v.block_threads = threads;
        v.moldable_threads = least(options_.moldable_threads, threads);
        v.sync_depth = static_cast<unsigned>(least<std::size_t>(limits_.sync_depth(), info::depth_mask));
        v.nesting_depth = static_cast<unsigned>(
            least<std::size_t>(options_.limits.nesting_depth.value_or(info::depth_mask), info::depth_mask));
        v.stack_bytes = static_cast<unsigned>(limits_.stack_bytes());
        v.shared_bytes = (options_.shared_bytes + 15) / 16 * 16;
        v.deadline_nanoseconds = options_.deadline_milliseconds * 1000000;
        v.replayed = run.captured_;
        v.locked = locks_;
        v.attended = v.deadline_nanoseconds != 0 || shows_progress();
        return v;
    }

    void launched(pending_run& run, cudaStream_t stream, cudaError_t code) {
        if (code != cudaSuccess) {
            static_cast<void>(cudaGetLastError());  // it is told here
            if (locks_)
                static_cast<void>(cudaMemsetAsync(&memory_.control()->lock, 0, sizeof(run_control::lock),
                                                  stream));  // nobody else gives it back
            throw cuda_error(code, "launch of the persistent grid for " + run.first_.kernel, DYNPAR_HERE);
        }
        if (run.captured_) return;
        const cudaError_t recorded = cudaEventRecord(run.complete_.get(), stream);
        if (recorded != cudaSuccess)
            static_cast<void>(cudaStreamSynchronize(stream));  // nobody else would wait for the grid
        check(recorded, "recording the end of a run");
        last_complete_ = run.complete_.get();
        last_stream_ = run.stream_;
        used_ = true;
    }

    /// The run of a first grid that cannot be.
    std::shared_ptr<pending_run> refuse(text kernel, const shape& s, status why, unsigned most_threads) {
        auto run =
            std::make_shared<pending_run>(shared_from_this(), std::string(kernel.begin, kernel.length), s, nullptr);
        run->refused_ = true;
        run->report_ = reporter_.refused(run->first_, why, most_threads);
        return run;
    }

    report finish(pending_run& run) {
        if (run.refused_) return run.report_;
        if (const cudaError_t code = wait_until_complete(run); code != cudaSuccess) {
            run_reporter::throw_fault(run.first_, *run.result_, code);
        }
        if (times_finished(run) == 0) {
            throw std::logic_error(
                "dynpar: the run was captured in a graph that has not been replayed, or not been waited for");
        }
        dynpar::trace trace = trace_of(run);
        report result = reporter_.of(run.first_, *run.result_);
        result.trace = std::move(trace);
        return result;
    }

private:
    friend class pending_run;

    static queue_options checked(queue_options options) {
        check_traceable(options, "queue");
        engine_memory::check_options(options);
        return options;
    }

    /// A number that no other stream has had: a handle may be that of an earlier stream, or of each thread's own one.
    static unsigned long long stream_number(cudaStream_t stream) {
        unsigned long long number = 0;
        check(cudaStreamGetId(stream, &number), "asking for a stream's number");
        return number;
    }

    void wait_for_last_run() {
        if (!used_) return;
        const relaxed_capture allowed;
        check(cudaEventSynchronize(last_complete_), "waiting for the engine's last run");
    }

    cudaError_t wait_until_complete(pending_run& run) {
        if (!run.complete_) return cudaSuccess;
        if (!shows_progress() && !is_traced()) return cudaEventSynchronize(run.complete_.get());
        if (cudaEventQuery(run.complete_.get()) == cudaErrorNotReady) {
            static_cast<void>(cudaGetLastError());  // it is no error of whoever asks next
            if (shows_progress()) show_progress(run);
            const cudaError_t code = cudaEventSynchronize(run.complete_.get());
            run.ended_ = host_nanoseconds();
            return code;
        }
        return cudaEventSynchronize(run.complete_.get());
    }

    /// Empty if there is none.
    dynpar::trace trace_of(pending_run& run) {
        if (!is_traced()) return {};
        const auto lock = lock_launches();
        keep_trace(run);
        return run.trace_;
    }
    /// Reads the trace of a run, which the next one writes over, when it is complete.
    void keep_trace(pending_run& run) {
        if (!run.captured_ && (run.has_trace_ || !run.complete_)) return;
        if (wait_until_complete(run) != cudaSuccess) return;  // told by whoever waits for the run
        const run_result& done = *run.result_;
        if (run.has_trace_ && run.trace_run_ == done.trace_run) return;
        run.trace_run_ = done.trace_run;
        std::vector<device_trace_record> records(least<std::size_t>(done.trace_places, memory_.trace_capacity()));
        check(cudaMemcpy(records.data(), memory_.trace_records(), records.size() * sizeof(device_trace_record),
                         cudaMemcpyDeviceToHost),
              "reading the trace");
        const auto on_device = std::make_unique<device_trace>();
        check(cudaMemcpy(on_device.get(), memory_.trace(), sizeof(device_trace), cudaMemcpyDeviceToHost),
              "reading the trace");
        if (on_device->runs != done.trace_run) records.clear();  // a replay, or a run after it, has written over it
        in_launch_order(records, options_.trace_grids).swap(records);
        if (done.stopped != not_stopped) {
            for (device_trace_record& record : records) {
                if (record.status == status::success && record.begun == dynpar::grid_record::never)
                    record.status = stop_status(done);
            }
        }
        run.has_trace_ = true;
        dynpar::trace& t = run.trace_ = dynpar::trace();
        t.engine = "queue";
        t.device = device();
        t.missing = done.traced - records.size();
        if (run.captured_) {  // nobody has compared clocks: the device's alone, from the first launch on
            clock_pair start;
            if (!records.empty()) start.device = static_cast<std::int64_t>(records[0].launched);
            add_grids(t, *on_device, records, engine_kind::queue, run.first_.kernel, run_clock(start, start, 0));
        } else {
            const run_clock clock(run.clocks_before_, clocks_->compare(stream_.get()), run.begun_);
            add_grids(t, *on_device, records, engine_kind::queue, run.first_.kernel, clock);
        }
        for (const dynpar::grid_record& grid : t.grids) {
            if (grid.ended != dynpar::grid_record::never) t.nanoseconds = greatest(t.nanoseconds, grid.ended);
        }
        if (run.ended_ != 0) t.nanoseconds = static_cast<std::uint64_t>(run.ended_ - run.begun_);
    }

    /// Until the run is complete. The workers write down now and then how far they are.
    void show_progress(const pending_run& run) const {
        progress_line line(true, "queue");
        const std::int64_t begun = steady_nanoseconds();
        while (cudaEventQuery(run.complete_.get()) == cudaErrorNotReady) {
            if (steady_nanoseconds() - begun <= 1000000000) continue;
            usleep(1000);
            if (!line.due()) continue;
            const auto counters = static_cast<unsigned long long*>(progress_.get());
            if (cudaMemcpyAsync(counters, &memory_.control()->grids, sizeof(*counters), cudaMemcpyDeviceToHost,
                                progress_stream_.get()) != cudaSuccess ||
                cudaMemcpyAsync(counters + 1, &memory_.control()->arena_taken, sizeof(*counters),
                                cudaMemcpyDeviceToHost, progress_stream_.get()) != cudaSuccess ||
                cudaStreamSynchronize(progress_stream_.get()) != cudaSuccess)
                break;  // what broke is found by the caller
            line.show(counters[0], "grids begun", counters[1] * unit_bytes >> 20, "MiB of memory in use");
        }
        static_cast<void>(cudaGetLastError());
    }

    static unsigned times_finished(const pending_run& run) {
        return *static_cast<const volatile unsigned*>(&run.result_->finished);
    }

    run_result* take_result() {
        const mutex_lock guard(results_mutex_);
        if (free_results_.empty()) {
            constexpr std::size_t at_a_time = 16;
            const relaxed_capture allowed;
            const auto first = static_cast<run_result*>(
                results_.add(allocate_pinned(at_a_time * sizeof(run_result), "allocating host memory for reports")));
            for (std::size_t i = 0; i < at_a_time; ++i) free_results_.push_back(first + i);
        }
        const auto result = static_cast<run_result*>(free_results_.back());
        free_results_.pop_back();
        result->finished = 0;
        for (unsigned& begun : result->begun) begun = 0;
        return result;
    }
    void give_back(run_result* result) {
        const mutex_lock guard(results_mutex_);
        free_results_.push_back(result);
    }
    /// To make an event takes a microsecond, which is much of an empty run.
    owned_event take_event() {
        {
            const mutex_lock guard(results_mutex_);
            if (!free_events_.empty()) return free_events_.take();
        }
        return make_event();
    }
    void give_back(owned_event event) {
        const mutex_lock guard(results_mutex_);
        free_events_.add(std::move(event));
    }

    queue_options options_;  // with what was not given
    grid_launcher launcher_;
    engine_limits limits_;
    owned_stream stream_;
    engine_memory memory_;
    run_reporter reporter_;
    std::unique_ptr<clock_comparison> clocks_;  // only where runs are traced
    std::weak_ptr<pending_run> last_traced_;
    mutex launches_mutex_;  // of what follows, and of last_traced_
    // Of the last run, which owns it, or gives it back to free_events_: there it means that run until another run
    // records it.
    cudaEvent_t last_complete_ = nullptr;
    unsigned long long last_stream_ = 0;
    bool used_ = false;
    bool locks_ = false;  // runs take the engine's lock: see engine_lock.cuh

    owned_stream progress_stream_;           // null if no progress is shown
    pinned_memory progress_;                 // two counters
    mutex results_mutex_;                    // of what follows
    owned_together<pinned_memory> results_;  // arrays of run_result
    std::vector<void*> free_results_;
    owned_together<owned_event> free_events_;
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
