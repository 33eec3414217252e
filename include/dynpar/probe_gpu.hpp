// Whether this machine has a GPU that can be used. Needs the CUDA runtime, as header and as library.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "engine_kind.hpp"

namespace dynpar {

/// Whether the current device can be used, its name, or the reason why not. Takes the CUDA runtime's word for it, and
/// leaves no error behind.
inline gpu_state probe_gpu() {
    const auto unusable = [](cudaError_t code, const char* what) {
        static_cast<void>(cudaGetLastError());  // no later call shall report it again
        gpu_state gpu;
        gpu.why_not = std::string(what) + " (" + cudaGetErrorName(code) + ": " + cudaGetErrorString(code) + ")";
        return gpu;
    };
    int count = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess)
        return unusable(code, code == cudaErrorNoDevice ? "no CUDA device was found" : "no CUDA device can be used");
    if (count == 0) return unusable(cudaErrorNoDevice, "no CUDA device was found");
    int device = 0;
    if (const cudaError_t code = cudaGetDevice(&device); code != cudaSuccess)
        return unusable(code, "no CUDA device can be used");
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, device); code != cudaSuccess)
        return unusable(code, "no CUDA device can be used");
    gpu_state gpu;
    gpu.usable = true;
    gpu.name = properties.name;
    return gpu;
}

}  // namespace dynpar
