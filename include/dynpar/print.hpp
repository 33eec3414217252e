// printf from a kernel, on any engine.
#pragma once

#include <cstdio>

#include "platform.hpp"

namespace dynpar {

/// Prints like printf, from any thread of any engine. On a GPU the text goes through the device's printf buffer, whose
/// size is `limits::printf_bytes`: it appears when the run ends, and later text overwrites what does not fit. The block
/// parameter lets an engine know which thread prints.
template <class Block, class... Args>
DYNPAR_FUNCTION void print(const Block&, const char* format, Args... args) {
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

}  // namespace dynpar
