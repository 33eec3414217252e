// What reductions and scans combine values with. The standard library's function objects are the host's alone.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// a + b
struct plus {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a + b);
    }
};
/// a * b
struct multiplies {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a * b);
    }
};
/// The smaller; of equal ones the first.
struct minimum {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
/// The greater; of equal ones the first.
struct maximum {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};
/// a & b
struct bit_and {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a & b);
    }
};
/// a | b
struct bit_or {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a | b);
    }
};
/// a ^ b
struct bit_xor {
    template <class T>
    DYNPAR_FUNCTION constexpr T operator()(const T& a, const T& b) const {
        return static_cast<T>(a ^ b);
    }
};

}  // namespace dynpar
