// Memory that several threads change or watch at the same time, on any engine.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "platform.hpp"

namespace dynpar {

// What holds for all functions here. Other threads of the same run, of any grid, may use the same functions on the same
// memory at the same time: nothing is lost. `address` is global memory, or in a kernel on a GPU also shared memory, and
// aligned to its size. What changes memory returns the old value, is relaxed, and orders no other memory: read the
// result in a continuation, after `wait()`, or on the host after the run, or order it with `thread_fence()`.
//
// Never wait in a loop for what another thread will write: the other may begin only when this one has returned. On the
// host engine it always does.

namespace detail {

template <class T>
inline constexpr bool is_atomic = std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                                  alignof(T) == sizeof(T);
template <class T>
inline constexpr bool is_atomic_number = std::bool_constant<is_atomic<T>>::value&& std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_atomic_integer = std::bool_constant<is_atomic<T>>::value&& std::is_integral_v<T>;

/// CUDA has overloads for these. In two's complement the unsigned ones serve for adding and for bits of signed
/// integers.
template <class T>
using atomic_word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
template <class T>
using atomic_integer =
    std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 4, int, long long>, atomic_word<T>>;

/// Room for a value that need not have a default constructor.
template <class T>
union room_for_value {
    DYNPAR_FUNCTION room_for_value() {}
    T value;
};

template <class To, class From>
DYNPAR_FUNCTION To same_bits(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    room_for_value<To> to;
    memcpy(static_cast<void*>(&to.value), &from, sizeof(To));
    return to.value;
}

/// Leaves `desired` where the bits of `expected` are; returns what was there.
template <class T>
DYNPAR_FUNCTION T compare_and_exchange(T* address, T expected, T desired) {
#if DYNPAR_ON_DEVICE
    using word = atomic_word<T>;
    return same_bits<T>(
        atomicCAS(reinterpret_cast<word*>(address), same_bits<word>(expected), same_bits<word>(desired)));
#else
    __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#endif
}

/// The value that is there now. It orders nothing.
template <class T>
DYNPAR_FUNCTION T load_relaxed(const T* address) {
#if DYNPAR_ON_DEVICE
    const atomic_word<T> value = *reinterpret_cast<const volatile atomic_word<T>*>(address);
    return same_bits<T>(value);
#else
    room_for_value<T> found;
    __atomic_load(address, &found.value, __ATOMIC_RELAXED);
    return found.value;
#endif
}

/// Replaces the value by `change(value)`, and returns the old one.
template <class T, class Change>
DYNPAR_FUNCTION T change_atomically(T* address, const Change& change) {
    using word = atomic_word<T>;
    T before = load_relaxed(address);
    for (;;) {
        const T found = compare_and_exchange(address, before, static_cast<T>(change(before)));
        if (same_bits<word>(found) == same_bits<word>(before)) return before;
        before = found;
    }
}

}  // namespace detail

/// Adds. `T` is an integer or floating-point type of 4 or 8 bytes; integers wrap around. In floating point the sum
/// depends on the order of the additions, which only the host engine promises.
template <class T>
DYNPAR_FUNCTION T atomic_add(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_number<T>,
                  "dynpar: atomic_add is for integers and floating-point numbers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    if constexpr (std::is_floating_point_v<T>) {
        return atomicAdd(address, value);
    } else {
        using word = detail::atomic_word<T>;
        return static_cast<T>(atomicAdd(reinterpret_cast<word*>(address), static_cast<word>(value)));
    }
#else
    if constexpr (std::is_floating_point_v<T>) {
        return detail::change_atomically(address, [value](T before) { return static_cast<T>(before + value); });
    } else {
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    }
#endif
}

/// Leaves the smaller of the two. `T` is an integer or floating-point type of 4 or 8 bytes. A NaN in `value` changes
/// nothing.
template <class T>
DYNPAR_FUNCTION T atomic_min(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_number<T>,
                  "dynpar: atomic_min is for integers and floating-point numbers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    if constexpr (std::is_integral_v<T>) {
        using integer = detail::atomic_integer<T>;
        return static_cast<T>(atomicMin(reinterpret_cast<integer*>(address), static_cast<integer>(value)));
    }
#endif
    return detail::change_atomically(address, [value](T before) { return value < before ? T{value} : before; });
}

/// Leaves the greater of the two. `T` is an integer or floating-point type of 4 or 8 bytes. A NaN in `value` changes
/// nothing.
template <class T>
DYNPAR_FUNCTION T atomic_max(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_number<T>,
                  "dynpar: atomic_max is for integers and floating-point numbers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    if constexpr (std::is_integral_v<T>) {
        using integer = detail::atomic_integer<T>;
        return static_cast<T>(atomicMax(reinterpret_cast<integer*>(address), static_cast<integer>(value)));
    }
#endif
    return detail::change_atomically(address, [value](T before) { return before < value ? T{value} : before; });
}

/// Leaves the bits that are set in both. `T` is an integer of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_and(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_integer<T>, "dynpar: atomic_and is for integers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicAnd(reinterpret_cast<word*>(address), static_cast<word>(value)));
#else
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
#endif
}

/// Leaves the bits that are set in either. `T` is an integer of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_or(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_integer<T>, "dynpar: atomic_or is for integers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicOr(reinterpret_cast<word*>(address), static_cast<word>(value)));
#else
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
#endif
}

/// Leaves the bits that are set in one of the two. `T` is an integer of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_xor(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic_integer<T>, "dynpar: atomic_xor is for integers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    using word = detail::atomic_word<T>;
    return static_cast<T>(atomicXor(reinterpret_cast<word*>(address), static_cast<word>(value)));
#else
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
#endif
}

/// Leaves `value`. `T` is trivially copyable, of 4 or 8 bytes, and aligned to its size: a number, a pointer, a struct
/// of two numbers that is declared `alignas(8)`.
template <class T>
DYNPAR_FUNCTION T atomic_exchange(T* address, std::common_type_t<T> value) {
    static_assert(detail::is_atomic<T>,
                  "dynpar: atomic_exchange is for trivially copyable types of 4 or 8 bytes, aligned to their size");
#if DYNPAR_ON_DEVICE
    using word = detail::atomic_word<T>;
    return detail::same_bits<T>(atomicExch(reinterpret_cast<word*>(address), detail::same_bits<word>(value)));
#else
    T before;
    __atomic_exchange(address, &value, &before, __ATOMIC_RELAXED);
    return before;
#endif
}

/// Leaves `desired` if `expected` is there, compared by its bits; it was there if the result is `expected`. `T` is
/// trivially copyable, of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_cas(T* address, std::common_type_t<T> expected, std::common_type_t<T> desired) {
    static_assert(detail::is_atomic<T>,
                  "dynpar: atomic_cas is for trivially copyable types of 4 or 8 bytes, aligned to their size");
    return detail::compare_and_exchange(address, T{expected}, T{desired});
}

/// Orders what this thread has read and written before against what it reads and writes after, for all threads of the
/// run.
DYNPAR_FUNCTION inline void thread_fence() {
#if DYNPAR_ON_DEVICE
    __threadfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/// What else a load or a store puts in order. On a GPU each but `relaxed` is a fence, which takes as long as all writes
/// before it; loads that follow one another do not overlap.
enum class memory_order {
    relaxed,  ///< nothing
    acquire,  ///< a load: the thread then sees what others wrote before the store whose value it has got
    release,  ///< a store: who gets the value by a load that acquires also sees what this thread wrote before
};

/// The value that is there now. Acquires, unless it is told to be relaxed. `T` is trivially copyable, of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_load(const T* address, memory_order order = memory_order::acquire) {
    static_assert(detail::is_atomic<T>,
                  "dynpar: atomic_load is for trivially copyable types of 4 or 8 bytes, aligned to their size");
#if DYNPAR_ON_DEVICE
    const T value = detail::load_relaxed(address);
    if (order != memory_order::relaxed) __threadfence();
    return value;
#else
    detail::room_for_value<T> found;
    if (order == memory_order::relaxed) return detail::load_relaxed(address);
    __atomic_load(address, &found.value, __ATOMIC_ACQUIRE);
    return found.value;
#endif
}

/// Writes. Releases, unless it is told to be relaxed. `T` is trivially copyable, of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION void atomic_store(T* address, std::common_type_t<T> value, memory_order order = memory_order::release) {
    static_assert(detail::is_atomic<T>,
                  "dynpar: atomic_store is for trivially copyable types of 4 or 8 bytes, aligned to their size");
#if DYNPAR_ON_DEVICE
    using word = detail::atomic_word<T>;
    if (order != memory_order::relaxed) __threadfence();
    *reinterpret_cast<volatile word*>(address) = detail::same_bits<word>(value);
#else
    if (order == memory_order::relaxed) {
        __atomic_store(address, &value, __ATOMIC_RELAXED);
    } else {
        __atomic_store(address, &value, __ATOMIC_RELEASE);
    }
#endif
}

/// Takes the next place of an array: adds 1 to `*count` and returns what was there. The same as `atomic_add(count, 1)`,
/// but the threads of a warp that come together share one addition. `T` is an integer of 4 or 8 bytes.
template <class T>
DYNPAR_FUNCTION T atomic_append(T* count) {
    static_assert(detail::is_atomic_integer<T>, "dynpar: atomic_append counts with an integer of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE && !defined(DYNPAR_SIMULATED_GPU)
    // Those that are here together and take from the same array: the lowest lane of them adds for all.
    const unsigned together = __match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(count));
    unsigned lanes_before;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_before));
    const int first = __ffs(static_cast<int>(together)) - 1;
    detail::atomic_word<T> begin = 0;
    if ((together & lanes_before) == 0) {
        begin = atomicAdd(reinterpret_cast<detail::atomic_word<T>*>(count),
                          static_cast<detail::atomic_word<T>>(__popc(together)));
    }
    begin = __shfl_sync(together, begin, first);
    return static_cast<T>(begin + static_cast<unsigned>(__popc(together & lanes_before)));
#else
    return atomic_add(count, 1);
#endif
}

}  // namespace dynpar
