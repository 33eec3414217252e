// Limits of the device: set, read back, what they cost, and why one was refused.
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include <doctest/doctest.h>

#include <dynpar/cuda_error.hpp>
#include <dynpar/launch.cuh>
#include <dynpar/limits.hpp>
#include <dynpar/stream.cuh>

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t from_cuda(cudaLimit limit) {
    std::size_t value = 0;
    dynpar::check(cudaDeviceGetLimit(&value, limit), "reading a limit");
    return value;
}

int compute_capability_major() {
    int major = 0;
    dynpar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
                  "asking for the compute capability");
    return major;
}

TEST_CASE("the device's limits are those that CUDA tells") {
    const dynpar::limits now = dynpar::device_limits();
    CHECK(now.pending_launches == from_cuda(cudaLimitDevRuntimePendingLaunchCount));
    CHECK(now.stack_bytes == from_cuda(cudaLimitStackSize));
    CHECK(now.heap_bytes == from_cuda(cudaLimitMallocHeapSize));
    CHECK(now.printf_bytes == from_cuda(cudaLimitPrintfFifoSize));
    CHECK_FALSE(now.nesting_depth);
    if (compute_capability_major() >= 9) CHECK_FALSE(now.sync_depth);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("without a limit given nothing is done") {
    CHECK(dynpar::apply(dynpar::limits{}).empty());
    dynpar::limits only_nesting;
    only_nesting.nesting_depth = 4;  // no limit of the device
    CHECK(dynpar::apply(only_nesting).empty());
}

TEST_CASE("limits are set in the device, read back, and restored at the end of the scope") {
    const dynpar::limits before = dynpar::device_limits();
    {
        dynpar::limits wanted;
        wanted.printf_bytes = 4u << 20;
        wanted.stack_bytes = 4096;
        wanted.pending_launches = 4096;
        const dynpar::scoped_limits set(wanted);
        REQUIRE(set.results().size() == 3);
        CHECK(set.results()[0].name == "pending_launches");  // in the order of their declaration
        CHECK(set.results()[1].name == "stack_bytes");
        CHECK(set.results()[2].name == "printf_bytes");
        for (const dynpar::limit_result& result : set.results()) {
            CAPTURE(result.name);
            MESSAGE(describe(result));
            CHECK(result.refused == "");
            REQUIRE(result.got);
            CHECK(*result.got >= result.asked);
        }
        CHECK(set.results()[0].got == from_cuda(cudaLimitDevRuntimePendingLaunchCount));
    }
    const dynpar::limits after = dynpar::device_limits();
    CHECK(after.pending_launches == before.pending_launches);
    CHECK(after.stack_bytes == before.stack_bytes);
    CHECK(after.printf_bytes == before.printf_bytes);
}

TEST_CASE("the device memory that pending launches take shows") {
    dynpar::limits wanted;
    wanted.pending_launches = 65536;
    const dynpar::scoped_limits set(wanted);
    const dynpar::limit_result& result = set.results().at(0);
    MESSAGE(describe(result));
    CHECK(result.refused == "");
    CHECK(result.device_bytes > (64 << 20));  // 438 MiB on an H200 with CUDA 13.0
    CHECK(result.device_bytes < (std::ptrdiff_t{8} << 30));
    CHECK(contains(describe(result), "pending_launches: 65536 (asked 65536), "));
    CHECK(contains(describe(result), " MiB of device memory"));
}

TEST_CASE("from compute capability 9.0 the synchronization depth is refused in one sentence, and that is no error") {
    if (compute_capability_major() < 9) return;
    dynpar::limits wanted;
    wanted.sync_depth = 4;
    wanted.pending_launches = 4096;
    const dynpar::scoped_limits set(wanted);
    REQUIRE(set.results().size() == 2);
    const dynpar::limit_result& result = set.results()[0];
    MESSAGE(describe(result));
    CHECK(result.name == "sync_depth");
    CHECK(result.asked == 4);
    CHECK_FALSE(result.got);
    CHECK(result.device_bytes == 0);
    CHECK(contains(result.refused, "no synchronization depth"));
    CHECK(contains(result.refused, "wait()"));
    CHECK(result.refused.find('\n') == std::string::npos);
    CHECK(set.results()[1].refused == "");  // the others are set all the same
    CHECK(cudaPeekAtLastError() == cudaSuccess);
}

TEST_CASE("a value that the device cannot have is refused with the reason, and the limit stays") {
    const dynpar::limits before = dynpar::device_limits();
    dynpar::limits wanted;
    wanted.stack_bytes = std::size_t{1} << 40;
    const auto results = dynpar::apply(wanted);
    REQUIRE(results.size() == 1);
    MESSAGE(describe(results[0]));
    CHECK(results[0].refused != "");
    CHECK(results[0].got == before.stack_bytes);
    CHECK(contains(describe(results[0]), "not set: "));
    CHECK(dynpar::device_limits().stack_bytes == before.stack_bytes);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
}

__global__ void use_heap() { free(malloc(16)); }

TEST_CASE("a heap size that comes too late is refused with the reason, and asking for the size it has is not") {
    const dynpar::stream stream;
    dynpar::launch(stream, {1, 1}, use_heap);
    dynpar::synchronize(stream);
    const std::size_t before = from_cuda(cudaLimitMallocHeapSize);
    dynpar::limits wanted;
    wanted.heap_bytes = before;
    CHECK(dynpar::apply(wanted).at(0).refused == "");
    wanted.heap_bytes = before * 4;
    const auto results = dynpar::apply(wanted);
    REQUIRE(results.size() == 1);
    MESSAGE(describe(results[0]));
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    if (results[0].refused.empty()) {  // a driver may be kinder than the documentation
        CHECK(from_cuda(cudaLimitMallocHeapSize) >= before * 4);
    } else {
        CHECK(contains(results[0].refused, "before the first kernel"));
        CHECK(results[0].got == before);
    }
}

}  // namespace
