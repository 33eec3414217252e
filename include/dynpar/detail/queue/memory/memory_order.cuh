// Queue engine: every load, store, atomic and fence through which threads communicate, with its memory order, and
// whatever else is not C++. The only header with PTX, volatile and fences; a simulated GPU has its own function bodies.
// No state.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "../../../platform.hpp"

// DYNPAR_SIMULATED_GPU is defined by a header that is included before all others, and that defines what CUDA C++ adds
// to C++, and the namespace simulated_gpu. The engine's device code is then C++ for a CPU, to find faults of its
// protocols without a GPU. DYNPAR_MODEL_CHECKED is defined as well where a model checker runs that code.

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

#if !defined(DYNPAR_SIMULATED_GPU)

/// A fence between what this thread has done and seen before and what it does after, for all threads of the device.
/// __threadfence() also puts all fences in one order, which takes longer and is not needed here.
__device__ inline void fence() { asm volatile("fence.acq_rel.gpu;" : : : "memory"); }

/// The same among the threads of a worker block, where it costs next to nothing.
__device__ inline void fence_in_block() { __threadfence_block(); }
/// The same for the host as well.
__device__ inline void fence_for_host() { __threadfence_system(); }

/// Reads what another thread has released. A fence would do as well, but would also wait for everything that this
/// thread has written.
__device__ inline std::uint32_t load_acquire(const std::uint32_t& place) {
    std::uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(&place) : "memory");
    return value;
}
__device__ inline unsigned long long load_acquire(const unsigned long long& place) {
    unsigned long long value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(&place) : "memory");
    return value;
}

/// Writes after everything that this thread has written, read, or seen others write.
__device__ inline void store_release(std::uint32_t& place, std::uint32_t value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(&place), "r"(value) : "memory");
}
__device__ inline void store_release(unsigned long long& place, unsigned long long value) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(&place), "l"(value) : "memory");
}

/// Adds after everything that this thread has written or seen others write, and acquires what those who added before
/// have written. Returns the old value.
__device__ inline int fetch_add_acq_rel(int& place, int change) {
    int before;
    asm volatile("atom.add.acq_rel.gpu.s32 %0, [%1], %2;" : "=r"(before) : "l"(&place), "r"(change) : "memory");
    return before;
}

/// Adds, and acquires what was released with the value found. Returns that value.
__device__ inline unsigned long long fetch_add_acquire(unsigned long long& place, unsigned long long change) {
    unsigned long long before;
    asm volatile("atom.acquire.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(&place), "l"(change) : "memory");
    return before;
}

/// Compares and exchanges after everything that this thread has written or seen others write. Returns the value found.
__device__ inline unsigned long long compare_exchange_release(unsigned long long& place, unsigned long long expected,
                                                              unsigned long long fresh) {
    unsigned long long found;
    asm volatile("atom.release.gpu.global.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(found)
                 : "l"(&place), "l"(expected), "l"(fresh)
                 : "memory");
    return found;
}

/// Four adjacent words, aligned to 32 bytes, read at once.
__device__ inline void load_four_words(const unsigned long long* place, unsigned long long (&words)[4]) {
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%4];\n\tld.volatile.global.v2.u64 {%2, %3}, [%4 + 16];"
                 : "=l"(words[0]), "=l"(words[1]), "=l"(words[2]), "=l"(words[3])
                 : "l"(place)
                 : "memory");
}

/// Reads what other threads may be writing.
template <class T>
__device__ inline T load_relaxed(const T& place) {
    return *static_cast<const volatile T*>(&place);
}
template <class T>
__device__ inline void store_relaxed(T& place, T value) {
    *static_cast<volatile T*>(&place) = value;
}

/// Past the first-level cache: memory that another multiprocessor has written.
template <class T>
__device__ inline T load_fresh(const T* place) {
    return __ldcg(place);
}

/// A barrier of some warps of a worker block, to which they may come from different places in the code. `number`: less
/// than 16; `threads`: of those warps.
__device__ inline void barrier_of_warps(unsigned number, unsigned threads) {
    asm volatile("barrier.cta.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

/// All lanes of a warp: as __syncwarp(), and they continue together. Where ptxas knows no better, and that is wherever
/// lanes have called through a pointer, it makes of __syncwarp() and of every vote and shuffle after it a test whether
/// all are there, and a second way for those who are not, after which they go on in the parts in which they came: a
/// kernel's lanes return in three or four. An instruction that is `.sync.aligned` makes them wait and then be one, and
/// ptxas knows it. This one moves a register within the warp; nobody asks where to, so only the waiting remains.
__device__ inline void sync_warp() {
#if __CUDA_ARCH__ >= 750
    asm volatile("{.reg .b32 moved; movmatrix.sync.aligned.m8n8.trans.b16 moved, %0;}" : : "r"(0));
#endif
    __syncwarp();
}

/// An address whose origin the compiler must not know. nvcc 13.0 breaks off ("Broken function found") where it asks for
/// the memory of a pointer to a struct whose elements the kernel has copied, and it knows what the pointer points to.
__device__ inline const void* opaque(const void* address) {
    asm("" : "+l"(address));
    return address;
}

/// Where this thread's stack ends now, as an address; it grows downwards.
__device__ __noinline__ inline unsigned stack_place() {
    volatile unsigned here = 0;
    return static_cast<unsigned>(__cvta_generic_to_local(const_cast<unsigned*>(&here)));
}

/// Between two accesses that are not one: where the CPU lets another thread go on, as a GPU may.
__device__ inline void between_accesses() {}

/// What `make` returns to one of the lanes that are here together with the same key. Lanes that come later, or by
/// another way, make another.
template <class T, class Make>
__device__ inline T once_for_lanes_here(const void* key, const Make& make) {
    const unsigned together = __match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(key));
    const int first = __ffs(static_cast<int>(together)) - 1;
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    T made{};
    if (static_cast<int>(lane) == first) made = make();
    return __shfl_sync(together, made, first);
}

/// The multiprocessor's clock.
__device__ inline unsigned cycles_now() {
    unsigned now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    return now;
}

#elif defined(DYNPAR_MODEL_CHECKED)

// For a model checker (tests/model_checked), which tries the values that a load may find.
__device__ inline void between_accesses() {}
template <class T, class Make>
__device__ inline T once_for_lanes_here(const void*, const Make& make) {
    return make();
}
__device__ inline void fence() { model_checked::fence(); }
__device__ inline void fence_in_block() { model_checked::fence_in_block(); }
__device__ inline void fence_for_host() { model_checked::fence(); }
template <class T>
__device__ inline T load_acquire(const T& place) {
    return model_checked::load(place, model_checked::order::acquire);
}
template <class T>
__device__ inline void store_release(T& place, T value) {
    model_checked::store(place, value, model_checked::order::release);
}
template <class T>
__device__ inline T fetch_add_acq_rel(T& place, T change) {
    return model_checked::fetch_add(place, change, model_checked::order::acq_rel);
}
__device__ inline unsigned long long fetch_add_acquire(unsigned long long& place, unsigned long long change) {
    return model_checked::fetch_add(place, change, model_checked::order::acquire);
}
__device__ inline unsigned long long compare_exchange_release(unsigned long long& place, unsigned long long expected,
                                                              unsigned long long fresh) {
    return model_checked::compare_exchange(place, expected, fresh, model_checked::order::release);
}
template <class T>
__device__ inline T load_relaxed(const T& place) {
    return model_checked::load(place, model_checked::order::relaxed);
}
template <class T>
__device__ inline void store_relaxed(T& place, T value) {
    model_checked::store(place, value, model_checked::order::relaxed);
}
__device__ inline void load_four_words(const unsigned long long* place, unsigned long long (&words)[4]) {
    for (unsigned i = 0; i < 4; ++i) words[i] = load_relaxed(place[i]);
}
template <class T>
__device__ inline T load_fresh(const T* place) {
    model_checked::reads(place, sizeof(T));
    return *place;
}
__device__ inline void barrier_of_warps(unsigned number, unsigned threads) {
    simulated_gpu::barrier_of_warps(number, threads);
}
__device__ inline void sync_warp() { __syncwarp(); }
__device__ inline const void* opaque(const void* address) { return address; }
__device__ inline unsigned stack_place() { return 0; }
__device__ inline unsigned cycles_now() { return 0; }

#else

// For a CPU: atomics of C++, with the order that the name says. Another thread may continue at may_switch(). A machine
// whose warps are real threads also wants to know what is loaded and stored without an order: that is what its fences
// order (tests/queue_parts).
__device__ inline void between_accesses() { simulated_gpu::may_switch(); }
__device__ inline void fence() {
    simulated_gpu::may_switch();
    simulated_gpu::fence(simulated_gpu::scope::device);
}
__device__ inline void fence_in_block() { simulated_gpu::fence(simulated_gpu::scope::block); }
__device__ inline void fence_for_host() { simulated_gpu::fence(simulated_gpu::scope::device); }
template <class T>
__device__ inline T load_acquire(const T& place) {
    simulated_gpu::may_switch();
    return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
}
template <class T>
__device__ inline void store_release(T& place, T value) {
    simulated_gpu::may_switch();
    __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}
template <class T>
__device__ inline T fetch_add_acq_rel(T& place, T change) {
    simulated_gpu::may_switch();
    return __atomic_fetch_add(&place, change, __ATOMIC_ACQ_REL);
}
__device__ inline unsigned long long fetch_add_acquire(unsigned long long& place, unsigned long long change) {
    simulated_gpu::may_switch();
    simulated_gpu::will_store(&place);
    return __atomic_fetch_add(&place, change, __ATOMIC_ACQUIRE);
}
__device__ inline unsigned long long compare_exchange_release(unsigned long long& place, unsigned long long expected,
                                                              unsigned long long fresh) {
    simulated_gpu::may_switch();
    __atomic_compare_exchange_n(&place, &expected, fresh, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    simulated_gpu::has_loaded(&place);
    return expected;
}
// Inlined, so that a race detector names the function that has it.
template <class T>
[[gnu::always_inline]] __device__ inline T load_relaxed(const T& place) {
    simulated_gpu::may_switch();
    simulated_gpu::will_load(&place);
    T value;
    __atomic_load(&place, &value, __ATOMIC_RELAXED);
    simulated_gpu::has_loaded(&place);
    return value;
}
template <class T>
[[gnu::always_inline]] __device__ inline void store_relaxed(T& place, T value) {
    simulated_gpu::may_switch();
    simulated_gpu::will_store(&place);
    __atomic_store(&place, &value, __ATOMIC_RELAXED);
    simulated_gpu::has_stored(&place);
}
__device__ inline void load_four_words(const unsigned long long* place, unsigned long long (&words)[4]) {
    for (unsigned i = 0; i < 4; ++i) words[i] = load_relaxed(place[i]);
}
template <class T>
__device__ inline T load_fresh(const T* place) {
    simulated_gpu::may_switch();
    return *place;
}
__device__ inline void barrier_of_warps(unsigned number, unsigned threads) {
    simulated_gpu::barrier_of_warps(number, threads);
}
__device__ inline void sync_warp() { __syncwarp(); }
__device__ inline const void* opaque(const void* address) { return address; }
__device__ __noinline__ inline unsigned stack_place() {
    volatile unsigned here = 0;
    return static_cast<unsigned>(__cvta_generic_to_local(const_cast<unsigned*>(&here)));
}
template <class T, class Make>
__device__ inline T once_for_lanes_here(const void* key, const Make& make) {
    return simulated_gpu::once_for_lanes<T>(key, make);
}
__device__ inline unsigned cycles_now() { return simulated_gpu::cycles(); }

#endif

// Atomics without an order, on device or shared memory. They return the old value. `change` need not have the type of
// the place.
template <class T>
using value_of = std::common_type_t<T>;
template <class T>
__device__ inline T fetch_add_relaxed(T& place, value_of<T> change) {
    return atomicAdd(&place, change);
}
template <class T>
__device__ inline T fetch_sub_relaxed(T& place, value_of<T> change) {
    return atomicSub(&place, change);
}
template <class T>
__device__ inline T fetch_min_relaxed(T& place, value_of<T> value) {
    return atomicMin(&place, value);
}
template <class T>
__device__ inline T fetch_max_relaxed(T& place, value_of<T> value) {
    return atomicMax(&place, value);
}
template <class T>
__device__ inline T fetch_or_relaxed(T& place, value_of<T> bits) {
    return atomicOr(&place, bits);
}
template <class T>
__device__ inline T fetch_and_relaxed(T& place, value_of<T> bits) {
    return atomicAnd(&place, bits);
}
template <class T>
__device__ inline T exchange_relaxed(T& place, value_of<T> value) {
    return atomicExch(&place, value);
}
/// Returns the value found: `expected` if it was exchanged.
template <class T>
__device__ inline T compare_exchange_relaxed(T& place, value_of<T> expected, value_of<T> value) {
    return atomicCAS(&place, expected, value);
}

/// As load_relaxed() and store_relaxed(), for shared memory that the warps of a worker block read without a lock: 32 or
/// 64 bits, which are read and written as one.
///
/// A tool that looks for races in shared memory recognises only barriers and atomics. For such a tool define
/// DYNPAR_SHOW_RACES as 1: then these are atomics, so the tool sees that they are intended. That takes twice as long.
#if !defined(DYNPAR_SHOW_RACES)
#define DYNPAR_SHOW_RACES 0
#endif
template <class T>
using word_as_large = std::conditional_t<sizeof(T) == sizeof(unsigned long long), unsigned long long, unsigned>;
template <class T>
__device__ inline T load_relaxed_in_block(T& place) {
    static_assert(sizeof(T) == sizeof(word_as_large<T>));
#if DYNPAR_SHOW_RACES
    using word = word_as_large<T>;
    return static_cast<T>(atomicOr(reinterpret_cast<word*>(&const_cast<std::remove_const_t<T>&>(place)), word{0}));
#else
    return load_relaxed(place);
#endif
}
template <class T>
__device__ inline void store_relaxed_in_block(T& place, value_of<T> value) {
    static_assert(sizeof(T) == sizeof(word_as_large<T>));
#if DYNPAR_SHOW_RACES
    using word = word_as_large<T>;
    atomicExch(reinterpret_cast<word*>(&place), static_cast<word>(value));
#else
    store_relaxed(place, value);
#endif
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
