// Queue engine: the blocks that kernels are handed, one for a lane and one for a warp or more, and how they launch.
#pragma once

#include "../block.hpp"
#include "queue_worker.cuh"

namespace dynpar {

class queue_stream;
class queue_event;

namespace detail {
namespace queue {

class lane_block;
class wide_block;

/// Where a kernel with arguments of these types is entered, by the width of its blocks. Its address is what a task carries.
template <class Kernel, class... Args>
struct entry_points;

#if defined(__CUDACC__)

/// Notes a call that failed. Where memory for a launch is lacking the run is over: its results are worth nothing, and an endless
/// recursion ends.
__device__ __noinline__ inline status report_failure(operation what, status why, text kernel, unsigned depth, shape s) {
    const failed_call call{what, why, 0, kernel, depth, s};
    add_failure(engine().failures, &call);
    if (why == status::out_of_memory && (what == operation::launch || what == operation::then)) stop_run(no_memory);
    return why;
}

/// Who runs a grid of that shape.
struct width_choice {
    std::uint32_t width;
    std::uint32_t threads;
};
__device__ inline width_choice choose_width(const shape& s) {
    std::uint32_t threads = static_cast<std::uint32_t>(s.threads.count());
    if (s.malleable) threads = min(threads, engine().malleable_threads);
    return {threads == 1 ? info::on_lane : threads <= warp_size ? info::on_warp : info::on_block, threads};
}

/// Whether a grid of that shape is one lane task, given that its arguments fit.
__device__ inline bool is_simple(const shape& s) {
    return s.blocks.x == 1 && s.blocks.y == 1 && s.blocks.z == 1 && s.threads.x == 1 && s.threads.y == 1 && s.threads.z == 1 &&
           s.shared_bytes == 0;
}

/// Whether it is one block for a warp, likewise.
__device__ inline bool is_simple_on_warp(const shape& s, unsigned most_threads) {
    if (s.blocks.x != 1 || s.blocks.y != 1 || s.blocks.z != 1 || s.threads.y != 1 || s.threads.z != 1) return false;
    if (s.shared_bytes != 0 || s.threads.x < 2 || s.threads.x > most_threads) return false;
    return s.threads.x <= warp_size ? !s.malleable || engine().malleable_threads > 1
                                    : s.malleable && engine().malleable_threads > 1 && engine().malleable_threads <= warp_size;
}

/// Whether a task says all that there is to say of a shape, but for the number of blocks.
__device__ inline bool needs_no_details(const shape& s) {
    return s.shared_bytes == 0 && (s.malleable || (s.threads.y == 1 && s.threads.z == 1));
}

/// What a launch that is not simple needs to know.
struct launch_request {
    wide_entry lane;             // entry where a lane runs a block
    wide_entry wide;             // entry otherwise
    const void* payload;
    std::uint32_t payload_size;
    operation what;              // launch or then
    std::uint32_t depth;         // of the grid to be
    std::uint32_t info;          // of the block that calls
    arena_index details;         // of its grid, 0 if there are none
    bool bad_pointer;            // among the arguments
    bool in_stream;
    arena_index stream;
    unsigned most_threads;       // that the kernel can have in a block
    text kernel;                 // its name

    // What admit() finds out.
    bool open_to_others;         // others may run it at once, so it must be counted at once
    bool needs_record;           // of its own
    std::uint32_t trace_id;
};

/// One thread of a block: tells the host that a kernel has begun at this depth, the first time in a run. It happens on every warp, and
/// all at once where a large grid begins; so kernels are told apart by where their names lie, and the names written once.
__device__ __noinline__ inline void note_begin_anew(text kernel, unsigned depth) {
    run_control& control = *engine().control;
    run_result& result = *engine().result;
    const unsigned long long address = reinterpret_cast<std::uintptr_t>(kernel.begin);
    unsigned number = static_cast<unsigned>(address >> 3) % run_result::most_kernels;
    unsigned long long found = 0;
#pragma unroll 1
    for (unsigned probe = 0; probe < run_result::most_kernels; ++probe, number = (number + 1) % run_result::most_kernels) {
        found = look(control.begun_kernels[number]);
        if (found == 0) found = atomicCAS(&control.begun_kernels[number], 0ull, address);
        if (found == 0 || found == address) break;
    }
    if (found == 0) {
        begun_kernel& entry = result.kernels[number];
        entry.name_length = min(kernel.length, trace_name::capacity);
#pragma unroll 1
        for (unsigned i = 0; i < entry.name_length; ++i) entry.name[i] = kernel.begin[i];
    } else if (found != address) {
        return;  // too many kernels
    }
    const unsigned long long bit = 1ull << depth;
    if ((atomicOr(&control.begun_depths[number], bit) & bit) != 0) return;
    const unsigned order = atomicAdd(&control.begun_count, 1u);
    if (order >= run_result::most_begun) return;
    put(result.begun[order], number << 16 | depth << 1 | 1u);
    __threadfence_system();
}

/// The first time on this warp, as far as it remembers.
__device__ __noinline__ inline void note_begin_on_warp(text kernel, unsigned depth, unsigned threads_here) {
    warp_state& warp = this_warp();
    const unsigned these = threads_here >= warp_size ? all_lanes : (1u << threads_here) - 1;
    __syncwarp(these);
    if (lane_rank() == 0) {
        unsigned place = 0;
        while (place < warp_state::noted_capacity && warp.noted[place] != kernel.begin && warp.noted[place] != nullptr) ++place;
        if (place == warp_state::noted_capacity) place = warp.next_noted++ % warp_state::noted_capacity;
        if (warp.noted[place] != kernel.begin) {
            warp.noted[place] = kernel.begin;
            warp.noted_depths[place] = 0;
        }
        warp.noted_depths[place] |= 1ull << depth;
        note_begin_anew(kernel, depth);
    }
    __syncwarp(these);
}

/// All threads of a warp that belong to the block: none goes on, perhaps to break, before the host can know of it.
__device__ inline void note_begin(text kernel, unsigned depth, unsigned threads_here) {
    const warp_state& warp = this_warp();
    depth = min(depth, 63u);  // deeper ones share the last bit
#pragma unroll
    for (unsigned place = 0; place < warp_state::noted_capacity; ++place) {
        if (warp.noted[place] == kernel.begin && (warp.noted_depths[place] >> depth & 1) != 0) return;
    }
    note_begin_on_warp(kernel, depth, threads_here);
}

__device__ inline status check_shape(const shape& s, unsigned most_threads) {
    if (check(s, most_threads) != status::success) return status::invalid_configuration;
    return s.malleable || s.threads.count() <= engine().block_threads ? status::success : status::invalid_configuration;
}

/// A grid in the trace enters here: the kernel's own entry, and the times around it. All threads of the block.
__device__ inline block_outcome traced_entry(wide_task task, std::uint32_t rank) {
    const launch_details& details = *at<launch_details>(task.details);
    device_trace_record& record = engine().trace_records[details.trace_id];
    const std::uint32_t width = task.info & info::width_mask;
    if (width == info::on_lane || (width == info::on_warp ? lane_rank() : threadIdx.x) == 0) {
        atomicMin(&record.begun, device_nanoseconds());
        if (rank == 0) record.processor = multiprocessor();
    }
    const block_outcome outcome = details.entry(task, rank);
    // The block has ended when its last thread has; those that come here together are one.
    const unsigned first = static_cast<unsigned>(__ffs(static_cast<int>(__activemask()))) - 1;
    if (width == info::on_lane || lane_rank() == first) atomicMax(&record.ended, device_nanoseconds());
    return outcome;
}

/// Writes a launch into the trace of the run.
__device__ __noinline__ inline void trace_request(launch_request& request, const shape& s, status why) {
    constexpr std::uint32_t none = dynpar::grid_record::none;
    const std::uint32_t caller = request.details != 0 ? at<launch_details>(request.details)->trace_id : none;
    const bool continues = request.what == operation::then;
    traced_launch launch{request.kernel, caller, none, none, request.depth, why, s};
    if (continues) {
        launch.parent = caller != none ? look(engine().trace_records[caller].parent) : none;  // another multiprocessor wrote it
        launch.continues = caller;
    }
    if (request.in_stream && request.stream != 0) launch.stream = at<stream_state>(request.stream)->number;
    request.trace_id = trace_launch(engine().trace, &launch);
}

/// Notes a launch that failed.
__device__ __noinline__ inline status lose(const launch_request& request, const shape& s, status why) {
#if !DYNPAR_NO_TRACE
    if (request.trace_id != dynpar::grid_record::none) engine().trace_records[request.trace_id].status = why;
#endif
    return report_failure(request.what, why, request.kernel, request.depth, s);
}

/// Whether a launch may be, and what is to be known before it; notes it if not. In a traced run it gets its place in the trace.
__device__ __noinline__ inline status admit(launch_request& request, const shape& s) {
    request.trace_id = dynpar::grid_record::none;
    status why = status::success;
    if (request.bad_pointer) {
        why = status::invalid_pointer;
    } else if (request.depth > engine().nesting_depth) {
        why = status::nesting_depth_exceeded;
    } else {
        why = check_shape(s, request.most_threads);
    }
    if (why == status::success && request.in_stream && request.stream == 0) why = status::launch_failed;
#if !DYNPAR_NO_TRACE
    if ((request.info & info::traced) != 0) trace_request(request, s, why);
#endif
    if (why != status::success) return lose(request, s, why);
    const std::uint32_t width = choose_width(s).width;
    request.open_to_others = request.in_stream || is_open_to_others(width, s.blocks.count());
    request.needs_record = request.in_stream || s.blocks.count() > 1 || request.payload_size > sizeof(wide_arguments) ||
                           (request.trace_id == dynpar::grid_record::none && !needs_no_details(s));
    return why;
}

/// Fills in a task, all but what it counts on. Details, if it needs any, are attached to `record`, which is its grid's own; where
/// there is none (0), a task that needs details is refused with `false`. A grid in the trace has a place for them.
__device__ __noinline__ inline bool fill_task(wide_task& task, const launch_request& request, const shape& s, arena_index record) {
    const width_choice choice = choose_width(s);
    const dimensions threads = s.malleable ? dimensions(choice.threads) : s.threads;
    task.entry = choice.width == info::on_lane ? request.lane : request.wide;
    task.info = request.depth | choice.width | (request.info & info::traced);
    task.threads = choice.threads;
    task.first = 0;
    task.last = static_cast<std::uint32_t>(s.blocks.count());
    task.details = 0;
    const bool fits = request.payload_size <= sizeof(wide_arguments);
    if (fits) memcpy(&task.arguments, request.payload, request.payload_size);
    const bool traced = request.trace_id != dynpar::grid_record::none;
    if (fits && task.last == 1 && needs_no_details(s) && !traced) return true;
    if (traced && fits) {
        task.details = traced_details + request.trace_id * traced_details_units;
    } else {
        if (record == 0) return false;
        task.details = allocate_for(record, sizeof(launch_details) + (fits ? 0 : request.payload_size));
        if (task.details == 0) return false;
    }
    launch_details* details = at<launch_details>(task.details);
    if (!fits) memcpy(details->arguments(), request.payload, request.payload_size);
    details->blocks = s.blocks;
    details->threads = threads;
    details->shared_bytes = s.shared_bytes;
#if !DYNPAR_NO_TRACE
    if ((request.info & info::traced) != 0) {  // perhaps without a place in the trace: then its children find no parent there
        details->trace_id = request.trace_id;
        details->entry = task.entry;
        if (traced) task.entry = &traced_entry;
    }
#endif
    return true;
}

/// A child grid with a record of its own, which counts on `parent`: several blocks, a stream, or arguments that need room.
/// `out_of_memory`, or success; then the caller counts one child more.
__device__ __noinline__ inline status launch_with_record(const launch_request& request, const shape& s, arena_index parent) {
    const arena_index record = make_record(parent, request.depth);
    if (record == 0) return status::out_of_memory;
    wide_task task;
    if (!fill_task(task, request, s, record)) {
        release(record, 0);
        return status::out_of_memory;
    }
    task.grid = record;
    task.info |= info::owner | (task.last > 1 ? info::one_of_several : 0u);
    put(at<grid_record>(record)->pending, static_cast<int>(task.last));
    if (request.in_stream) {
        at<grid_record>(record)->depth_and_flags |= grid_record::in_stream | grid_record::scratch_taken;
        at<grid_record>(record)->scratch[0] = request.stream;
        __threadfence();
        return give_to_stream(request.stream, stream_node::run_grid, 0, &task) ? status::success : status::out_of_memory;
    }
    return push_wide(task) ? status::success : status::out_of_memory;
}

/// A child of a wide block, for which the stack has no place: among the spilled tasks nobody points it to a record that is made later.
template <class Task>
__device__ __noinline__ bool push_child_spilled(arena_index& own, arena_index grid, unsigned depth, Task task) {
    task.grid = ensure_shared_record(own, grid, depth);
    return task.grid != 0 && push_spilled<Task>(task);
}

/// A child grid of one block, which counts on `grid`, or on the record `own` of a wide block that launches it, if there is one.
__device__ __noinline__ inline bool launch_without_record(const launch_request& request, const shape& s, arena_index grid,
                                                          arena_index* own) {
    wide_task task;
    if (!fill_task(task, request, s, 0)) return false;
    if (request.open_to_others) {  // and so counted on `grid` already
        task.grid = grid;
        return push_here(task);
    }
    const arena_index there = own != nullptr ? look(*own) : 0;
    task.grid = there != 0 ? there : grid;
    if (push(task)) return true;
    return own != nullptr ? push_child_spilled(*own, grid, request.info & info::depth_mask, task) : push_spilled(task);
}

/// A child grid that was admitted. `record`: what it counts on; 0: there was no memory for it. `own`: see launch_without_record.
__device__ __noinline__ inline status launch_admitted(const launch_request& request, const shape& s, arena_index record,
                                                      arena_index* own) {
    status result = status::out_of_memory;
    if (record != 0) {
        if (request.needs_record) {
            result = launch_with_record(request, s, record);
        } else if (launch_without_record(request, s, record, own)) {
            result = status::success;
        }
    }
    return result == status::success ? result : lose(request, s, result);
}

/// A continuation of the grid that `record` is of. `lock`: see add_continuation.
__device__ __noinline__ inline status continue_with(launch_request& request, const shape& s, arena_index record,
                                                    const simple_continuation& simple, unsigned* lock) {
    if (const status why = admit(request, s); why != status::success) return why;
    wide_task task;
    if (record == 0 || !fill_task(task, request, s, record)) return lose(request, s, status::out_of_memory);
    task.grid = record;
    task.info |= info::owner | (task.last > 1 ? info::one_of_several : 0u);
    const bool may_be_simple = (request.info & info::traced) == 0;  // a record has no room for what the trace knows of it
    if (!add_continuation(record, may_be_simple ? simple : simple_continuation{}, task, lock)) {
        return lose(request, s, status::out_of_memory);
    }
    return status::success;
}

__device__ __noinline__ inline void* scratch_of(arena_index record, unsigned long long bytes) {
    grid_record* of = at<grid_record>(record);
    if (bytes <= sizeof(of->scratch) &&
        (atomicOr(&of->depth_and_flags, grid_record::scratch_taken) & grid_record::scratch_taken) == 0) {
        return of->scratch;
    }
    return allocate_scratch(record, bytes);
}

template <class Kernel, class... Args>
__device__ inline launch_request make_request(const payload_of<Kernel, Args...>& payload, operation what, std::uint32_t depth,
                                              std::uint32_t task_info, arena_index details, bool bad_pointer) {
    launch_request request;
    request.lane = &entry_points<Kernel, Args...>::wide_lane;
    request.wide = &entry_points<Kernel, Args...>::wide;
    request.payload = &payload;
    request.payload_size = payload_bytes<Kernel, Args...>;
    request.what = what;
    request.depth = depth;
    request.info = task_info;
    request.details = details;
    request.bad_pointer = bad_pointer;
    request.in_stream = false;
    request.stream = 0;
    request.most_threads = most_threads<Kernel>();
    request.kernel = kernel_name<Kernel>();
    return request;
}

template <class Kernel, class... Args>
__device__ inline lane_task make_lane_task(const payload_of<Kernel, Args...>& payload) {
    lane_task task{};
    task.entry = &entry_points<Kernel, Args...>::lane;
    memcpy(&task.arguments, &payload, payload_bytes<Kernel, Args...>);
    return task;
}

#endif

}  // namespace queue
}  // namespace detail

/// DYNPAR_CHECK_POINTERS: whether launches look at pointers among their arguments (`status::invalid_pointer`). It costs a few
/// instructions for each; define it as 0 to go without.
#if !defined(DYNPAR_CHECK_POINTERS)
#define DYNPAR_CHECK_POINTERS 1
#endif

/// A stream of a block on the queue engine; made by `block.make_stream()`, for that block alone.
class queue_stream {
public:
    /// Nothing that is given to the stream from now on begins before the work before the event's latest record is complete.
    DYNPAR_FUNCTION status wait(const queue_event& event);

    DYNPAR_FUNCTION ~queue_stream() {
#if DYNPAR_ON_DEVICE
        if (state_ != 0) detail::queue::close_stream(state_);
#endif
    }
    DYNPAR_FUNCTION queue_stream(queue_stream&& other) noexcept : state_(other.state_) { other.state_ = 0; }
    DYNPAR_FUNCTION queue_stream& operator=(queue_stream&& other) noexcept {
        const detail::queue::arena_index state = state_;
        state_ = other.state_;
        other.state_ = state;
        return *this;
    }

private:
    friend class detail::queue::lane_block;
    friend class detail::queue::wide_block;
    friend class queue_event;
    DYNPAR_FUNCTION explicit queue_stream(detail::queue::arena_index state) : state_(state) {}

    detail::queue::arena_index state_;  // 0 if there is no stream behind this object
};

/// An event of a block on the queue engine; made by `block.make_event()`, for that block alone.
class queue_event {
public:
    /// Records the event: it is complete once all that was given to the stream before is.
    DYNPAR_FUNCTION status record(const queue_stream& stream) {
#if DYNPAR_ON_DEVICE
        using namespace detail::queue;
        if (!alive_ || stream.state_ == 0) return status::launch_failed;  // reported when it was made
        const arena_index fresh = make_event_state();
        if (fresh == 0 || !give_to_stream(stream.state_, stream_node::record_event, fresh, nullptr)) {
            return report_failure(operation::record_event, status::out_of_memory, text{"", 0}, 0, shape());
        }
        if (state_ != 0) forget_event(state_);
        state_ = fresh;
        return status::success;
#else
        static_cast<void>(stream);
        return status::not_supported;
#endif
    }

    DYNPAR_FUNCTION ~queue_event() {
#if DYNPAR_ON_DEVICE
        if (state_ != 0) detail::queue::forget_event(state_);
#endif
    }
    DYNPAR_FUNCTION queue_event(queue_event&& other) noexcept : alive_(other.alive_), state_(other.state_) {
        other.alive_ = false;
        other.state_ = 0;
    }
    DYNPAR_FUNCTION queue_event& operator=(queue_event&& other) noexcept {
        const detail::queue::arena_index state = state_;
        const bool alive = alive_;
        alive_ = other.alive_, state_ = other.state_;
        other.alive_ = alive, other.state_ = state;
        return *this;
    }

private:
    friend class detail::queue::lane_block;
    friend class detail::queue::wide_block;
    friend class queue_stream;
    DYNPAR_FUNCTION queue_event() {}

    bool alive_ = true;
    detail::queue::arena_index state_ = 0;  // of its latest record; 0: never recorded, and nobody waits for it
};

DYNPAR_FUNCTION inline status queue_stream::wait(const queue_event& event) {
#if DYNPAR_ON_DEVICE
    using namespace detail::queue;
    if (state_ == 0 || !event.alive_) return status::launch_failed;  // reported when it was made
    if (event.state_ == 0) return status::success;
    if (!give_to_stream(state_, stream_node::wait_event, event.state_, nullptr)) {
        return report_failure(operation::wait_event, status::out_of_memory, text{"", 0}, 0, shape());
    }
    return status::success;
#else
    static_cast<void>(event);
    return status::not_supported;
#endif
}

namespace detail {
namespace queue {

template <class Block>
struct block_and_status {
    Block block;
    status result;
};

/// What both block types do alike. `Derived` says what its record is, and counts children.
///
/// Members are DYNPAR_FUNCTION, with bodies for the device alone: nvcc compiles kernels for both sides.
template <class Derived>
class block_interface {
public:
    DYNPAR_FUNCTION unsigned block_rank() const { return rank_; }
    DYNPAR_FUNCTION unsigned num_blocks() const { return static_cast<unsigned>(dim_blocks().count()); }
    DYNPAR_FUNCTION dimensions group_index() const {
        return details_ == 0 ? dimensions(0, 0, 0) : dim_blocks().index_of(rank_);
    }
    DYNPAR_FUNCTION dimensions dim_blocks() const {
#if DYNPAR_ON_DEVICE
        if (details_ != 0) return at<launch_details>(details_)->blocks;
#endif
        return {};
    }
    DYNPAR_FUNCTION unsigned depth() const { return info_ & info::depth_mask; }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& s, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        const auto payload = make_payload(kernel, args...);
        const bool bad = bad_pointer(args...);
        // What is too deep goes the long way, and what is traced: for that the short way has not an instruction.
        const std::uint32_t depth_if_plain = info_ & (info::depth_mask | info::traced);
        const bool plain = depth_if_plain < engine().nesting_depth && !bad;
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(lane_arguments)) {
            if (plain && is_simple(s)) {
                lane_task task = make_lane_task<Kernel, Args...>(payload);
                task.info = (depth_if_plain + 1) | lane_rank() << info::launcher_shift;
                if (derived().push_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            }
        }
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(wide_arguments)) {
            const bool on_lane = payload_bytes<Kernel, Args...> > sizeof(lane_arguments) && is_simple(s);
            if (plain && (on_lane || is_simple_on_warp(s, most_threads<Kernel>()))) {
                wide_task task{};
                task.entry = on_lane ? &entry_points<Kernel, Args...>::wide_lane : &entry_points<Kernel, Args...>::wide;
                task.info = (depth_if_plain + 1) | (on_lane ? info::on_lane : info::on_warp);
                task.threads = s.malleable ? min(s.threads.x, engine().malleable_threads) : s.threads.x;
                task.last = 1;
                memcpy(&task.arguments, &payload, payload_bytes<Kernel, Args...>);
                if (derived().push_child(task)) return status::success;
                return fail_to_launch(kernel_name<Kernel>(), depth() + 1, s);
            }
        }
        return apply(launch_slowly<Kernel, Args...>(derived(), payload, s, bad, false, 0));
#else
        return nowhere(kernel, s, args...);
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const queue_stream& stream, Kernel kernel, const shape& s, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        return apply(launch_slowly<Kernel, Args...>(derived(), make_payload(kernel, args...), s, bad_pointer(args...), true,
                                                    Derived::state_of(stream)));
#else
        static_cast<void>(stream);
        return nowhere(kernel, s, args...);
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& s, Args... args) {
        check_kernel<lane_block, Kernel, Args...>();
        check_kernel<wide_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        const auto payload = make_payload(kernel, args...);
        const bool bad = bad_pointer(args...);
        simple_continuation simple{};
        if constexpr (payload_bytes<Kernel, Args...> <= sizeof(lane_arguments)) {
            if (is_simple(s)) {
                const lane_task task = make_lane_task<Kernel, Args...>(payload);
                simple = {task.entry, 0, task.arguments};
            } else if (is_simple_on_warp(s, most_threads<Kernel>())) {
                const unsigned threads = s.malleable ? min(s.threads.x, engine().malleable_threads) : s.threads.x;
                if ((threads & (threads - 1)) == 0) {
                    simple.entry = reinterpret_cast<lane_entry>(&entry_points<Kernel, Args...>::wide);
                    simple.threads_log2 = static_cast<unsigned>(__popc(threads - 1));
                    memcpy(&simple.arguments, &payload, payload_bytes<Kernel, Args...>);
                }
            }
            if (simple.entry != nullptr && !bad && derived().continue_simply(simple)) return status::success;
        }
        return apply(continue_slowly<Kernel, Args...>(derived(), payload, s, simple, bad));
#else
        return nowhere(kernel, s, args...);
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* scratch(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16, "dynpar: scratch memory runs no destructors");
#if DYNPAR_ON_DEVICE
        void* memory = nullptr;
        if (count <= (1ull << 40) / sizeof(T)) memory = derived().take_scratch(count * sizeof(T));
        if (memory == nullptr) fail(operation::scratch, status::out_of_memory);
        return static_cast<T*>(memory);
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    DYNPAR_FUNCTION queue_stream make_stream() {
#if DYNPAR_ON_DEVICE
        const arena_index state = open_stream();
        if (state == 0) fail(operation::make_stream, status::out_of_memory);
        return Derived::stream_of(state);
#else
        return Derived::stream_of(0);
#endif
    }
    DYNPAR_FUNCTION queue_event make_event() { return Derived::new_event(); }

protected:
    DYNPAR_FUNCTION block_interface(arena_index grid, std::uint32_t task_info, arena_index details, std::uint32_t rank, text kernel)
        : grid_(grid), info_(task_info), details_(details), rank_(rank), kernel_(kernel) {}

    DYNPAR_FUNCTION Derived& derived() { return static_cast<Derived&>(*this); }
    DYNPAR_FUNCTION const Derived& derived() const { return static_cast<const Derived&>(*this); }

#if DYNPAR_ON_DEVICE
    template <class... Args>
    __device__ bool bad_pointer(const Args&... args) const {
#if DYNPAR_CHECK_POINTERS
        return (points_into_block(args) || ...);
#else
        return false;
#endif
    }
    /// C11: memory that is gone when the launching block is, or that no other thread can see.
    template <class T>
    __device__ bool points_into_block(const T& argument) const {
        if constexpr (std::is_pointer_v<T>) {
            if constexpr (!std::is_function_v<std::remove_pointer_t<T>>) {
                const void* place = (const void*)argument;
                return place != nullptr && (__isLocal(place) || __isShared(place) || derived().is_own_shared_memory(place));
            }
        }
        return false;
    }
    // What is seldom needed is not inlined, and takes the block and gives it back by value: a block whose address is taken would lie in
    // memory in all kernels, and what is inlined costs registers, which every return of a kernel restores.
    __device__ status apply(const block_and_status<Derived>& after) {
        derived() = after.block;
        return after.result;
    }
    template <class Kernel, class... Args>
    static __device__ __noinline__ block_and_status<Derived> launch_slowly(Derived block, payload_of<Kernel, Args...> payload, shape s,
                                                                           bool bad, bool in_stream, arena_index stream) {
        launch_request request =
            make_request<Kernel, Args...>(payload, operation::launch, block.depth() + 1, block.info_, block.details_, bad);
        request.in_stream = in_stream;
        request.stream = stream;
        const status result = block.launch_child(request, s);
        return {block, result};
    }
    template <class Kernel, class... Args>
    static __device__ __noinline__ block_and_status<Derived> continue_slowly(Derived block, payload_of<Kernel, Args...> payload,
                                                                             shape s, simple_continuation simple, bool bad) {
        launch_request request =
            make_request<Kernel, Args...>(payload, operation::then, block.depth(), block.info_, block.details_, bad);
        const arena_index record = block.grid_of_its_own();
        block.add_no_more_simply();
        const status result = continue_with(request, s, record, simple, block.continuation_lock());
        return {block, result};
    }
    /// Of all threads that may continue this grid; null if they are not of one worker block.
    __device__ unsigned* continuation_lock() const {
        return (info_ & info::one_of_several) != 0 ? nullptr : &derived().lock_of_block();
    }
    static __device__ status fail_to_launch(text kernel, unsigned kernel_depth, const shape& s) {
        return report_failure(operation::launch, status::out_of_memory, kernel, kernel_depth, s);
    }
    /// For a call that is about this block itself.
    __device__ status fail(operation what, status why) const {
        shape s(dim_blocks(), derived().dim_threads());
        if (details_ != 0) s.shared_bytes = at<launch_details>(details_)->shared_bytes;
        return report_failure(what, why, kernel_, depth(), s);
    }
    __device__ bool is_owner() const { return (info_ & info::owner) != 0; }
    /// Whether a continuation cannot be simple: others know the record, or the trace is to know the continuation.
    __device__ bool continues_slowly() const { return (info_ & (info::owner | info::traced)) != 0; }
#endif

    /// Never called: engines of the queue have no host side, but nvcc wants a body, and the kernel's in it.
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION static status nowhere(const Kernel&, const shape&, const Args&...) {
        return status::not_supported;
    }

    arena_index grid_;
    std::uint32_t info_;
    arena_index details_;
    std::uint32_t rank_;
    text kernel_;
};

/// A block of one thread, on a lane.
class lane_block : public block_interface<lane_block> {
public:
    DYNPAR_FUNCTION lane_block(arena_index grid, std::uint32_t task_info, arena_index details, std::uint32_t rank, text kernel)
        : block_interface(grid, task_info, details, rank, kernel) {}

    DYNPAR_FUNCTION unsigned thread_rank() const { return 0; }
    DYNPAR_FUNCTION unsigned num_threads() const { return 1; }
    DYNPAR_FUNCTION dimensions thread_index() const { return dimensions(0, 0, 0); }
    DYNPAR_FUNCTION dimensions dim_threads() const { return {}; }
    DYNPAR_FUNCTION void sync() {}

    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_DEVICE
        if (!may_wait(depth())) return fail(operation::wait, status::sync_depth_exceeded);
        note_wait(depth());
        const unsigned launched = launched_ & block_outcome::count_mask;
        if (own_ == 0 && launched == 0) return status::success;
        if (ensure_own() == 0) return fail(operation::wait, status::out_of_memory);
        if ((launched_ & block_outcome::late) != 0) point_lanes_to_own(grid_, own_);
        if (launched != 0) atomicAdd(&at<grid_record>(own_)->pending, static_cast<int>(launched));
        launched_ = block_outcome::accounted;
        fresh_ = false;
        wait_for_children(own_, depth());
        return run_stopped() ? status::launch_failed : status::success;
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16, "dynpar: shared memory runs no destructors");
#if DYNPAR_ON_DEVICE
        const unsigned room = details_ == 0 ? 0 : at<launch_details>(details_)->shared_bytes;
        if (count > (room - shared_used_) / sizeof(T)) {
            fail(operation::shared, status::shared_memory_exceeded);
            return nullptr;
        }
        if (shared_memory_ == nullptr) {  // a lane has no fast memory of its own: it is the grid's, and lives longer than it must
            const arena_index record = grid_of_its_own();
            if (record != 0) shared_memory_ = static_cast<unsigned char*>(allocate_scratch(record, room));
            if (shared_memory_ == nullptr) {
                fail(operation::shared, status::out_of_memory);
                return nullptr;
            }
        }
        T* memory = reinterpret_cast<T*>(shared_memory_ + shared_used_);
        shared_used_ = min(room, (shared_used_ + static_cast<unsigned>(count * sizeof(T)) + 15) / 16 * 16);
        return memory;
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    DYNPAR_FUNCTION block_outcome outcome() const { return {own_, launched_}; }

private:
    friend class block_interface<lane_block>;

    DYNPAR_FUNCTION static arena_index state_of(const queue_stream& stream) { return stream.state_; }
    DYNPAR_FUNCTION static queue_stream stream_of(arena_index state) { return queue_stream(state); }
    DYNPAR_FUNCTION static queue_event new_event() { return queue_event(); }

#if DYNPAR_ON_DEVICE
    /// The record that children count on once it is there. Those launched before are pointed to it later, at one go.
    __device__ arena_index ensure_own(std::uint32_t flags = 0) {
        if (own_ == 0) {
            own_ = make_record(grid_, depth() | flags);
            fresh_ = !is_owner();
            if (own_ != 0 && (launched_ & block_outcome::count_mask) != 0) launched_ |= block_outcome::late;
        }
        return own_;
    }
    /// The record that continuations and scratch memory belong to.
    __device__ arena_index grid_of_its_own() { return is_owner() ? grid_ : ensure_own(); }
    /// Where `shared` had to take memory of the arena, it looks like any other.
    __device__ bool is_own_shared_memory(const void* place) const {
        const unsigned char* byte = static_cast<const unsigned char*>(place);
        return shared_memory_ != nullptr && byte >= shared_memory_ && byte < shared_memory_ + shared_used_;
    }

    /// Who looks for children that were launched too early looks for lane tasks only.
    __device__ bool push_child(wide_task& task) {
        if (ensure_own() == 0) return false;
        task.grid = own_;
        if (!push(task) && !push_spilled<wide_task>(task)) return false;
        ++launched_;
        return true;
    }
    __device__ bool push_child(lane_task& task) {
        task.grid = own_ != 0 ? own_ : grid_;
        if (!push(task) && apply(push_child_spilled(*this, task)) != status::success) return false;
        ++launched_;
        return true;
    }
    static __device__ __noinline__ block_and_status<lane_block> push_child_spilled(lane_block block, lane_task task) {
        task.grid = block.ensure_own();
        const bool pushed = task.grid != 0 && push_spilled<lane_task>(task);
        return {block, pushed ? status::success : status::out_of_memory};
    }
    __device__ status launch_child(launch_request& request, const shape& s) {
        if (const status why = admit(request, s); why != status::success) return why;
        const arena_index own = request.open_to_others ? counting_record() : ensure_own();
        const status result = launch_admitted(request, s, own, nullptr);
        if (result == status::success && !request.open_to_others) ++launched_;
        return result;
    }
    /// The record to count a child on that others may run before this block returns; the child is counted.
    __device__ arena_index counting_record() {
        if (ensure_own() == 0) return 0;
        launched_ |= block_outcome::accounted;
        atomicAdd(&at<grid_record>(own_)->pending, 1);
        return own_;
    }
    /// A continuation into a record that nobody else has seen and that has none: two stores.
    __device__ bool continue_simply(const simple_continuation& simple) {
        if (continues_slowly() || ensure_own() == 0 || !fresh_) return false;
        fresh_ = false;
        put_continuation(at<grid_record>(own_), simple);
        return true;
    }
    /// What comes after a continuation that is in the record's list has to go there too.
    __device__ void add_no_more_simply() { fresh_ = false; }
    __device__ unsigned& lock_of_block() const { return this_warp().lock; }
    __device__ void* take_scratch(unsigned long long bytes) {
        if (own_ == 0 && !is_owner() && bytes <= sizeof(grid_record::scratch)) {
            return ensure_own(grid_record::scratch_taken) != 0 ? at<grid_record>(own_)->scratch : nullptr;
        }
        const arena_index record = grid_of_its_own();
        return record != 0 ? scratch_of(record, bytes) : nullptr;
    }
#endif

    arena_index own_ = 0;
    std::uint32_t launched_ = 0;  // and the flags of block_outcome
    bool fresh_ = false;          // own_ has no continuation yet, and nobody else knows it
    unsigned shared_used_ = 0;
    unsigned char* shared_memory_ = nullptr;
};

/// A thread's view of a block of several threads, on a warp or on a worker block.
class wide_block : public block_interface<wide_block> {
public:
    DYNPAR_FUNCTION wide_block(const wide_task& task, std::uint32_t rank, unsigned thread_rank, text kernel)
        : block_interface(task.grid, task.info, task.details, rank, kernel), threads_(task.threads), thread_rank_(thread_rank) {}

    DYNPAR_FUNCTION unsigned thread_rank() const { return thread_rank_; }
    DYNPAR_FUNCTION unsigned num_threads() const { return threads_; }
    DYNPAR_FUNCTION dimensions thread_index() const {
        return details_ == 0 ? dimensions(thread_rank_, 0, 0) : dim_threads().index_of(thread_rank_);
    }
    DYNPAR_FUNCTION dimensions dim_threads() const {
#if DYNPAR_ON_DEVICE
        if (details_ != 0) return at<launch_details>(details_)->threads;
#endif
        return dimensions(threads_);
    }

    DYNPAR_FUNCTION void sync() {
#if DYNPAR_ON_DEVICE
        if (is_on_warp()) {
            meet(at_barrier);
        } else {
            meet_block(at_barrier);
        }
#endif
    }

    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_DEVICE
        wait_outcome outcome;
        if (is_on_warp()) {
            meet(waiting);
            outcome = wait_on_warp(grid_, depth(), launched_, true);
        } else {
            meet_block(waiting);
            outcome = wait_on_block(grid_, depth(), launched_, true);
        }
        if (outcome == wait_outcome::refused_and_first) return fail(operation::wait, status::sync_depth_exceeded);
        if (outcome == wait_outcome::refused) return status::sync_depth_exceeded;
        note_wait(depth());
        return run_stopped() ? status::launch_failed : status::success;
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16, "dynpar: shared memory runs no destructors");
#if DYNPAR_ON_DEVICE
        const unsigned room = details_ == 0 ? 0 : at<launch_details>(details_)->shared_bytes;
        if (count > (room - shared_used_) / sizeof(T)) {
            if (thread_rank_ == 0) fail(operation::shared, status::shared_memory_exceeded);
            return nullptr;
        }
        unsigned char* const memory = is_on_warp() ? this_warp().shared_memory : this_block().gang.shared_memory;
        if (memory == nullptr) {
            if (thread_rank_ == 0) fail(operation::shared, status::out_of_memory);
            return nullptr;
        }
        const unsigned begin = shared_used_;
        shared_used_ = min(room, (shared_used_ + static_cast<unsigned>(count * sizeof(T)) + 15) / 16 * 16);
        return reinterpret_cast<T*>(memory + begin);
#else
        static_cast<void>(count);
        return nullptr;
#endif
    }

    DYNPAR_FUNCTION block_outcome outcome() const { return {0, launched_}; }

private:
    friend class block_interface<wide_block>;

    DYNPAR_FUNCTION static arena_index state_of(const queue_stream& stream) { return stream.state_; }
    DYNPAR_FUNCTION static queue_stream stream_of(arena_index state) { return queue_stream(state); }
    DYNPAR_FUNCTION static queue_event new_event() { return queue_event(); }

#if DYNPAR_ON_DEVICE
    __device__ bool is_on_warp() const { return (info_ & info::width_mask) == info::on_warp; }
    __device__ arena_index& own() const { return is_on_warp() ? this_warp().own : this_block().gang.own; }
    __device__ arena_index ensure_own() const { return ensure_shared_record(own(), grid_, depth()); }
    __device__ arena_index grid_of_its_own() const { return is_owner() ? grid_ : ensure_own(); }
    __device__ bool is_own_shared_memory(const void* place) const {
        if (shared_used_ == 0) return false;
        const unsigned char* memory = is_on_warp() ? this_warp().shared_memory : this_block().gang.shared_memory;
        const unsigned char* byte = static_cast<const unsigned char*>(place);
        return byte >= memory && byte < memory + shared_used_;
    }

    template <class Task>
    __device__ bool push_child(Task& task) {
        const arena_index mine = look(own());
        task.grid = mine != 0 ? mine : grid_;
        if (!push(task) && !push_child_spilled(own(), grid_, depth(), task)) return false;
        ++launched_;
        return true;
    }
    __device__ status launch_child(launch_request& request, const shape& s) {
        if (const status why = admit(request, s); why != status::success) return why;
        const arena_index mine = request.open_to_others ? counting_record() : request.needs_record ? ensure_own() : grid_;
        const status result = launch_admitted(request, s, mine, &own());
        if (result == status::success && !request.open_to_others) ++launched_;
        return result;
    }
    __device__ arena_index counting_record() {
        const arena_index mine = ensure_own();
        if (mine == 0) return 0;
        unsigned& accounted = is_on_warp() ? this_warp().own_accounted : this_block().gang.own_accounted;
        atomicMax(&accounted, 1u);
        atomicAdd(&at<grid_record>(mine)->pending, 1);
        return mine;
    }
    /// The same, for the first of the block's threads that asks.
    __device__ bool continue_simply(const simple_continuation& simple) {
        if (continues_slowly() || !is_on_warp() || ensure_own() == 0) return false;
        bool is_first = false;
        with_block_lock(this_warp().lock, [&] {
            is_first = this_warp().own_continued == 0;
            this_warp().own_continued = 1;
            if (is_first) put_continuation(at<grid_record>(look(own())), simple);
        });
        return is_first;
    }
    __device__ void add_no_more_simply() const {
        if (is_on_warp()) with_block_lock(this_warp().lock, [] { this_warp().own_continued = 1; });
    }
    __device__ unsigned& lock_of_block() const { return is_on_warp() ? this_warp().lock : this_block().gang.lock; }
    __device__ void* take_scratch(unsigned long long bytes) {
        const arena_index record = grid_of_its_own();
        return record != 0 ? scratch_of(record, bytes) : nullptr;
    }
#endif

    unsigned threads_;
    unsigned thread_rank_;
    std::uint32_t launched_ = 0;
    unsigned shared_used_ = 0;
};

static_assert(is_block<lane_block>() && is_block<wide_block>(), "the queue engine's blocks have the whole interface");

#if defined(__CUDACC__)

/// The bytes of a payload, wherever they came from, as the payload.
template <class Payload, class Words>
struct payload_bytes_of {
    alignas(Payload) unsigned char bytes[sizeof(Payload)];
    __device__ explicit payload_bytes_of(const Words& words) {
        memcpy(bytes, &words, sizeof(Payload) < sizeof(Words) ? sizeof(Payload) : sizeof(Words));
    }
    __device__ const Payload& get() const { return *reinterpret_cast<const Payload*>(bytes); }
};

template <class Kernel, class... Args>
struct entry_points {
    using payload_type = payload_of<Kernel, Args...>;

    /// A lane task.
    static __device__ block_outcome lane(arena_index grid, std::uint32_t task_info, lane_arguments arguments) {
        if constexpr (sizeof(payload_type) <= sizeof(lane_arguments)) {
            const payload_bytes_of<payload_type, lane_arguments> payload(arguments);
            lane_block block(grid, task_info, 0, 0, kernel_name<Kernel>());
            call(payload.get().kernel(), block, payload.get().arguments);
            return block.outcome();
        }
        return {0, 0};
    }

    /// A wide task that a lane runs.
    static __device__ block_outcome wide_lane(wide_task task, std::uint32_t rank) {
        lane_block block(task.grid, task.info & ~info::width_mask, task.details, rank, kernel_name<Kernel>());
        enter(block, task);
        return block.outcome();
    }

    /// A wide task that a warp or a worker block runs.
    static __device__ block_outcome wide(wide_task task, std::uint32_t rank) {
        const bool on_warp = (task.info & info::width_mask) == info::on_warp;
        wide_block block(task, rank, on_warp ? lane_rank() : threadIdx.x, kernel_name<Kernel>());
        note_begin(kernel_name<Kernel>(), block.depth(), on_warp ? task.threads : task.threads - threadIdx.x / warp_size * warp_size);
        enter(block, task);
        return block.outcome();
    }

private:
    template <class Block>
    static __device__ void enter(Block& block, const wide_task& task) {
        if constexpr (sizeof(payload_type) <= sizeof(wide_arguments)) {
            const payload_bytes_of<payload_type, wide_arguments> inside(task.arguments);
            const payload_type payload = inside.get();
            call(payload.kernel(), block, payload.arguments);
        } else {
            const payload_type payload = *static_cast<const payload_type*>(at<launch_details>(task.details)->arguments());
            call(payload.kernel(), block, payload.arguments);
        }
    }
};

#endif

}  // namespace queue
}  // namespace detail
}  // namespace dynpar
