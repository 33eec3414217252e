#include "../run_on_gpu.cuh"

int run_kernels() { return run_on_gpu(); }
