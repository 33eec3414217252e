// A GPU of which this process is all there is: what CUDA C++ has beyond C++, so that g++ compiles device code for the
// CPU. Comes before every other header (`-include`).
//
// Every thread of the device is a fiber. Who goes on is drawn from a seed whenever a thread touches memory in which
// order matters: at every atomic, every load and store of memory_order.cuh, every barrier. Lanes of a warp are not in
// step. Memory is sequentially consistent: this finds faults of protocols, not missing fences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>

// Before __CUDACC__: these then declare what the host calls, and nothing for nvcc.
#include <boost/context/fiber.hpp>
#include <cuda_runtime.h>

#define DYNPAR_SIMULATED_GPU 1
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_LIST__ 900

#undef __host__
#undef __device__
#undef __global__
#undef __shared__
#undef __constant__
#undef __noinline__
#undef __forceinline__
#undef __align__
#undef __launch_bounds__
#undef __grid_constant__
#define __host__
#define __device__
#define __global__
#define __noinline__  // nothing: the standard library's headers say __attribute__((__noinline__))
#define __forceinline__ inline
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
#define __grid_constant__

namespace simulated_gpu {

struct block;
struct warp;

/// A thread of the device.
struct thread {
    uint3 index{};
    uint3 block_index{};
    dim3 block_size;
    dim3 grid_size;
    unsigned char* shared_memory = nullptr;
    unsigned lane = 0;
    warp* of_warp = nullptr;
    block* of_block = nullptr;
    void* context = nullptr;  // where it goes on
    unsigned char* stack = nullptr;
    bool ended = false;
};

/// Where each warp is a thread of the CPU (tests/queue_parts), each has its own.
#if defined(SIMULATED_GPU_REAL_THREADS)
#define SIMULATED_GPU_OF_A_WARP thread_local
#else
#define SIMULATED_GPU_OF_A_WARP
#endif
/// Who runs; null: the host. Host threads take turns, so this is one for all of them.
inline SIMULATED_GPU_OF_A_WARP thread* current = nullptr;
/// How many more times the thread that runs may pass may_switch().
inline SIMULATED_GPU_OF_A_WARP int passes_left = 0;
#undef SIMULATED_GPU_OF_A_WARP

void switch_threads();
/// Where another thread may go on.
inline void may_switch() {
    if (--passes_left <= 0) switch_threads();
}
/// The same, and not before so many nanoseconds have passed, if there is anything else to do.
void sleep(unsigned nanoseconds);

/// What a fence orders: loads before it of words that other threads have stored, and stores after it, both without an
/// order of their own. Only where warps are threads of the CPU; elsewhere every access is in order.
enum class scope : int { block, device };
#if defined(SIMULATED_GPU_REAL_THREADS)
void fence(scope among);
void will_load(const void* place);
void has_loaded(const void* place);
void will_store(const void* place);
void has_stored(const void* place);
#else
inline void fence(scope) {}
inline void will_load(const void*) {}
inline void has_loaded(const void*) {}
inline void will_store(const void*) {}
inline void has_stored(const void*) {}
#endif

void block_barrier();
bool block_barrier_or(bool says);
/// Of some warps, by number and how many threads.
void barrier_of_warps(unsigned number, unsigned threads);
unsigned cycles();
/// By the machine's only clock, which host and device share. It goes on as the device does something.
unsigned long long nanoseconds();
unsigned long long grid_number();
unsigned multiprocessor();

/// What `make` returns to one of the lanes that are here together with the same key. Those are together that come while
/// the first of them dawdles; who comes later makes another, as lanes of a GPU do that come by another way. Where warps
/// are threads of the CPU each lane makes its own.
template <class T, class Make>
T once_for_lanes(const void* key, const Make& make) {
#if defined(SIMULATED_GPU_REAL_THREADS)
    static_cast<void>(key);
    return make();
#else
    struct group {
        bool is_made = false;
        T made{};
    };
    static std::map<std::tuple<unsigned long long, const warp*, const void*>, std::shared_ptr<group>> open;
    const auto [place, is_first] = open.try_emplace({grid_number(), current->of_warp, key}, nullptr);
    if (is_first) place->second = std::make_shared<group>();
    const std::shared_ptr<group> mine = place->second;
    if (is_first) {
        const unsigned drawn = cycles() * 2654435761u >> 24;
        for (unsigned passes = drawn % 2 == 0 ? 0 : drawn; passes != 0; --passes) switch_threads();
        open.erase({grid_number(), current->of_warp, key});
        mine->made = make();
        mine->is_made = true;
    }
    while (!mine->is_made) switch_threads();
    may_switch();
    return mine->made;
#endif
}
[[noreturn]] void trap();
bool is_local(const void* place);
bool is_shared(const void* place);
/// Where in a thread's stack that is, as a GPU would count: frames of a CPU are several times as large.
std::size_t place_in_stack(const void* place);

/// A call in the source.
struct source_line {
    const char* file;
    int line;
};

// What the engine says must hold, and what it does with the pieces of its memory: at the first that is wrong the
// process ends, and says what it was and where all threads are. Not where warps are
// threads of the CPU, or a model checker is the machine.
#if defined(SIMULATED_GPU_REAL_THREADS) || defined(DYNPAR_MODEL_CHECKED)
inline void check_invariant(bool, const char*, source_line) {}
inline void note_taken(const void*) {}
inline void note_given_back(const void*) {}
inline void note_used(const void*) {}
#else
void check_invariant(bool holds, const char* what, source_line where);
void note_taken(const void* piece);
void note_given_back(const void* piece);
void note_used(const void* piece);
#endif

inline unsigned char* dynamic_shared_memory() { return current->shared_memory; }

/// The host, where it waits for memory that a grid writes: lets the device go on for a while.
void let_device_run();

// ---- What lanes do together

enum class collective : int { sync, shuffle, ballot, reduce };

/// A meeting of the lanes in a mask: what each has brought.
struct meeting {
    unsigned long long* values;  // by lane
    unsigned long long* result;  // of all
    bool is_last;                // this lane has come last, and may fill in the result: no other has gone on yet
};
meeting meet_lanes(unsigned mask, unsigned long long value, collective what, source_line where);

template <class T>
unsigned long long to_bits(const T& value) {
    static_assert(sizeof(T) <= sizeof(unsigned long long) && std::is_trivially_copyable_v<T>);
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
T from_bits(unsigned long long bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

inline unsigned ballot(unsigned mask, bool says, source_line where) {
    const meeting all = meet_lanes(mask, says, collective::ballot, where);
    if (all.is_last) {
        unsigned long long bits = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if ((mask >> lane & 1) != 0 && all.values[lane] != 0) bits |= 1ull << lane;
        }
        *all.result = bits;
    }
    return static_cast<unsigned>(*all.result);
}

template <class T, class Combine>
T reduce(unsigned mask, T value, source_line where, Combine combine) {
    const meeting all = meet_lanes(mask, to_bits(value), collective::reduce, where);
    if (all.is_last) {
        T sum{};
        bool first = true;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if ((mask >> lane & 1) == 0) continue;
            sum = first ? from_bits<T>(all.values[lane]) : combine(sum, from_bits<T>(all.values[lane]));
            first = false;
        }
        *all.result = to_bits(sum);
    }
    return from_bits<T>(*all.result);
}

// ---- Launches

struct launch_parameters {
    std::function<void()> thread_function;
    const void* kernel = nullptr;
    const std::type_info* first_parameter = nullptr;  // its type; null if the kernel has none
    unsigned blocks = 0;
    unsigned threads = 0;  // of a block
    std::size_t shared_bytes = 0;
};
cudaError_t launch(launch_parameters grid, cudaStream_t stream);

template <class... Parameters>
const std::type_info* type_of_first() {
    if constexpr (sizeof...(Parameters) == 0) {
        return nullptr;
    } else {
        return &typeid(std::tuple_element_t<0, std::tuple<Parameters...>>);
    }
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, std::size_t bytes,
                   cudaStream_t stream, const Arguments&... arguments) {
    return launch(launch_parameters{[=] { kernel(arguments...); }, reinterpret_cast<const void*>(kernel),
                                    type_of_first<Parameters...>(), blocks, threads, bytes},
                  stream);
}

// ---- The device, and how it is run

/// Which thread of a warp, and which warp, goes on.
enum class lane_order : int { drawn, in_step, free, free_ascending, free_descending };
enum class warp_order : int { drawn, uniform, starved, priorities };

/// `drawn`, or 0 for a number: drawn from the seed for each grid. At first from the environment: SIMULATED_GPU_SEED,
/// _LANES (in_step, free, free_ascending, free_descending), _WARPS (uniform, starved, priorities), _SWITCH, _STEPS,
/// _STALLED, _MULTIPROCESSORS, _THREADS, _BLOCKS, _SHARED_BYTES, _MEMORY_BYTES, _LATE, _ANY_ORDER.
struct settings {
    unsigned long long seed = 1;
    lane_order lanes = lane_order::drawn;
    warp_order warps = warp_order::drawn;
    unsigned passes_per_switch = 0;              // on average
    unsigned long long most_steps = 1000000000;  // switches of a grid
    unsigned long long most_stalled = 30000000;  // switches without progress
    unsigned multiprocessors = 2;
    unsigned threads = 2048;                          // of a multiprocessor
    unsigned blocks = 32;                             // likewise
    unsigned kernel_threads = 1024;                   // of a block, that kernels are compiled for
    std::size_t shared_bytes = 228 * 1024;            // likewise
    std::size_t memory_bytes = std::size_t{8} << 30;  // reserved, not used
    bool blocks_start_late = true;                    // some, though there is room
    bool blocks_in_any_order = false;  // else those with lower numbers first, as GPUs do and CUDA does not promise
};
settings& current_settings();
/// In one line, as variables of the environment.
std::string describe_settings();

/// What knows the program's own state in shared memory.
struct observer {
    /// The first parameter of the kernels that have such a state. Others have what they like there, or nothing.
    const std::type_info* first_parameter = nullptr;
    /// A number that changes whenever there is progress. Of a worker block's shared memory.
    unsigned long long (*progress)(const unsigned char* shared_memory, unsigned threads) = nullptr;
    /// Prints the state of a block, and of a warp.
    void (*print_block)(const unsigned char* shared_memory, unsigned threads) = nullptr;
    void (*print_warp)(const unsigned char* shared_memory, unsigned warp) = nullptr;
};
observer& the_observer();

// ---- For the CUDA runtime

/// The grid's blocks begin when there is room for them. `when_over` is called by the host thread that lets the device
/// run.
void begin_grid(launch_parameters grid, std::function<void()> when_over);
/// How many blocks a multiprocessor holds; 0 if not even one.
unsigned blocks_that_fit(unsigned threads, std::size_t shared_bytes);
/// Lets the device run until `is_over`, or for so many steps if that is not 0. False if it is not over: nothing is left
/// to run, or time is up.
bool run_device(const std::function<bool()>& is_over, unsigned long long most_steps = 0);
/// Why a grid broke, if one did: from then on all that is left can only fail.
cudaError_t device_error();

}  // namespace simulated_gpu

#define threadIdx (::simulated_gpu::current->index)
#define blockIdx (::simulated_gpu::current->block_index)
#define blockDim (::simulated_gpu::current->block_size)
#define gridDim (::simulated_gpu::current->grid_size)

// ---- Atomics. Also called by the host engine, which may have several threads. A model checker has its own.

#if !defined(DYNPAR_MODEL_CHECKED)

namespace simulated_gpu {
void lock_for_host();
void unlock_for_host();
/// One step of whoever runs.
struct atomic_step {
    const bool on_host = current == nullptr;
    atomic_step() {
        if (on_host) {
            lock_for_host();
        } else {
            may_switch();
        }
    }
    ~atomic_step() {
        if (on_host) unlock_for_host();
    }
    atomic_step(const atomic_step&) = delete;
    atomic_step& operator=(const atomic_step&) = delete;
};
}  // namespace simulated_gpu

#if defined(SIMULATED_GPU_REAL_THREADS)

namespace simulated_gpu {
/// Atomic, and in no order with anything else, as CUDA's are.
template <class T, class After>
T change_atomically(T* place, After after) {
    may_switch();
    will_store(place);
    T before = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &before, static_cast<T>(after(before)), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
    has_loaded(place);
    return before;
}
}  // namespace simulated_gpu

#define SIMULATED_GPU_ATOMIC(name, after)                                                                   \
    template <class T>                                                                                      \
    inline T name(T* place, std::common_type_t<T> value) {                                                  \
        return ::simulated_gpu::change_atomically(place, [=]([[maybe_unused]] T before) { return after; }); \
    }

#else

#define SIMULATED_GPU_ATOMIC(name, after)                         \
    template <class T>                                            \
    inline T name(T* place, std::common_type_t<T> value) {        \
        const ::simulated_gpu::atomic_step step;                  \
        const T before = *static_cast<volatile T*>(place);        \
        *static_cast<volatile T*>(place) = static_cast<T>(after); \
        return before;                                            \
    }

#endif

SIMULATED_GPU_ATOMIC(atomicAdd, before + value)
SIMULATED_GPU_ATOMIC(atomicSub, before - value)
SIMULATED_GPU_ATOMIC(atomicExch, value)
SIMULATED_GPU_ATOMIC(atomicAnd, before& value)
SIMULATED_GPU_ATOMIC(atomicOr, before | value)
SIMULATED_GPU_ATOMIC(atomicXor, before ^ value)
SIMULATED_GPU_ATOMIC(atomicMin, value < before ? value : before)
SIMULATED_GPU_ATOMIC(atomicMax, before < value ? value : before)
#undef SIMULATED_GPU_ATOMIC

template <class T>
inline T atomicCAS(T* place, std::common_type_t<T> expected, std::common_type_t<T> value) {
#if defined(SIMULATED_GPU_REAL_THREADS)
    ::simulated_gpu::may_switch();
    ::simulated_gpu::will_store(place);
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    ::simulated_gpu::has_loaded(place);
    return expected;
#else
    const ::simulated_gpu::atomic_step step;
    const T before = *static_cast<volatile T*>(place);
    if (before == expected) *static_cast<volatile T*>(place) = value;
    return before;
#endif
}

#endif  // DYNPAR_MODEL_CHECKED

// ---- Barriers, votes, shuffles. The source line stands for the instruction.

#define SIMULATED_GPU_HERE \
    ::simulated_gpu::source_line { file, line }
#define SIMULATED_GPU_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMULATED_GPU_CALLER) {
    ::simulated_gpu::meet_lanes(mask, 0, ::simulated_gpu::collective::sync, SIMULATED_GPU_HERE);
}
/// The lanes that are together: they are not in step, so each is by itself.
inline unsigned __activemask() { return 1u << threadIdx.x % 32; }
inline unsigned __ballot_sync(unsigned mask, bool says, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::ballot(mask, says, SIMULATED_GPU_HERE);
}
inline int __any_sync(unsigned mask, bool says, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::ballot(mask, says, SIMULATED_GPU_HERE) != 0;
}
inline int __all_sync(unsigned mask, bool says, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::ballot(mask, says, SIMULATED_GPU_HERE) == mask;
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, SIMULATED_GPU_CALLER) {
    using namespace ::simulated_gpu;
    const meeting all = meet_lanes(mask, to_bits(value), collective::shuffle, SIMULATED_GPU_HERE);
    return from_bits<T>(all.values[from & 31]);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int distance, SIMULATED_GPU_CALLER) {
    using namespace ::simulated_gpu;
    const meeting all = meet_lanes(mask, to_bits(value), collective::shuffle, SIMULATED_GPU_HERE);
    return from_bits<T>(all.values[(current->lane ^ static_cast<unsigned>(distance)) & 31]);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, SIMULATED_GPU_CALLER) {
    using namespace ::simulated_gpu;
    const meeting all = meet_lanes(mask, to_bits(value), collective::shuffle, SIMULATED_GPU_HERE);
    return from_bits<T>(all.values[current->lane >= distance ? current->lane - distance : current->lane]);
}
template <class T>
inline T __reduce_add_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return a < b ? b : a; });
}
template <class T>
inline T __reduce_or_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return a | b; });
}
template <class T>
inline T __reduce_and_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return a & b; });
}
template <class T>
inline T __reduce_xor_sync(unsigned mask, T value, SIMULATED_GPU_CALLER) {
    return ::simulated_gpu::reduce(mask, value, SIMULATED_GPU_HERE, [](T a, T b) { return a ^ b; });
}
#undef SIMULATED_GPU_CALLER
#undef SIMULATED_GPU_HERE

inline void __syncthreads() { ::simulated_gpu::block_barrier(); }
inline int __syncthreads_or(int says) { return ::simulated_gpu::block_barrier_or(says != 0) ? 1 : 0; }

// ---- All else

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned nanoseconds) { ::simulated_gpu::sleep(nanoseconds); }
[[noreturn]] inline void __trap() { ::simulated_gpu::trap(); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
inline int __clzll(long long value) {
    return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value));
}
template <class T>
inline T __ldcg(const T* place) {
    ::simulated_gpu::may_switch();
    return *place;
}
inline unsigned __isLocal(const void* place) { return ::simulated_gpu::is_local(place) ? 1 : 0; }
inline unsigned __isShared(const void* place) { return ::simulated_gpu::is_shared(place) ? 1 : 0; }
inline std::size_t __cvta_generic_to_local(const void* place) { return ::simulated_gpu::place_in_stack(place); }

#define SIMULATED_GPU_MIN_MAX(type)                                     \
    inline constexpr type min(type a, type b) { return b < a ? b : a; } \
    inline constexpr type max(type a, type b) { return a < b ? b : a; }
SIMULATED_GPU_MIN_MAX(int)
SIMULATED_GPU_MIN_MAX(unsigned)
SIMULATED_GPU_MIN_MAX(long)
SIMULATED_GPU_MIN_MAX(unsigned long)
SIMULATED_GPU_MIN_MAX(long long)
SIMULATED_GPU_MIN_MAX(unsigned long long)
SIMULATED_GPU_MIN_MAX(float)
SIMULATED_GPU_MIN_MAX(double)
#undef SIMULATED_GPU_MIN_MAX
