// An error of an earlier CUDA call that was never fetched: it is not taken for one of what comes next, and stays
// where it was.
#include <cuda_runtime.h>

#include <cstddef>

#include <doctest/doctest.h>

#include <dynpar/dynpar.hpp>
#include <dynpar/launch.cuh>
#include <dynpar/limits.hpp>
#include <dynpar/stream.cuh>

#include "device_array.cuh"

namespace {

/// Leaves cudaErrorMemoryAllocation behind, as a program does that tries how much memory there is.
void leave_an_error() {
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, std::size_t{1} << 60) == cudaErrorMemoryAllocation);
}

struct two_levels {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, unsigned* count) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(count, 1u);
        if (levels > 0) block.launch(*this, dynpar::shape(1, 32), levels - 1, count);
    }
};

__global__ void count_plainly(unsigned* count) { atomicAdd(count, 1u); }

template <class Engine>
void run_with_a_stale_error(Engine& engine, bool leaves_it) {
    auto count = engine.template make_buffer<unsigned>(1);
    const unsigned none = 0;
    count.copy_from(&none);
    static_cast<void>(cudaGetLastError());
    leave_an_error();
    for (int run = 0; run < 2; ++run) {
        const dynpar::report report = engine.try_run(two_levels{}, dynpar::shape(1, 32), 1, count.data());
        CHECK(report.failed_calls == 0);
        CHECK(report.grids == 2);
        if (leaves_it) CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    }
    // Nor does a launch that is refused take it away.
    CHECK(engine.try_run(two_levels{}, dynpar::shape(0, 32), 1, count.data()).lost_launches == 1);
    const cudaError_t left = cudaGetLastError();
    if (leaves_it) CHECK(left == cudaErrorMemoryAllocation);
    CHECK(count.to_vector()[0] == 4);
}

TEST_CASE(
    "a run of the cdp engine is not harmed by an error that an earlier CUDA call left behind, and leaves it there") {
    dynpar::cdp_engine engine;
    run_with_a_stale_error(engine, true);
}

TEST_CASE("a run of the queue engine is not harmed by an error that an earlier CUDA call left behind") {
    dynpar::queue_engine engine;
    run_with_a_stale_error(engine, false);
}

TEST_CASE("a plain launch is not harmed by an error that an earlier CUDA call left behind, and leaves it there") {
    const testing::device_array<unsigned> count(1);
    const dynpar::stream stream;
    static_cast<void>(cudaGetLastError());
    leave_an_error();
    CHECK_NOTHROW(dynpar::launch(stream, {2, 1}, count_plainly, count.data()));
    CHECK_NOTHROW(dynpar::synchronize(stream));
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(count.value() == 2);
}

TEST_CASE("setting a limit leaves an error there that an earlier CUDA call left behind") {
    static_cast<void>(cudaGetLastError());
    const dynpar::limits before = dynpar::device_limits();
    dynpar::limits limits;
    limits.stack_bytes = *before.stack_bytes + 1024;  // this one can be set at any time
    leave_an_error();
    {
        const dynpar::scoped_limits set(limits);
        CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    }
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
}

}  // namespace
