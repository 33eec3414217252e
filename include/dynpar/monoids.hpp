// What a reducer reduces with: an operation that is associative and commutative, and its identity, as a type.
//
//     struct longest {
//         using value_type = unsigned;
//         static DYNPAR_FUNCTION unsigned identity() { return 0; }
//         static DYNPAR_FUNCTION unsigned combine(unsigned a, unsigned b) { return a < b ? b : a; }
//     };
#pragma once

#include <limits>
#include <type_traits>

#include "operators.hpp"
#include "platform.hpp"

namespace dynpar {

namespace detail {

// Constants, since the standard library's functions are the host's alone.
template <class T>
inline constexpr T above_all = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                                    : std::numeric_limits<T>::max();
template <class T>
inline constexpr T below_all = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                    : std::numeric_limits<T>::lowest();

}  // namespace detail

/// a + b, from 0 on. Integers wrap around as they do in `atomic_add`.
template <class T>
struct sum {
    using value_type = T;                                          ///< of what
    static DYNPAR_FUNCTION constexpr T identity() { return T{}; }  ///< 0
    /// a + b
    static DYNPAR_FUNCTION constexpr T combine(const T& a, const T& b) {
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            using word = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<word>(static_cast<word>(a) + static_cast<word>(b)));
        } else {
            return plus{}(a, b);
        }
    }
};

/// The least number; of none the greatest that there is.
template <class T>
struct smallest {
    using value_type = T;  ///< of what
    /// The greatest number that there is, or infinity.
    static DYNPAR_FUNCTION constexpr T identity() { return detail::above_all<T>; }
    /// The smaller of the two.
    static DYNPAR_FUNCTION constexpr T combine(const T& a, const T& b) { return minimum{}(a, b); }
};

/// The greatest number; of none the least that there is.
template <class T>
struct largest {
    using value_type = T;  ///< of what
    /// The least number that there is, or minus infinity.
    static DYNPAR_FUNCTION constexpr T identity() { return detail::below_all<T>; }
    /// The greater of the two.
    static DYNPAR_FUNCTION constexpr T combine(const T& a, const T& b) { return maximum{}(a, b); }
};

/// The bits that are set in all values, from all bits on.
template <class T>
struct bits_of_all {
    using value_type = T;  ///< of what
    /// All bits.
    static DYNPAR_FUNCTION constexpr T identity() { return static_cast<T>(~T{}); }
    /// The bits that are set in both.
    static DYNPAR_FUNCTION constexpr T combine(const T& a, const T& b) { return bit_and{}(a, b); }
};

/// The bits that are set in any value, from none on.
template <class T>
struct bits_of_any {
    using value_type = T;                                          ///< of what
    static DYNPAR_FUNCTION constexpr T identity() { return T{}; }  ///< no bit
    /// The bits that are set in either.
    static DYNPAR_FUNCTION constexpr T combine(const T& a, const T& b) { return bit_or{}(a, b); }
};

/// Whether any value is true. `nested_reduce` ends with the first one that is.
struct whether_any {
    using value_type = bool;                                            ///< yes or no
    static DYNPAR_FUNCTION constexpr bool identity() { return false; }  ///< of none: no
    /// Whether either is.
    static DYNPAR_FUNCTION constexpr bool combine(bool a, bool b) { return a || b; }
    /// What a further value does not change.
    static DYNPAR_FUNCTION constexpr bool is_final(bool value) { return value; }
};

}  // namespace dynpar
