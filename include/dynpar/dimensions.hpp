// Three sizes or three indices, x fastest: what CUDA calls dim3, for code that must also build without CUDA.
#pragma once

#include <climits>
#include <type_traits>

#include "platform.hpp"

#if defined(__CUDACC__)
#include <vector_types.h>
#endif

namespace dynpar {

/// Three sizes (of a grid in blocks, of a block in threads) or three indices, x fastest. Sizes that are not given
/// are 1. The core builds without CUDA, so it has its own type; under nvcc it converts to and from `::dim3`. A size
/// that does not fit an unsigned (negative, or 2^32 and more) becomes UINT_MAX, which no engine accepts: the launch is
/// refused, and the size never wraps to one that looks right.
struct dimensions {
    unsigned x = 1;  ///< the fastest
    unsigned y = 1;  ///< the next
    unsigned z = 1;  ///< the slowest

    /// 1, 1, 1.
    constexpr dimensions() = default;

    // A static_assert and not a constraint in the template's head: after a constrained conversion, nvcc's device
    // compiler gives __builtin_LINE() in a later default argument a wrong value, and DYNPAR_HERE would be wrong.

    /// From one to three integers of any type. Not explicit: an integer is a size.
    template <class X, class Y = unsigned, class Z = unsigned>
    DYNPAR_FUNCTION constexpr dimensions(X x_size, Y y_size = 1, Z z_size = 1)
        : x(to_unsigned(x_size)), y(to_unsigned(y_size)), z(to_unsigned(z_size)) {
        static_assert(std::is_integral_v<X> && std::is_integral_v<Y> && std::is_integral_v<Z>,
                      "dynpar: a size is an integer");
    }

#if defined(__CUDACC__)
    /// CUDA's type, where nvcc compiles.
    DYNPAR_FUNCTION constexpr dimensions(::dim3 d) : x(d.x), y(d.y), z(d.z) {}
    /// Likewise.
    DYNPAR_FUNCTION constexpr operator ::dim3() const { return ::dim3(x, y, z); }
#endif

    /// The number of elements. 64 bits: the product of three sizes of a legal grid overflows 32.
    DYNPAR_FUNCTION constexpr unsigned long long count() const { return static_cast<unsigned long long>(x) * y * z; }

    /// The index of the element with this rank, x fastest.
    DYNPAR_FUNCTION constexpr dimensions index_of(unsigned long long rank) const {
        return dimensions(rank % x, rank / x % y, rank / x / y);
    }

    /// Whether all three are the same.
    DYNPAR_FUNCTION friend constexpr bool operator==(dimensions a, dimensions b) {
        return a.x == b.x && a.y == b.y && a.z == b.z;
    }
    /// Whether one of the three differs.
    DYNPAR_FUNCTION friend constexpr bool operator!=(dimensions a, dimensions b) { return !(a == b); }

private:
    template <class Integer>
    DYNPAR_FUNCTION static constexpr unsigned to_unsigned(Integer value) {
        if constexpr (std::is_signed_v<Integer>) {
            if (value < 0) return UINT_MAX;
        }
        if constexpr (sizeof(Integer) > sizeof(unsigned)) {
            if (static_cast<unsigned long long>(value) > UINT_MAX) return UINT_MAX;
        }
        return static_cast<unsigned>(value);
    }
};

}  // namespace dynpar
