// Runs the consumers' kernel on the device runtime engine, or says why it cannot.
#pragma once

#include <cuda_runtime_api.h>

#include "halving.hpp"

inline int run_on_gpu() {
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
        std::printf("consumer skipped: no usable GPU (%s)\n", cudaGetErrorString(found));
        return 0;
    }
    dynpar::cdp_engine engine;
    return run_halving(engine);
}
