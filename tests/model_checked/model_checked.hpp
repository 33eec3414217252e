// The queue engine's device code under a model checker: what CUDA C++ has beyond C++, with the checker's atomics. Comes
// before every other header (`-include`). A warp is a thread with one lane.
#pragma once

#define DYNPAR_MODEL_CHECKED 1
#include "../simulated_gpu/simulated_gpu.hpp"

#include <type_traits>

#include "checker.hpp"

namespace model_checked {

template <class T>
T load(const T& place, order how) {
    return simulated_gpu::from_bits<T>(load_bits(&place, sizeof(T), how));
}
template <class T>
void store(T& place, T value, order how) {
    store_bits(&place, sizeof(T), simulated_gpu::to_bits(value), how);
}
template <class T>
T fetch_add(T& place, T change, order how) {
    return static_cast<T>(fetch_add_bits(&place, sizeof(T), static_cast<u64>(change), how));
}
template <class T>
T exchange(T& place, T value, order how) {
    return simulated_gpu::from_bits<T>(exchange_bits(&place, sizeof(T), simulated_gpu::to_bits(value), how));
}
template <class T>
T compare_exchange(T& place, T expected, T value, order how) {
    return simulated_gpu::from_bits<T>(
        compare_exchange_bits(&place, sizeof(T), simulated_gpu::to_bits(expected), simulated_gpu::to_bits(value), how));
}
/// What the checker has no operation for: as a GPU does not, in two steps.
template <class T, class After>
T change_in_steps(T* place, After after) {
    while (true) {
        const T before = load(*place, order::relaxed);
        if (compare_exchange(*place, before, static_cast<T>(after(before)), order::relaxed) == before) return before;
    }
}

}  // namespace model_checked

template <class T>
T atomicAdd(T* place, std::common_type_t<T> value) {
    return model_checked::fetch_add(*place, value, model_checked::order::relaxed);
}
template <class T>
T atomicSub(T* place, std::common_type_t<T> value) {
    return model_checked::fetch_add(*place, static_cast<T>(T{} - value), model_checked::order::relaxed);
}
template <class T>
T atomicExch(T* place, std::common_type_t<T> value) {
    return model_checked::exchange(*place, value, model_checked::order::relaxed);
}
template <class T>
T atomicCAS(T* place, std::common_type_t<T> expected, std::common_type_t<T> value) {
    return model_checked::compare_exchange(*place, expected, value, model_checked::order::relaxed);
}
#define MODEL_CHECKED_ATOMIC(name, after)                                                 \
    template <class T>                                                                    \
    T name(T* place, std::common_type_t<T> value) {                                       \
        return model_checked::change_in_steps(place, [=](T before) { return T(after); }); \
    }
MODEL_CHECKED_ATOMIC(atomicAnd, before& value)
MODEL_CHECKED_ATOMIC(atomicOr, before | value)
MODEL_CHECKED_ATOMIC(atomicXor, before ^ value)
MODEL_CHECKED_ATOMIC(atomicMin, value < before ? value : before)
MODEL_CHECKED_ATOMIC(atomicMax, before < value ? value : before)
#undef MODEL_CHECKED_ATOMIC
