// The device's side of the log of failed device calls. Defined in src/device_log.cu: one log for the whole program.
#pragma once

#include "../device_log.hpp"
#include "../launch_configuration.hpp"
#include "../platform.hpp"

#if DYNPAR_HAS_DEVICE_LAUNCH

namespace dynpar {
namespace detail {

// Adds one failed call to the log. Not inlined, and with nothing but values as parameters: that way a call that
// succeeds pays for a comparison and nothing else.
__device__ void add_to_device_log(device_call call, cudaError_t code, const char* file, int line,
                                  const char* kernel_name, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes);

/// Logs `code` unless it is success, and hands it back.
__device__ __forceinline__ cudaError_t logged(device_call call, cudaError_t code, const launch_configuration& c) {
    if (__builtin_expect(code != cudaSuccess, 0)) {
        add_to_device_log(call, code, c.place.file, c.place.line, c.kernel_name, c.grid.x, c.grid.y, c.grid.z,
                          c.block.x, c.block.y, c.block.z, c.shared_bytes);
    }
    return code;
}

/// The same for a call that launches nothing.
__device__ __forceinline__ cudaError_t logged(device_call call, cudaError_t code, source_place place) {
    if (__builtin_expect(code != cudaSuccess, 0)) {
        add_to_device_log(call, code, place.file, place.line, nullptr, 1, 1, 1, 1, 1, 1, 0);
    }
    return code;
}

}  // namespace detail
}  // namespace dynpar

#endif
