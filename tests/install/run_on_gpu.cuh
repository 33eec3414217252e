// Runs the consumers' kernel on the engines for a GPU that the program has, or says why it cannot.
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
    int status = 0;
#if DYNPAR_HAS_DEVICE_LAUNCH
    dynpar::cdp_engine cdp;
    status |= run_halving(cdp);
#endif
    dynpar::queue_engine queue;
    status |= run_halving(queue);
    return status;
}
