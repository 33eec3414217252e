// printf from a kernel, on any engine.
#pragma once

#include <cstdio>

#include <type_traits>

#include "platform.hpp"

namespace dynpar {

namespace detail {

template <class T>
inline constexpr bool is_printable =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T> || std::is_null_pointer_v<T>;

}  // namespace detail

/// Prints like printf, from any thread of any engine. On a GPU the text goes through the device's printf buffer, whose
/// size is `limits::printf_bytes`: it appears when the run ends, and later text overwrites what does not fit. The block
/// parameter lets an engine know which thread prints. Arguments are numbers, enumerations and pointers, as printf's
/// are; the format is not checked against them.
template <class Block, class... Args>
DYNPAR_FUNCTION void print(const Block&, const char* format, Args... args) {
    static_assert((detail::is_printable<Args> && ...),
                  "dynpar: print takes what printf takes: numbers, enumerations and pointers. Of a string pass "
                  "c_str(), on the host");
    if constexpr ((detail::is_printable<Args> && ...)) {
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
        printf(format, args...);
#if defined(__GNUC__) && !defined(__CUDACC__)
#pragma GCC diagnostic pop
#endif
    }
}

}  // namespace dynpar
