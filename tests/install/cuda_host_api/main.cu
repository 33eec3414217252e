#include <dynpar/cuda_error.hpp>
#include <dynpar/device_log.hpp>
#include <dynpar/limits.hpp>

#include <cstdio>

__global__ void own_kernel() {}

int main() {
    try {
        const dynpar::limits limits = dynpar::device_limits();
        own_kernel<<<1, 1>>>();
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        dynpar::check_device_launches();
        std::printf("pending launches: %zu\n", limits.pending_launches.value_or(0));
    } catch (const dynpar::cuda_error& e) {
        std::printf("consumer skipped: %s\n", e.what());
    }
    return 0;
}
