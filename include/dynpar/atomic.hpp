// Adding to memory to which other threads add at the same time, on any engine.
#pragma once

#include <type_traits>

#include "platform.hpp"

namespace dynpar {

/// Adds `value` to `*address` atomically and returns the old value. Other threads of the same run, of any grid, may do
/// so at the same time: no addition is lost. The order is relaxed and orders no other memory, so read the result in a
/// continuation, after `wait()`, or on the host after the run, and not earlier. `T` is an integer or floating-point
/// type of 4 or 8 bytes; integers wrap around. `address` is global memory, or on the device also shared memory. In
/// floating point the sum depends on the order of the additions, which only the host engine with one schedule promises.
template <class T>
DYNPAR_FUNCTION T atomic_add(T* address, std::common_type_t<T> value) {
    static_assert((sizeof(T) == 4 || sizeof(T) == 8) && (std::is_integral_v<T> || std::is_floating_point_v<T>),
                  "dynpar: atomic_add is for integers and floating-point numbers of 4 or 8 bytes");
#if DYNPAR_ON_DEVICE
    if constexpr (std::is_floating_point_v<T>) {
        return atomicAdd(address, value);
    } else {
        // CUDA has the two unsigned overloads; in two's complement they serve signed integers of the same size as well.
        using word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
        return static_cast<T>(atomicAdd(reinterpret_cast<word*>(address), static_cast<word>(value)));
    }
#else
    if constexpr (std::is_floating_point_v<T>) {
        T before;
        __atomic_load(address, &before, __ATOMIC_RELAXED);
        T after = before + value;
        while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            after = before + value;
        }
        return before;
    } else {
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    }
#endif
}

}  // namespace dynpar
