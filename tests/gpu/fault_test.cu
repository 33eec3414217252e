// What the host learns when a plain kernel breaks. A program of its own: the fault takes the CUDA context with it.
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include <doctest/doctest.h>

#include <string>

namespace device = dynpar::device;

namespace {

__global__ void never_runs() {}

__global__ void fail_and_trap() {
    device::launch({1, 0}, never_runs);
    __threadfence();
    __trap();
}

TEST_CASE("after a kernel fault synchronize throws cuda_error: the log is lost with the device's memory") {
    const dynpar::stream stream;
    dynpar::launch(stream, {1, 1}, fail_and_trap);
    try {
        dynpar::synchronize(stream);
        FAIL("the fault went unnoticed");
    } catch (const dynpar::cuda_error& error) {
        CHECK(error.code() != cudaSuccess);
        CHECK(std::string(error.what()).find("waiting for a stream") != std::string::npos);
    }
    CHECK_THROWS_AS(dynpar::check_device_launches(), dynpar::cuda_error);
}

}  // namespace
