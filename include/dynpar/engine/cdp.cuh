// The device runtime engine: a child grid is a grid of CUDA's own dynamic parallelism, launched by the GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../block.hpp"
#include "../buffer.hpp"
#include "../detail/cdp_run.cuh"
#include "../detail/cuda_memory.hpp"
#include "../engine_options.hpp"
#include "../launch.cuh"
#include "../report.hpp"

#if !DYNPAR_HAS_DEVICE_LAUNCH
#error "dynpar: the cdp engine needs relocatable device code: compile with -rdc=true and link cudadevrt, or use dynpar::dynpar"
#endif

namespace dynpar {

class cdp_block;
class cdp_event;

namespace detail {

template <class Kernel, class... Args>
__global__ void cdp_entry(cdp_grid grid, Kernel kernel, Args... args);

/// Frees what a grid took with `scratch`. Runs in the grid's tail, after its last continuation. (A template so that every
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

#if DYNPAR_OLD_DEVICE_RUNTIME
/// Waits for all that the calling block has launched. The one use of a call that CUDA has deprecated: it is what this runtime is
/// here for.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444
__device__ inline cudaError_t synchronize_children() { return cudaDeviceSynchronize(); }
#pragma nv_diagnostic pop
#endif

/// dynpar's status for what the device runtime says of a launch.
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

}  // namespace detail

/// A stream of a block on the device runtime; made by `block.make_stream()`, for that block alone.
class cdp_stream {
public:
    /// Nothing that is given to the stream from now on begins before the work before the event's latest record is complete.
    DYNPAR_FUNCTION status wait(const cdp_event& event);

    DYNPAR_FUNCTION ~cdp_stream() {
#if DYNPAR_ON_DEVICE
        if (block_ != nullptr) cudaStreamDestroy(handle_);
#endif
    }
    DYNPAR_FUNCTION cdp_stream(cdp_stream&& other) noexcept : block_(other.block_), handle_(other.handle_) {
        other.block_ = nullptr;
    }
    DYNPAR_FUNCTION cdp_stream& operator=(cdp_stream&& other) noexcept {
        cdp_block* const block = block_;
        const cudaStream_t handle = handle_;
        block_ = other.block_, handle_ = other.handle_;
        other.block_ = block, other.handle_ = handle;
        return *this;
    }

private:
    friend class cdp_block;
    friend class cdp_event;
    DYNPAR_FUNCTION explicit cdp_stream(cdp_block* block) : block_(block) {}

    cdp_block* block_;  // null if there is no stream behind this object
    cudaStream_t handle_ = nullptr;
};

/// An event of a block on the device runtime; made by `block.make_event()`, for that block alone.
class cdp_event {
public:
    /// Records the event: it is complete once all that was given to the stream before is.
    DYNPAR_FUNCTION status record(const cdp_stream& stream);

    DYNPAR_FUNCTION ~cdp_event() {
#if DYNPAR_ON_DEVICE
        if (block_ != nullptr) cudaEventDestroy(handle_);
#endif
    }
    DYNPAR_FUNCTION cdp_event(cdp_event&& other) noexcept : block_(other.block_), handle_(other.handle_) {
        other.block_ = nullptr;
    }
    DYNPAR_FUNCTION cdp_event& operator=(cdp_event&& other) noexcept {
        cdp_block* const block = block_;
        const cudaEvent_t handle = handle_;
        block_ = other.block_, handle_ = other.handle_;
        other.block_ = block, other.handle_ = handle;
        return *this;
    }

private:
    friend class cdp_block;
    friend class cdp_stream;
    DYNPAR_FUNCTION explicit cdp_event(cdp_block* block) : block_(block) {}

    cdp_block* block_;  // null if there is no event behind this object
    cudaEvent_t handle_ = nullptr;
};

/// A thread's view of its block on the device runtime. See block.hpp for what every member means.
///
/// Members are DYNPAR_FUNCTION, with bodies for the device alone: nvcc compiles kernels for both sides.
class cdp_block {
public:
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
        __syncthreads();
        // Every thread waits: none of them is sure to be there, and a wait for what is complete costs little.
        const cudaError_t code = detail::synchronize_children();
        if (__syncthreads_or(code != cudaSuccess)) {
            return refuse_wait(code == cudaErrorSyncDepthExceeded ? status::sync_depth_exceeded : status::launch_failed);
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
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16, "dynpar: shared memory runs no destructors");
#if DYNPAR_ON_DEVICE
        extern __shared__ __align__(16) unsigned char dynpar_shared_memory[];
        unsigned room;
        asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
        if (count > (room - shared_used_) / sizeof(T)) {
            if (is_first_of_block()) fail(operation::shared, status::shared_memory_exceeded);
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
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 16, "dynpar: scratch memory runs no destructors");
#if DYNPAR_ON_DEVICE
        void* memory = count > (SIZE_MAX - sizeof(detail::cdp_scratch)) / sizeof(T)
                           ? nullptr
                           : malloc(sizeof(detail::cdp_scratch) + count * sizeof(T));
        if (memory == nullptr) {
            fail(operation::scratch, status::out_of_memory);
            return nullptr;
        }
        auto* header = static_cast<detail::cdp_scratch*>(memory);
        header->next = exchange(&ending_->scratch, header);
        return reinterpret_cast<T*>(header + 1);
#else
        return nullptr;
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(Kernel kernel, const shape& s, Args... args) {
        check_kernel<cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        return launch_grid(operation::launch, device::detail::fire_and_forget_stream(), kernel, s, args...);
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status launch(const cdp_stream& stream, Kernel kernel, const shape& s, Args... args) {
        check_kernel<cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
        if (stream.block_ == nullptr) {
            return lost(operation::launch, status::launch_failed, cudaErrorInvalidResourceHandle, kernel_name<Kernel>(), s);
        }
        return launch_grid(operation::launch, stream.handle_, kernel, s, args...);
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }

    template <class Kernel, class... Args>
    DYNPAR_FUNCTION status then(Kernel kernel, const shape& s, Args... args) {
        check_kernel<cdp_block, Kernel, Args...>();
#if DYNPAR_ON_DEVICE
#if DYNPAR_OLD_DEVICE_RUNTIME
        return lost(operation::then, status::not_supported, cudaErrorNotSupported, kernel_name<Kernel>(), s);
#else
        return launch_grid(operation::then, device::detail::tail_launch_stream(), kernel, s, args...);
#endif
#else
        return exists_on_host<Kernel, Args...>();
#endif
    }

    DYNPAR_FUNCTION cdp_stream make_stream() {
        cdp_stream stream(this);
#if DYNPAR_ON_DEVICE
        if (const cudaError_t code = cudaStreamCreateWithFlags(&stream.handle_, cudaStreamNonBlocking); code != cudaSuccess) {
            fail(operation::make_stream, detail::launch_status(code), code);
            stream.block_ = nullptr;
        }
#endif
        return stream;
    }

    DYNPAR_FUNCTION cdp_event make_event() {
        cdp_event event(this);
#if DYNPAR_ON_DEVICE
        if (const cudaError_t code = cudaEventCreateWithFlags(&event.handle_, cudaEventDisableTiming); code != cudaSuccess) {
            fail(operation::make_event, detail::launch_status(code), code);
            event.block_ = nullptr;
        }
#endif
        return event;
    }

    cdp_block(const cdp_block&) = delete;
    cdp_block& operator=(const cdp_block&) = delete;

private:
    template <class Kernel, class... Args>
    friend __global__ void detail::cdp_entry(detail::cdp_grid grid, Kernel kernel, Args... args);
    friend class cdp_stream;
    friend class cdp_event;

    /// The host never gets here. But a kernel that only device code launches must be known to both sides of the compilation.
    template <class Kernel, class... Args>
    static status exists_on_host() {
        static_cast<void>(&detail::cdp_entry<Kernel, Args...>);
        return status::not_supported;
    }

#if defined(__CUDACC__)
    __device__ cdp_block(const detail::cdp_grid& grid, text kernel, detail::cdp_ending* ending)
        : grid_(grid), kernel_(kernel), ending_(ending) {}

    __device__ void begin() const {
        if (thread_rank() == 0) {
            ending_->threads = num_threads();
            ending_->scratch = nullptr;
            if (block_rank() == 0) register_grid();
        }
        __syncthreads();
    }

    __device__ void register_grid() const {
        detail::cdp_run& run = *grid_.run;
        atomicAdd(&run.begun, 1ull);
        if (grid_.depth != 0) atomicMax(&run.deepest, grid_.depth);
        const unsigned place = grid_.depth < detail::cdp_last_begun::depths ? grid_.depth : detail::cdp_last_begun::depths - 1;
        const unsigned long long hash = hash_of(kernel_);
        if (*static_cast<volatile unsigned long long*>(&run.last_begun_hash[place]) != hash) {
            run.last_begun_hash[place] = hash;
            detail::cdp_last_begun& entry = run.last_begun[place];
            const unsigned length = kernel_.length < detail::cdp_name::capacity ? kernel_.length : detail::cdp_name::capacity;
#pragma unroll 1
            for (unsigned i = 0; i < length; ++i) entry.name[i] = kernel_.begin[i];
            entry.length = length;
            __threadfence_system();  // the fault that this is for may be the next instruction
        }
    }

    /// A thread comes here when its kernel has returned. There is no barrier here: a thread that has returned must not be counted
    /// by the sync() of the others. The last thread of the block hands scratch memory over for release.
    __device__ void end() const {
        const unsigned together = __activemask();
        const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
        if (lane != static_cast<unsigned>(__ffs(static_cast<int>(together)) - 1)) return;
        __threadfence_block();
        const unsigned count = static_cast<unsigned>(__popc(together));
        if (atomicSub(&ending_->threads, count) != count) return;
        __threadfence();

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
        // Whoever comes here is the last thread of the grid: all its continuations are launched, and a tail launch comes after them.
        if (first != nullptr) {
            release(first, owned);
        } else {
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
            free(list);
            list = next;
        }
        free(blocks);
#else
        const cudaError_t code = device::detail::try_tail_launch(launch_configuration(1, 1),
                                                                 &detail::cdp_free_scratch<detail::cdp_blocks>, list, blocks);
        if (code != cudaSuccess) fail(operation::scratch, detail::launch_status(code), code);  // not lost, but not recycled
#endif
    }

    template <class Kernel, class... Args>
    __device__ status launch_grid(operation o, cudaStream_t stream, const Kernel& kernel, const shape& s, const Args&... args) {
        const unsigned depth = o == operation::then ? grid_.depth : grid_.depth + 1;
        if (check(s, most_threads<Kernel>()) != status::success) return lost(o, status::invalid_configuration, cudaSuccess, kernel_name<Kernel>(), s);
        if ((points_into_block(args) || ...)) return lost(o, status::invalid_pointer, cudaSuccess, kernel_name<Kernel>(), s);
        if (depth > grid_.run->nesting_depth) {
            return lost(o, status::nesting_depth_exceeded, cudaSuccess, kernel_name<Kernel>(), s);
        }
        detail::cdp_grid child{grid_.run, nullptr, depth, grid_record::none, grid_record::none};
        if (s.blocks.count() > 1) {
            child.blocks = static_cast<detail::cdp_blocks*>(malloc(sizeof(detail::cdp_blocks)));
            if (child.blocks == nullptr) return lost(o, status::out_of_memory, cudaSuccess, kernel_name<Kernel>(), s);
            child.blocks->running = static_cast<unsigned>(s.blocks.count());
            child.blocks->scratch = nullptr;
        }
        if (grid_.run->trace_capacity != 0) trace(o, kernel_name<Kernel>(), s, child);
        const cudaError_t code =
            device::detail::try_launch(launch_configuration(s.blocks, s.threads, s.shared_bytes), stream,
                                       &detail::cdp_entry<Kernel, Args...>, child, kernel, args...);
        if (code != cudaSuccess) {
            free(child.blocks);
            if (child.id != grid_record::none) grid_.run->trace[child.id].lost = true;
            return lost(o, detail::launch_status(code), code, kernel_name<Kernel>(), s);
        }
        atomicAdd(&grid_.run->launched, 1ull);
        return status::success;
    }

    /// Whether an argument is a pointer to memory that ends with the launching thread or its block. (Pointers inside structs are
    /// not looked at.)
    template <class Arg>
    __device__ static bool points_into_block(const Arg& argument) {
        if constexpr (std::is_pointer_v<Arg> && !std::is_function_v<std::remove_pointer_t<Arg>>) {
            return __isLocal(argument) || __isShared(argument);
        } else {
            return false;
        }
    }

    /// Reports a call that is about a child or a continuation.
    __device__ status lost(operation o, status why, cudaError_t code, text kernel, const shape& s) const {
        const unsigned depth = o == operation::then ? grid_.depth : grid_.depth + 1;
        const detail::failed_call call{o, why, code, kernel, depth, s};
        detail::add_failure(&grid_.run->failures, &call);
        return why;
    }

    /// Reports a call that is about this block.
    __device__ status fail(operation o, status why, cudaError_t code = cudaSuccess) const {
        unsigned shared_bytes;
        asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
        const detail::failed_call call{o, why, code, kernel_, grid_.depth, shape(dim_blocks(), dim_threads(), shared_bytes)};
        detail::add_failure(&grid_.run->failures, &call);
        return why;
    }

    /// Collective, for failures alone: true for one thread of the block, whichever of them have returned before.
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

    __device__ static unsigned long long hash_of(text name) {
        unsigned long long hash = 0xcbf29ce484222325ull;
#pragma unroll 1
        for (unsigned i = 0; i < name.length; ++i) hash = detail::mix(hash, static_cast<unsigned char>(name.begin[i]));
        return hash != 0 ? hash : 1;
    }

    __device__ __noinline__ void trace(operation o, text kernel, const shape& s, detail::cdp_grid& child) const {
        detail::cdp_run& run = *grid_.run;
        const unsigned long long hash = hash_of(kernel);
        for (unsigned probe = 0; probe < detail::cdp_run::names_capacity; ++probe) {
            detail::cdp_name& name = run.names[(hash + probe) % detail::cdp_run::names_capacity];
            const unsigned long long found = atomicCAS(&name.hash, 0ull, hash);
            if (found == 0) {
                name.length = kernel.length < detail::cdp_name::capacity ? kernel.length : detail::cdp_name::capacity;
#pragma unroll 1
                for (unsigned i = 0; i < name.length; ++i) name.name[i] = kernel.begin[i];
            }
            if (found == 0 || found == hash) break;
        }
        const unsigned long long place = atomicAdd(&run.traced, 1ull);
        if (place >= run.trace_capacity) return;
        child.id = static_cast<unsigned>(place);
        child.parent = o == operation::then ? grid_.parent : grid_.id;
        detail::cdp_trace_record& record = run.trace[place];
        record.name_hash = hash;
        record.parent = child.parent;
        record.continues = o == operation::then ? grid_.id : grid_record::none;
        record.depth = child.depth;
        record.lost = false;
        record.shape = s;
    }
#endif

    detail::cdp_grid grid_;
    text kernel_;
    detail::cdp_ending* ending_;
    unsigned shared_used_ = 0;  // bytes of shared memory that this thread's calls have passed
};

DYNPAR_FUNCTION inline status cdp_stream::wait(const cdp_event& event) {
#if DYNPAR_ON_DEVICE
    if (block_ == nullptr) return status::launch_failed;  // reported when it was made
    if (event.block_ == nullptr) return status::launch_failed;
    if (const cudaError_t code = cudaStreamWaitEvent(handle_, event.handle_, 0); code != cudaSuccess) {
        return block_->fail(operation::wait_event, detail::launch_status(code), code);
    }
    return status::success;
#else
    static_cast<void>(event);
    return status::not_supported;
#endif
}

DYNPAR_FUNCTION inline status cdp_event::record(const cdp_stream& stream) {
#if DYNPAR_ON_DEVICE
    if (block_ == nullptr || stream.block_ == nullptr) return status::launch_failed;  // reported when it was made
    if (const cudaError_t code = cudaEventRecord(handle_, stream.handle_); code != cudaSuccess) {
        return block_->fail(operation::record_event, detail::launch_status(code), code);
    }
    return status::success;
#else
    static_cast<void>(stream);
    return status::not_supported;
#endif
}

/// The grid behind every launch of this engine: makes the block and runs the kernel on it. The bound keeps registers few enough
/// for every block size that the kernel may have.
template <class Kernel, class... Args>
__global__ void __launch_bounds__(most_threads<Kernel>()) detail::cdp_entry(cdp_grid grid, Kernel kernel, Args... args) {
    __shared__ cdp_ending ending;
    cdp_block block(grid, kernel_name<Kernel>(), &ending);
    block.begin();
    static_cast<const Kernel&>(kernel)(block, args...);
    block.end();
}

/// Options of the device runtime engine.
struct cdp_options : engine_options {};

/// Runs kernels on the GPU's device runtime: every child is a hardware grid. About 6 microseconds a launch and a few million
/// launches a second on an H200; launches over `limits::pending_launches` are refused by the GPU, and reported here.
///
/// The limits given are set on the current device (see `apply`) when the engine is made, and stay. A malleable kernel gets the
/// most threads that its shape allows. A child grid may have at most 48 KiB of shared memory.
/// An engine runs one grid (with all that it launches) at a time, on a stream of its own.
class cdp_engine {
public:
    static constexpr const char* name = "cdp";

    /// Throws `cuda_error` if there is no usable device.
    explicit cdp_engine(const cdp_options& options = {})
        : options_(options), host_(std::make_unique<detail::cdp_host>(options)) {}

    /// Runs a grid and everything that is launched from it; returns when all is complete.
    /// Throws `launch_error` if a call in a kernel failed (above all: if a launch was lost), `kernel_fault` if a kernel broke (the
    /// CUDA context is then lost), `cuda_error`.
    template <class Kernel, class... Args>
    report run(Kernel kernel, const shape& s, Args... args) {
        report result = try_run(kernel, s, args...);
        if (result.failed_calls != 0) throw launch_error(std::move(result));
        return result;
    }

    /// The same, but calls that failed are left to the caller: they are in the report.
    template <class Kernel, class... Args>
    report try_run(Kernel kernel, const shape& s, Args... args) {
        check_kernel<cdp_block, Kernel, Args...>();
        const text kernel_text = kernel_name<Kernel>();
        if (const status why = check(s, most_threads<Kernel>()); why != status::success) return host_->refused(kernel_text, s, why, cudaSuccess);
        constexpr auto entry = &detail::cdp_entry<Kernel, Args...>;
        if (s.shared_bytes > 48 * 1024) {  // beyond it CUDA wants to be asked
            const cudaError_t code = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                          static_cast<int>(s.shared_bytes));
            if (code != cudaSuccess) return host_->refused(kernel_text, s, status::invalid_configuration, code);
        }
        const detail::cdp_grid root = host_->begin(kernel_text, s);
        entry<<<static_cast<::dim3>(s.blocks), static_cast<::dim3>(s.threads), s.shared_bytes, host_->stream()>>>(root, kernel,
                                                                                                              args...);
        if (const cudaError_t code = cudaGetLastError(); code != cudaSuccess) {
            return host_->refused(kernel_text, s, detail::launch_status(code), code);
        }
        return host_->finish();
    }

    /// Memory that kernels on this engine can reach: the current device's. Throws `cuda_error`.
    template <class T>
    buffer<T> make_buffer(std::size_t count) const {
        return buffer<T>(detail::cuda_memory(), count);
    }

    std::string device() const { return host_->device(); }
    const cdp_options& options() const { return options_; }
    /// What became of each limit that was given.
    const std::vector<limit_result>& limit_results() const { return host_->limit_results(); }

private:
    cdp_options options_;
    std::unique_ptr<detail::cdp_host> host_;
};

static_assert(detail::is_block<cdp_block>(), "the device runtime engine's block has the whole interface");

}  // namespace dynpar
