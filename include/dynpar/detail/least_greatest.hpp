// The smaller and the greater of two values, without <algorithm>: each of nvcc's passes reads every header, and that
// one is long.
#pragma once

namespace dynpar {
namespace detail {

template <class T>
constexpr T least(T a, T b) {
    return b < a ? b : a;
}
template <class T>
constexpr T greatest(T a, T b) {
    return a < b ? b : a;
}

}  // namespace detail
}  // namespace dynpar
