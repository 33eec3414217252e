#include "../run_on_gpu.cuh"

int main() { return run_on_gpu(); }
