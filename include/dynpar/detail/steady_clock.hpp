// The time on the host, by the clock that never goes back.
#pragma once

#include <time.h>

#include <cstdint>

namespace dynpar {
namespace detail {

/// Nanoseconds by the clock of std::chrono::steady_clock, without <chrono>: each of nvcc's passes reads every header,
/// and that one is long.
inline std::int64_t steady_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

}  // namespace detail
}  // namespace dynpar
