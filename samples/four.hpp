// Four numbers that a thread loads or stores at once: 16 bytes, the most that one access takes on a GPU.
#pragma once

#include <cstring>

#include <dynpar/platform.hpp>

namespace samples {

template <class T>
struct alignas(4 * sizeof(T)) four {
    T value[4];
};

/// `numbers` is aligned to four numbers.
template <class T>
DYNPAR_FUNCTION four<T> load_four(const T* numbers) {
#if DYNPAR_ON_DEVICE
    return *reinterpret_cast<const four<T>*>(numbers);
#else
    four<T> loaded;
    std::memcpy(&loaded, numbers, sizeof loaded);
    return loaded;
#endif
}

/// `numbers` is aligned to four numbers.
template <class T>
DYNPAR_FUNCTION void store_four(T* numbers, const four<T>& values) {
#if DYNPAR_ON_DEVICE
    *reinterpret_cast<four<T>*>(numbers) = values;
#else
    std::memcpy(numbers, &values, sizeof values);
#endif
}

}  // namespace samples
