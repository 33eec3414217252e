#include <cuda_runtime_api.h>

#include "../run_tests.hpp"

int main(int argc, char** argv) {
    int devices = 0;
    const cudaError_t found = cudaGetDeviceCount(&devices);
    if ((found != cudaSuccess || devices == 0) && !testing::is_query(argc, argv)) {
        std::printf("skipped: no usable GPU (%s: %s)\n", cudaGetErrorName(found), cudaGetErrorString(found));
        return testing::exit_skipped;
    }
    return testing::run_tests(argc, argv);
}
