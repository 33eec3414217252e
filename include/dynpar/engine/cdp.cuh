// The device runtime engine: a child grid is a grid of CUDA's own dynamic parallelism, launched by the GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../block.hpp"
#include "../detail/cdp_run.cuh"
#include "../detail/cuda_memory.hpp"
#include "../detail/launch_check.hpp"
#include "../detail/least_greatest.hpp"
#include "../detail/run_range.hpp"
#include "../detail/run_stream.hpp"
#include "../detail/value_calls.hpp"
#include "../engine_options.hpp"
#include "../launch.cuh"
#include "../reducer.hpp"
#include "../report.hpp"
#include "basic_engine.hpp"

#if !DYNPAR_HAS_DEVICE_LAUNCH
#error "dynpar: the cdp engine needs relocatable device code: -rdc=true and cudadevrt, or the target dynpar::dynpar"
#endif

namespace dynpar {

template <bool Traced>
class basic_cdp_block;
template <bool Traced>
class basic_cdp_event;

namespace detail {

template <bool Traced, class Kernel, class... Args>
__global__ void cdp_entry(cdp_grid<Traced> grid, Kernel kernel, Args... args);

/// Frees the grid's scratch memory. A tail launch, after the grid's last continuation. (A template so that every
/// translation unit may define it.)
template <class Grid>
__global__ void cdp_free_scratch(cdp_scratch* first, Grid* blocks) {
    while (first != nullptr) {
        cdp_scratch* next = first->next;
        free(first);
        first = next;
    }
    free(blocks);
}

/// The same in a traced run.
template <class Grid>
__global__ void cdp_free_scratch_traced(cdp_scratch* first, Grid* blocks, device_trace* trace) {
    unsigned long long bytes = blocks != nullptr ? sizeof(Grid) : 0;
    for (cdp_scratch* piece = first; piece != nullptr; piece = piece->next) bytes += piece->bytes;
    trace_memory_freed(*trace, bytes);
    while (first != nullptr) {
        cdp_scratch* next = first->next;
        free(first);
        first = next;
    }
    free(blocks);
}

#if DYNPAR_OLD_DEVICE_RUNTIME
/// Waits for everything that the calling block has launched. The only use of a call that CUDA has deprecated: it is the
/// purpose of this runtime.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444
__device__ inline cudaError_t synchronize_children() { return cudaDeviceSynchronize(); }
#pragma nv_diagnostic pop
#endif

/// dynpar's status for the device runtime's result of a launch.
DYNPAR_FUNCTION inline status launch_status(cudaError_t code) {
    switch (code) {
        case cudaSuccess: return status::success;
        case cudaErrorLaunchPendingCountExceeded: return status::pending_launches_exceeded;
        case cudaErrorInvalidConfiguration:
        case cudaErrorLaunchOutOfResources: return status::invalid_configuration;
        case cudaErrorLaunchMaxDepthExceeded: return status::nesting_depth_exceeded;
        case cudaErrorSyncDepthExceeded: return status::sync_depth_exceeded;
        case cudaErrorMemoryAllocation: return status::out_of_memory;
        case cudaErrorNotSupported: return status::not_supported;
        default: return status::launch_failed;
    }
}

/// A stream's number in the trace.
template <bool Traced>
struct cdp_stream_number {
    DYNPAR_FUNCTION unsigned number() const { return grid_record::none; }
};
template <>
struct cdp_stream_number<true> {
    unsigned value = grid_record::none;
    DYNPAR_FUNCTION unsigned number() const { return value; }
};

}  // namespace detail

/// A stream of a block on the device runtime; made by `block.make_stream()`, for that block only.
template <bool Traced>
class basic_cdp_stream : private detail::cdp_stream_number<Traced> {
public:
    /// Work given to the stream from now on begins after the work of the event's latest record is complete.
    DYNPAR_FUNCTION status wait(const basic_cdp_event<Traced>& event);

    DYNPAR_FUNCTION ~basic_cdp_stream() {
#if DYNPAR_ON_DEVICE
        if (alive_) static_cast<void>(detail::result_of(cudaStreamDestroy(handle_)));
#endif
    }
    DYNPAR_FUNCTION basic_cdp_stream(basic_cdp_stream&& other) noexcept
        : detail::cdp_stream_number<Traced>(other), block_(other.block_), alive_(other.alive_), handle_(other.handle_) {
        other.alive_ = false;
    }
    DYNPAR_FUNCTION basic_cdp_stream& operator=(basic_cdp_stream&& other) noexcept {
        basic_cdp_stream taken(static_cast<basic_cdp_stream&&>(other));
        const bool alive = alive_;
        const cudaStream_t handle = handle_;
        alive_ = taken.alive_, handle_ = taken.handle_;
        taken.alive_ = alive, taken.handle_ = handle;  // destroyed with `taken`
        static_cast<detail::cdp_stream_number<Traced>&>(*this) = taken;
        return *this;
    }

private:
    friend class basic_cdp_block<Traced>;
    friend class basic_cdp_event<Traced>;
    DYNPAR_FUNCTION explicit basic_cdp_stream(basic_cdp_block<Traced>* block) : block_(block) {}

    basic_cdp_block<Traced>* block_;  // which made it
    bool alive_ = true;               // whether there is a stream behind this object
    cudaStream_t handle_ = nullptr;
};

/// An event of a block on the device runtime; made by `block.make_event()`, for that block only.
template <bool Traced>
class basic_cdp_event {
public:
    /// Records the event: it is complete once everything that was given to the stream before is.
    DYNPAR_FUNCTION status record(const basic_cdp_stream<Traced>& stream);

    DYNPAR_FUNCTION ~basic_cdp_event() {
#if DYNPAR_ON_DEVICE
        if (alive_) static_cast<void>(detail::result_of(cudaEventDestroy(handle_)));
#endif
    }
    DYNPAR_FUNCTION basic_cdp_event(basic_cdp_event&& other) noexcept
        : block_(other.block_), alive_(other.alive_), handle_(other.handle_) {
        other.alive_ = false;
    }
    DYNPAR_FUNCTION basic_cdp_event& operator=(basic_cdp_event&& other) noexcept {
        basic_cdp_event taken(static_cast<basic_cdp_event&&>(other));
        const bool alive = alive_;
        const cudaEvent_t handle = handle_;
        alive_ = taken.alive_, handle_ = taken.handle_;
        taken.alive_ = alive, taken.handle_ = handle;  // destroyed with `taken`
        return *this;
    }

private:
    friend class basic_cdp_block<Traced>;
    friend class basic_cdp_stream<Traced>;
    DYNPAR_FUNCTION explicit basic_cdp_event(basic_cdp_block<Traced>* block) : block_(block) {}

    basic_cdp_block<Traced>* block_;  // which made it
    bool alive_ = true;               // whether there is an event behind this object
    cudaEvent_t handle_ = nullptr;
};

/// A thread's view of its block on the device runtime. See block.hpp for what every member means.
///
/// Members are DYNPAR_FUNCTION, with bodies for the device only: nvcc compiles kernels for both sides.
///
/// Every kernel is compiled for both values of `Traced`: a run without a trace executes no instruction for it.
template <bool Traced>
class basic_cdp_block : public value_interface<basic_cdp_block<Traced>> {
public:
    using stream_type = basic_cdp_stream<Traced>;
    using event_type = basic_cdp_event<Traced>;

    DYNPAR_FUNCTION unsigned thread_rank() const {
#if DYNPAR_ON_DEVICE
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
#else
        return 0;
#endif
    }
    DYNPAR_FUNCTION unsigned num_threads() const { return static_cast<unsigned>(dim_threads().count()); }
    DYNPAR_FUNCTION dimensions thread_index() const {
#if DYNPAR_ON_DEVICE
        return dimensions(threadIdx.x, threadIdx.y, threadIdx.z);
#else
        return {};
#endif
    }
    DYNPAR_FUNCTION dimensions dim_threads() const {
#if DYNPAR_ON_DEVICE
        return dimensions(blockDim.x, blockDim.y, blockDim.z);
#else
        return {};
#endif
    }
    DYNPAR_FUNCTION unsigned block_rank() const {
#if DYNPAR_ON_DEVICE
        return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
#else
        return 0;
#endif
    }
    DYNPAR_FUNCTION unsigned num_blocks() const { return static_cast<unsigned>(dim_blocks().count()); }
    DYNPAR_FUNCTION dimensions group_index() const {
#if DYNPAR_ON_DEVICE
        return dimensions(blockIdx.x, blockIdx.y, blockIdx.z);
#else
        return {};
#endif
    }
    DYNPAR_FUNCTION dimensions dim_blocks() const {
#if DYNPAR_ON_DEVICE
        return dimensions(gridDim.x, gridDim.y, gridDim.z);
#else
        return {};
#endif
    }
    DYNPAR_FUNCTION unsigned depth() const { return grid_.depth; }
    DYNPAR_FUNCTION unsigned moldable_threads(at_most most) const {
#if DYNPAR_ON_DEVICE
        return most.threads < grid_.run->moldable_threads ? most.threads : grid_.run->moldable_threads;
#else
        return most.threads;
#endif
    }

    DYNPAR_FUNCTION void sync() {
#if DYNPAR_ON_DEVICE
        __syncthreads();
#endif
    }

    /// Only on the old device runtime (option DYNPAR_CDP1, compute capability 7.5 to 8.9); otherwise `not_supported`.
    DYNPAR_FUNCTION status wait() {
#if DYNPAR_ON_DEVICE
#if DYNPAR_OLD_DEVICE_RUNTIME
        if (grid_.depth >= grid_.run->sync_depth) return refuse_wait(status::sync_depth_exceeded);
        if constexpr (Traced) {
            if (thread_rank() == 0) atomicMax(&grid_.run->trace->deepest_wait, grid_.depth + 1);
        }
        __syncthreads();
        // Every thread waits: any of them may have returned, and a wait for completed children costs little.
        const cudaError_t code = detail::synchronize_children();
        if (__syncthreads_or(code != cudaSuccess)) {
            return refuse_wait(code == cudaErrorSyncDepthExceeded ? status::sync_depth_exceeded
                                                                  : status::launch_failed);
        }
        return status::success;
#else
        return refuse_wait(status::not_supported);
#endif
#else
        return status::not_supported;
#endif
    }

    template <class T>
    DYNPAR_FUNCTION T* shared(std::size_t count) {
        detail::check_block_memory<T>();
#if DYNPAR_ON_DEVICE
        extern __shared__ __align__(16) unsigned char dynpar_shared_memory[];
        unsigned room;
        asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
        if (count > (room - shared_used_) / sizeof(T)) {
            // In the report once for each block and call: all threads that make the call count it with the same number,
            // and the first of them reports it. No barrier: threads of the block may be at another one.
            const unsigned mine = ++refused_shared_;
            if (atomicMax(&ending_->refused_shared, mine) < mine)
                fail(operation::shared, status::shared_memory_exceeded);
            return nullptr;
        }
        T* memory = reinterpret_cast<T*>(dynpar_shared_memory + shared_used_);
        const unsigned after = (shared_used_ + static_cast<unsigned>(count * sizeof(T)) + 15) / 16 * 16;
        shared_used_ = after < room ? after : room;
        return memory;
#else
        return nullptr;
#endif
    }

    /// From the device heap: `limits::heap_bytes` bounds it.
    template <class T>
    DYNPAR_FUNCTION T* scratch(std::size_t count) {
        detail::check_block_memory<T>();
#if DYNPAR_ON_DEVICE
        void* memory = count > (SIZE_MAX - sizeof(detail::cdp_scratch)) / sizeof(T)
                           ? nullptr
                           : malloc(sizeof(detail::cdp_scratch) + count * sizeof(T));
        if (memory == nullptr) {
            fail(operation::scratch, status::out_of_memory);
            return nullptr;
        }
        auto* header = static_cast<detail::cdp_scratch*>(memory);
        if constexpr (Traced) {
            header->bytes = sizeof(detail::cdp_scratch) + count * sizeof(T);
            detail::trace_memory_taken(*grid_.run->trace, header->bytes);
        }
        header->next = exchange(&ending_->scratch, header);
        return reinterpret_cast<T*>(header + 1);
#else
        return nullptr;
#endif
    }

    using value_interface<basic_cdp_block>::launch;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& s, Args... args) {
        check_kernel<basic_cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        return launch_grid(operation::launch, device::detail::fire_and_forget_stream(), grid_record::none, true, kernel,
                           s, args...);
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0,
              std::enable_if_t<!std::is_same_v<Kernel, stream_type>, int> = 0>
    DYNPAR_FUNCTION status launch(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const stream_type& stream, Kernel kernel, const shape& s, Args... args) {
        check_kernel<basic_cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        return launch_grid(operation::launch, stream.handle_, stream.number(), stream.alive_, kernel, s, args...);
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }

    using value_interface<basic_cdp_block>::then;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& s, Args... args) {
        check_kernel<basic_cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
#if DYNPAR_OLD_DEVICE_RUNTIME
        return lost<Kernel>(operation::then, status::not_supported, cudaErrorNotSupported, s);
#else
        return launch_grid(operation::then, device::detail::tail_launch_stream(), grid_record::none, true, kernel, s,
                           args...);
#endif
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }
    /// Without a shape, or with a buffer: a sentence of the compiler.
    template <class Kernel, class Shape = shape, class... Args, detail::if_wrong_launch<Shape, Args...> = 0>
    DYNPAR_FUNCTION status then(const Kernel&, const Shape&, const Args&...) {
        return detail::explain_wrong_launch<status, Shape, Args...>();
    }

    DYNPAR_FUNCTION stream_type make_stream() {
        stream_type stream(this);
#if DYNPAR_ON_DEVICE
        if (const cudaError_t code =
                detail::result_of(cudaStreamCreateWithFlags(&stream.handle_, cudaStreamNonBlocking));
            code != cudaSuccess) {
            fail(operation::make_stream, detail::launch_status(code), code);
            stream.alive_ = false;
        }
        if constexpr (Traced) stream.value = atomicAdd(&grid_.run->trace->streams, 1u);
#endif
        return stream;
    }

    DYNPAR_FUNCTION event_type make_event() {
        event_type event(this);
#if DYNPAR_ON_DEVICE
        if (const cudaError_t code =
                detail::result_of(cudaEventCreateWithFlags(&event.handle_, cudaEventDisableTiming));
            code != cudaSuccess) {
            fail(operation::make_event, detail::launch_status(code), code);
            event.alive_ = false;
        }
#endif
        return event;
    }

    /// For kernels with values: whether a call of the run has failed, so that a value may be missing.
    DYNPAR_FUNCTION bool run_has_failures() const {
#if DYNPAR_ON_DEVICE
        return *static_cast<volatile unsigned long long*>(&grid_.run->failures.failed_calls) != 0;
#else
        return false;
#endif
    }

    /// For nested loops: a launch takes microseconds.
    static constexpr bool launches_are_costly = true;

    /// For reducers: blocks of several grids run at once, and a slot is that of a lane of their multiprocessor.
    static constexpr detail::slot_use use_of_slots = detail::slot_use::shared;
    /// For reducers: which engine's this is, and where this thread adds.
    DYNPAR_FUNCTION detail::reducer_place place_in_reducer() const {
#if DYNPAR_ON_DEVICE
        return {grid_.run, detail::multiprocessor() * warp_threads + thread_rank() % warp_threads};
#else
        return {nullptr, 0};
#endif
    }
    /// For reducers: reports one of another engine.
    DYNPAR_FUNCTION void refuse_reducer() const {
#if DYNPAR_ON_DEVICE
        fail(operation::reduce, status::not_supported);
#endif
    }

    basic_cdp_block(const basic_cdp_block&) = delete;
    basic_cdp_block& operator=(const basic_cdp_block&) = delete;

private:
    template <bool AnyTraced, class Kernel, class... Args>
    friend __global__ void detail::cdp_entry(detail::cdp_grid<AnyTraced> grid, Kernel kernel, Args... args);
    friend stream_type;
    friend event_type;

    /// Never called on the host. But both sides of the compilation must know a kernel that only device code launches.
    template <class Kernel, class... Args>
    static status exists_on_host() {
        static_cast<void>(&detail::cdp_entry<Traced, Kernel, Args...>);
        return status::not_supported;
    }

#if defined(__CUDACC__)
    __device__ basic_cdp_block(const detail::cdp_grid<Traced>& grid, text kernel, detail::cdp_ending* ending)
        : grid_(grid), kernel_(kernel), ending_(ending) {}

    __device__ void begin() const {
        if (thread_rank() == 0) {
            ending_->threads = num_threads();
            ending_->scratch = nullptr;
            ending_->refused_shared = 0;
            ending_->launching = 0;
            if (block_rank() == 0) register_grid();
            if constexpr (Traced) {
                if (grid_.id != grid_record::none) {
                    detail::device_trace_record& record = grid_.run->trace->records[grid_.id];
                    atomicMin(&record.begun, detail::device_nanoseconds());
                    if (block_rank() == 0) record.processor = detail::multiprocessor();
                }
            }
        }
        __syncthreads();
    }

    __device__ void register_grid() const {
        detail::cdp_run& run = *grid_.run;
        atomicAdd(&run.begun, 1ull);
        if (grid_.depth != 0) atomicMax(&run.deepest, grid_.depth);
        const unsigned place =
            grid_.depth < detail::cdp_last_begun::depths ? grid_.depth : detail::cdp_last_begun::depths - 1;
        const unsigned long long hash = detail::hash_of(kernel_);
        if (*static_cast<volatile unsigned long long*>(&run.last_begun_hash[place]) != hash) {
            run.last_begun_hash[place] = hash;
            detail::cdp_last_begun& entry = run.last_begun[place];
            const unsigned length =
                kernel_.length < detail::trace_name::capacity ? kernel_.length : detail::trace_name::capacity;
#pragma unroll 1
            for (unsigned i = 0; i < length; ++i) entry.name[i] = kernel_.begin[i];
            entry.length = length;
            __threadfence_system();  // the fault that this is for may be the next instruction
        }
    }

    /// A thread comes here when its kernel has returned. There is no barrier here: a thread that has returned must not
    /// be counted by the sync() of the others. The last thread of the block launches the release of scratch memory.
    __device__ void end() const {
        const unsigned together = __activemask();
        const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
        if (lane != static_cast<unsigned>(__ffs(static_cast<int>(together)) - 1)) return;
        __threadfence_block();
        const unsigned count = static_cast<unsigned>(__popc(together));
        if (atomicSub(&ending_->threads, count) != count) return;
        __threadfence();
        if constexpr (Traced) {
            if (grid_.id != grid_record::none) {
                atomicMax(&grid_.run->trace->records[grid_.id].ended, detail::device_nanoseconds());
            }
        }

        detail::cdp_scratch* first = ending_->scratch;
        detail::cdp_blocks* owned = nullptr;
        if (grid_.blocks != nullptr) {
            if (first != nullptr) {
                detail::cdp_scratch* last = first;
                while (last->next != nullptr) last = last->next;
                last->next = exchange(&grid_.blocks->scratch, first);
            }
            __threadfence();
            if (atomicSub(&grid_.blocks->running, 1u) != 1) return;
            __threadfence();
            first = exchange(&grid_.blocks->scratch, nullptr);
            if (grid_.blocks != &grid_.run->root_blocks) owned = grid_.blocks;
        }
        // This is the last thread of the grid: all continuations are launched, and a tail launch comes after them.
        if (first != nullptr) {
            release(first, owned);
        } else {
            if constexpr (Traced) {
                if (owned != nullptr) detail::trace_memory_freed(*grid_.run->trace, sizeof(detail::cdp_blocks));
            }
            free(owned);
        }
    }

    __device__ static detail::cdp_scratch* exchange(detail::cdp_scratch** place, detail::cdp_scratch* value) {
        return reinterpret_cast<detail::cdp_scratch*>(
            atomicExch(reinterpret_cast<unsigned long long*>(place), reinterpret_cast<unsigned long long>(value)));
    }

    __device__ void release(detail::cdp_scratch* list, detail::cdp_blocks* blocks) const {
#if DYNPAR_OLD_DEVICE_RUNTIME
        // There are no continuations; children may still read the memory.
        detail::synchronize_children();
        while (list != nullptr) {
            detail::cdp_scratch* const next = list->next;
            if constexpr (Traced) detail::trace_memory_freed(*grid_.run->trace, list->bytes);
            free(list);
            list = next;
        }
        free(blocks);
#else
        cudaError_t code;
        if constexpr (Traced) {
            code = device::detail::try_tail_launch(launch_configuration(1, 1),
                                                   &detail::cdp_free_scratch_traced<detail::cdp_blocks>, list, blocks,
                                                   grid_.run->trace);
            if (code == cudaSuccess && grid_.id != grid_record::none)
                grid_.run->trace->records[grid_.id].frees_scratch = true;
        } else {
            code = device::detail::try_tail_launch(launch_configuration(1, 1),
                                                   &detail::cdp_free_scratch<detail::cdp_blocks>, list, blocks);
        }
        if (code != cudaSuccess)
            fail(operation::scratch, detail::launch_status(code), code);  // not lost, but not recycled
#endif
    }

    /// CUDA's device runtime can stand still for good where threads of one warp that run apart launch different kernels
    /// at the same time (docs/contract.md). So they take turns.
    template <class Launch>
    __device__ void one_by_one(Launch launch) const {
        const unsigned warp = 1u << thread_rank() / 32;
        for (bool done = false; !done;) {
            if ((atomicOr(&ending_->launching, warp) & warp) == 0) {
                launch();
                atomicAnd(&ending_->launching, ~warp);
                done = true;
            }
        }
    }

    template <class Kernel, class... Args>
    __device__ status launch_grid(operation o, cudaStream_t stream, unsigned stream_number, bool is_stream,
                                  const Kernel& kernel, const shape& given, const Args&... args) {
        const detail::shape_of_launch<Kernel> s(given);
        const unsigned depth = o == operation::then ? grid_.depth : grid_.depth + 1;
        status why = status::success;
        cudaError_t cuda_code = cudaSuccess;
        detail::cdp_grid<Traced> child{};
        child.run = grid_.run;
        child.depth = depth;
        // In the order of C8, which is the same on every engine.
        if ((points_into_block(args) || ...)) {
            why = status::invalid_pointer;
        } else if (depth > grid_.run->nesting_depth) {
            why = status::nesting_depth_exceeded;
        } else if (check(s, most_threads<Kernel>()) != status::success) {
            why = status::invalid_configuration;
        } else if (!is_stream) {
            why = status::launch_failed;
            cuda_code = cudaErrorInvalidResourceHandle;
        } else if (s.blocks.count() > 1) {
            child.blocks = static_cast<detail::cdp_blocks*>(malloc(sizeof(detail::cdp_blocks)));
            if (child.blocks == nullptr) {
                why = status::out_of_memory;
            } else {
                child.blocks->running = static_cast<unsigned>(s.blocks.count());
                child.blocks->scratch = nullptr;
            }
        }
        if constexpr (Traced) {
            const bool continues = o == operation::then;
            child.parent = continues ? grid_.parent : grid_.id;
            const detail::traced_launch launch{kernel_name<Kernel>(),
                                               child.parent,
                                               continues ? grid_.id : grid_record::none,
                                               stream_number,
                                               depth,
                                               why,
                                               s};
            child.id = detail::trace_launch(grid_.run->trace, &launch);
            if (child.blocks != nullptr) detail::trace_memory_taken(*grid_.run->trace, sizeof(detail::cdp_blocks));
        }
        if (why != status::success) return lost<Kernel>(o, why, cuda_code, s);
        cudaError_t code = cudaSuccess;
        const dimensions threads = s.moldable ? dimensions(moldable_threads(at_most(s.threads.x))) : s.threads;
        const unsigned shared_bytes = shared_bytes_of(s, threads.x);
        one_by_one([&] {
            code = device::detail::try_launch(launch_configuration(s.blocks, threads, shared_bytes), stream,
                                              &detail::cdp_entry<Traced, Kernel, Args...>, child, kernel, args...);
        });
        if (code != cudaSuccess) {
            if constexpr (Traced) {
                if (child.blocks != nullptr) detail::trace_memory_freed(*grid_.run->trace, sizeof(detail::cdp_blocks));
                if (child.id != grid_record::none)
                    grid_.run->trace->records[child.id].status = detail::launch_status(code);
            }
            free(child.blocks);
            return lost<Kernel>(o, detail::launch_status(code), code, s);
        }
        atomicAdd(&grid_.run->launched, 1ull);
        return status::success;
    }

    /// Whether an argument is a pointer to memory that ends with the launching thread or its block. (Pointers inside
    /// structs are not checked.)
    template <class Arg>
    __device__ static bool points_into_block(const Arg& argument) {
        if constexpr (std::is_pointer_v<Arg> && !std::is_function_v<std::remove_pointer_t<Arg>>) {
            return __isLocal(argument) || __isShared(argument);
        } else {
            return false;
        }
    }

    /// Reports a call that is about a child or a continuation.
    template <class Kernel>
    __device__ status lost(operation o, status why, cudaError_t code, const shape& s) const {
        const unsigned depth = o == operation::then ? grid_.depth : grid_.depth + 1;
        const detail::failed_call call{o, why, code, kernel_name<Kernel>(), depth, s, most_threads<Kernel>()};
        detail::add_failure(&grid_.run->failures, &call);
        return why;
    }

    /// Reports a call that is about this block.
    __device__ status fail(operation o, status why, cudaError_t code = cudaSuccess) const {
        unsigned shared_bytes;
        asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
        const detail::failed_call call{o,       why,         code,
                                       kernel_, grid_.depth, shape(dim_blocks(), dim_threads(), shared_bytes)};
        detail::add_failure(&grid_.run->failures, &call);
        return why;
    }

    /// Collective, for failures only: true for one thread of the block, whichever threads have returned before.
    __device__ bool is_first_of_block() const {
        for (unsigned rank = 0;; ++rank) {
            const bool it_is_me = thread_rank() == rank;
            if (__syncthreads_or(it_is_me)) return it_is_me;
        }
    }

    __device__ status refuse_wait(status why) const {
        if (is_first_of_block()) fail(operation::wait, why);
        return why;
    }
#endif

    detail::cdp_grid<Traced> grid_;
    text kernel_;
    detail::cdp_ending* ending_;
    unsigned shared_used_ = 0;     // bytes of shared memory that this thread's calls have passed
    unsigned refused_shared_ = 0;  // this thread's calls that got none
};

template <bool Traced>
DYNPAR_FUNCTION status basic_cdp_stream<Traced>::wait(const basic_cdp_event<Traced>& event) {
#if DYNPAR_ON_DEVICE
    if (!alive_ || !event.alive_)
        return block_->fail(operation::wait_event, status::launch_failed, cudaErrorInvalidResourceHandle);
    if (const cudaError_t code = detail::result_of(cudaStreamWaitEvent(handle_, event.handle_, 0));
        code != cudaSuccess) {
        return block_->fail(operation::wait_event, detail::launch_status(code), code);
    }
    return status::success;
#else
    static_cast<void>(event);
    return status::not_supported;
#endif
}

template <bool Traced>
DYNPAR_FUNCTION status basic_cdp_event<Traced>::record(const basic_cdp_stream<Traced>& stream) {
#if DYNPAR_ON_DEVICE
    if (!alive_ || !stream.alive_)
        return block_->fail(operation::record_event, status::launch_failed, cudaErrorInvalidResourceHandle);
    if (const cudaError_t code = detail::result_of(cudaEventRecord(handle_, stream.handle_)); code != cudaSuccess) {
        return block_->fail(operation::record_event, detail::launch_status(code), code);
    }
    return status::success;
#else
    static_cast<void>(stream);
    return status::not_supported;
#endif
}

using cdp_block = basic_cdp_block<false>;    ///< the block of a run without a trace
using cdp_stream = basic_cdp_stream<false>;  ///< its streams
using cdp_event = basic_cdp_event<false>;    ///< its events

/// The grid behind every launch of this engine: makes the block and runs the kernel on it. The bound keeps registers
/// few enough for every block size that the kernel may have.
template <bool Traced, class Kernel, class... Args>
__global__ void __launch_bounds__(most_threads<Kernel>()) detail::cdp_entry(cdp_grid<Traced> grid, Kernel kernel,
                                                                            Args... args) {
    __shared__ cdp_ending ending;
    basic_cdp_block<Traced> block(grid, kernel_name<Kernel>(), &ending);
    block.begin();
    mark_the_kernel_and_all_that_it_calls_with_DYNPAR_FUNCTION(kernel, block, args...);
    block.end();
}

/// Options of the device runtime engine.
struct cdp_options : engine_options {};

/// Runs kernels on the GPU's device runtime: every child is a hardware grid. About 6 microseconds a launch and a few
/// million launches a second on an H200. The GPU refuses launches over `limits::pending_launches`, and the engine
/// reports them.
///
/// The engine sets the given limits on the current device (see `apply`) when it is made, and they stay. A moldable
/// kernel gets the most threads that its shape allows, or `moldable_threads`. A child grid may have at most 48 KiB of
/// shared memory. An engine runs one grid (with everything launched from it) at a time, on its own stream.
class cdp_engine : public basic_engine<cdp_engine> {
public:
    using basic_engine::try_run;
    using block_type = cdp_block;  ///< what kernels get, in a run without a trace

    /// As in `--engine cdp`.
    static constexpr const char* name = "cdp";

    /// Throws `cuda_error` if there is no usable device.
    explicit cdp_engine(const cdp_options& options = {})
        : options_(check_options(options)), host_(std::make_unique<detail::cdp_host>(options)) {}

    /// Runs a grid and everything launched from it; returns when all of it is complete. Calls that failed are in the
    /// report. Throws `kernel_fault` if a kernel broke (the CUDA context is then lost), `cuda_error`; and
    /// `deadlock_error` if launches were lost and the device runtime then made no progress for 10 s, as CUDA's can:
    /// after that the process cannot use the GPU any more.
    template <class Kernel, class... Args, detail::if_no_buffer<Args...> = 0>
    report try_run(Kernel kernel, const shape& s, Args... args) {
#if !DYNPAR_NO_TRACE
        if (options_.trace_grids != 0) return run_form<true>(kernel, s, args...);
#endif
        return run_form<false>(kernel, s, args...);
    }

    /// Where its buffers are: the memory of the current device.
    static const memory_space& memory() { return detail::cuda_memory(); }

    /// The GPU's name.
    std::string device() const { return host_->device(); }
    /// The threads that a moldable block gets, of at most as many as `most` says.
    unsigned moldable_threads(at_most most) const {
        return options_.moldable_threads == 0 ? most.threads : detail::least(most.threads, options_.moldable_threads);
    }
    /// How many slots a reducer of this engine has.
    unsigned reducer_slots() const { return host_->reducer_slots(); }
    /// As given.
    const cdp_options& options() const { return options_; }
    /// What became of each limit that was given.
    const std::vector<limit_result>& limit_results() const { return host_->limit_results(); }

private:
    static const cdp_options& check_options(const cdp_options& options) {
        detail::check_traceable(options, name);
        return options;
    }

    template <bool Traced, class Kernel, class... Args>
    report run_form(const Kernel& kernel, const shape& given, const Args&... args) {
        const detail::shape_of_launch<Kernel> s(given);
        check_kernel<basic_cdp_block<Traced>, Kernel, Args...>();
        const text kernel_text = kernel_name<Kernel>();
        const detail::run_range range(name, kernel_text);
        if (const status why = check(s, most_threads<Kernel>()); why != status::success) {
            return host_->refused(kernel_text, s, why, cudaSuccess, most_threads<Kernel>());
        }
        constexpr auto entry = &detail::cdp_entry<Traced, Kernel, Args...>;
        const dimensions threads = s.moldable ? dimensions(moldable_threads(at_most(s.threads.x))) : s.threads;
        const unsigned shared_bytes = shared_bytes_of(s, threads.x);
        if (shared_bytes > 48 * 1024) {  // CUDA needs permission for more
            const cudaError_t code = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                          static_cast<int>(shared_bytes));
            if (code != cudaSuccess) return host_->refused(kernel_text, s, status::invalid_configuration, code);
        }
        detail::follow_default_stream(host_->stream());
        const detail::cdp_grid<Traced> root = host_->begin(kernel_text, s);
        void* parameters[] = {const_cast<void*>(static_cast<const void*>(std::addressof(root))),
                              const_cast<void*>(static_cast<const void*>(std::addressof(kernel))),
                              const_cast<void*>(static_cast<const void*>(std::addressof(args)))...};
        // Not <<<>>>: this call returns its own error; <<<>>> would leave it among those of the program's earlier
        // calls.
        const cudaError_t code =
            cudaLaunchKernel(reinterpret_cast<const void*>(entry), static_cast<::dim3>(s.blocks),
                             static_cast<::dim3>(threads), parameters, shared_bytes, host_->stream());
        if (code != cudaSuccess) return host_->refused(kernel_text, s, detail::launch_status(code), code);
        return host_->finish();
    }

    cdp_options options_;
    std::unique_ptr<detail::cdp_host> host_;
};

static_assert(detail::is_block<cdp_block>() && detail::is_block<basic_cdp_block<true>>(),
              "the device runtime engine's block has the whole interface");

}  // namespace dynpar
