// Launch helpers for plain kernels: every launch runs exactly once or is reported, with its place.
#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <dynpar/device_log.hpp>
#include <dynpar/launch.cuh>
#include <dynpar/limits.hpp>
#include <dynpar/stream.cuh>

#include "device_array.cuh"

namespace {

using dynpar::launch_configuration;
using testing::device_array;
namespace device = dynpar::device;
using counter = unsigned long long;

__global__ void count(counter* ran) {
    if (threadIdx.x == 0) atomicAdd(ran, 1ull);
}

__global__ void old_device_runtime(int* yes) { *yes = DYNPAR_OLD_DEVICE_RUNTIME; }

// Whether device code here was compiled for the old device runtime; only the device side of the compilation knows.
bool has_old_device_runtime() {
    const device_array<int> yes(1);
    dynpar::launch(dynpar::stream_view(), {1, 1}, old_device_runtime, yes.data());
    return yes.value() != 0;
}

// Waits, and returns the failures that device code logged; nothing if it logged none.
std::optional<dynpar::device_launch_error> failures_of(const dynpar::stream& stream) {
    try {
        dynpar::synchronize(stream);
        return std::nullopt;
    } catch (const dynpar::device_launch_error& error) {
        return error;
    }
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string what_of(const dynpar::stream& stream) {
    const auto error = failures_of(stream);
    return error ? error->what() : "";
}

// ---- From the host.

__global__ void store(double* results, float a, unsigned char b, long long c) {
    results[0] = a;
    results[1] = b;
    results[2] = static_cast<double>(c);
}

TEST_CASE("a host launch converts its arguments to the kernel's parameter types") {
    const dynpar::stream stream;
    const device_array<double> results(3);
    dynpar::launch(stream, {1, 1}, store, results.data(), 3, 200, -7);  // ints, for float, unsigned char and long long
    dynpar::synchronize(stream);
    CHECK(results.to_vector() == std::vector<double>{3.0, 200.0, -7.0});
}

__global__ void fill_shared(unsigned* bytes) {
    extern __shared__ unsigned char memory[];
    memory[threadIdx.x] = 1;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(*bytes));
}

TEST_CASE("a host launch has the grid, block and shared memory of its configuration") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    dynpar::launch(stream, {{3, 2, 2}, {4, 4, 2}}, count, ran.data());
    dynpar::synchronize(stream);
    CHECK(ran.value() == 12 * 8);  // 12 blocks, 4 * 2 threads of each with threadIdx.x 0
    const device_array<unsigned> bytes(1);
    dynpar::launch(stream, {1, 32, 1024}, fill_shared, bytes.data());
    dynpar::synchronize(stream);
    CHECK(bytes.value() == 1024);
}

TEST_CASE("a host launch that CUDA refuses throws code, name and place, and leaves no error behind") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    for (const unsigned threads : {0u, 1025u}) {
        CAPTURE(threads);
        const unsigned line = __LINE__ + 2;
        try {
            dynpar::launch(stream, launch_configuration(1, threads).named("count"), count, ran.data());
            FAIL("the launch was accepted");
        } catch (const dynpar::cuda_error& error) {
            CHECK((error.code() == cudaErrorInvalidConfiguration || error.code() == cudaErrorInvalidValue));
            CHECK(error.place().line == line);
            CHECK(contains(error.place().file, "launch_test.cu"));
            const std::string what = error.what();
            CHECK(contains(what, "launch_test.cu:" + std::to_string(line) + ": "));
            CHECK(contains(what, "launch of count <<<1, " + std::to_string(threads) + ">>>"));
            CHECK(contains(what, error.name()));
            CHECK(what.find('\n') == std::string::npos);
        }
        CHECK(cudaPeekAtLastError() == cudaSuccess);
    }
    const unsigned too_much_shared = 1 << 20;
    CHECK_THROWS_AS(dynpar::launch(stream, {1, 32, too_much_shared}, count, ran.data()), dynpar::cuda_error);
    dynpar::synchronize(stream);
    CHECK(ran.value() == 0);
}

// ---- From device code.

__global__ void launch_one_from_each_block(counter* ran) {
    if (threadIdx.x == 0) device::launch({1, 32}, count, ran);
}

TEST_CASE("device launches run once each, and a run without failures throws nothing") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    dynpar::launch(stream, {512, 64}, launch_one_from_each_block, ran.data());
    CHECK_NOTHROW(dynpar::synchronize(stream));
    CHECK(ran.value() == 512);
}

__global__ void device_convert(double* results) { device::launch({1, 1}, store, results, 3, 200, -7); }

TEST_CASE("a device launch converts its arguments to the kernel's parameter types") {
    const dynpar::stream stream;
    const device_array<double> results(3);
    dynpar::launch(stream, {1, 1}, device_convert, results.data());
    dynpar::synchronize(stream);
    CHECK(results.to_vector() == std::vector<double>{3.0, 200.0, -7.0});
}

constexpr unsigned line_without_threads = __LINE__ + 2;
__global__ void launch_without_threads(counter* ran, counter* returned) {
    const cudaError_t code = device::launch(launch_configuration(1, 0).named("count"), count, ran);
    if (code == cudaErrorInvalidConfiguration) atomicAdd(returned, 1ull);
}

TEST_CASE("a device launch of 0 threads is returned and logged with its place, exactly as often as it happened") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    const device_array<counter> returned(1);
    dynpar::launch(stream, {5, 100}, launch_without_threads, ran.data(), returned.data());
    const auto error = failures_of(stream);
    CHECK(ran.value() == 0);
    CHECK(returned.value() == 500);
    REQUIRE(error);
    CHECK(error->failed_calls() == 500);
    CHECK(error->lost_launches() == 500);
    REQUIRE(error->failures().size() == 1);
    const dynpar::device_failure& failure = error->failures()[0];
    CHECK(failure.call == dynpar::device_call::launch);
    CHECK(failure.code == cudaErrorInvalidConfiguration);
    CHECK(contains(failure.file, "launch_test.cu"));
    CHECK(failure.line == line_without_threads);
    CHECK(failure.kernel == "count");
    CHECK(failure.first_shape == dynpar::shape(1, 0));
    CHECK(failure.count == 500);
    const std::string what = error->what();
    CHECK(contains(what, "500 x launch of count <<<1, 0>>> at "));
    CHECK(contains(what, "launch_test.cu:" + std::to_string(line_without_threads)));
    CHECK(contains(what, "cudaErrorInvalidConfiguration (9)"));
    CHECK(contains(what, "1 to 1024 threads"));
}

TEST_CASE("a failure is thrown once, and a later failure of the same kind again") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    const device_array<counter> returned(1);
    for (const unsigned threads : {3u, 4u}) {
        dynpar::launch(stream, {1, threads}, launch_without_threads, ran.data(), returned.data());
        const auto error = failures_of(stream);
        REQUIRE(error);
        CHECK(error->failed_calls() == threads);
        CHECK_NOTHROW(dynpar::synchronize(stream));
        CHECK_NOTHROW(dynpar::check_device_launches());
    }
}

TEST_CASE("check_device_launches throws what synchronize would") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    const device_array<counter> returned(1);
    dynpar::launch(stream, {1, 6}, launch_without_threads, ran.data(), returned.data());
    dynpar::check(cudaStreamSynchronize(stream.handle()), "waiting");
    CHECK_THROWS_AS(dynpar::check_device_launches(), dynpar::device_launch_error);
    CHECK_NOTHROW(dynpar::synchronize(stream));
}

constexpr unsigned line_of_kinds = __LINE__ + 2;
__global__ void fail_in_four_ways(counter* ran) {
    device::launch(launch_configuration(1, 0).named("first"), count, ran);
    device::launch(launch_configuration(1, 0).named("second"), count, ran);
    for (unsigned i = 0; i < 2; ++i) device::launch(launch_configuration(1, 0).named(i ? "b" : "a"), count, ran);
}

TEST_CASE("failures are told apart by place and by kernel name") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    dynpar::launch(stream, {2, 3}, fail_in_four_ways, ran.data());
    const auto error = failures_of(stream);
    REQUIRE(error);
    CHECK(error->failed_calls() == 24);
    REQUIRE(error->failures().size() == 4);
    for (const dynpar::device_failure& failure : error->failures()) {
        CAPTURE(failure.kernel);
        CHECK(failure.count == 6);
        const unsigned expected = failure.kernel == "first" ? 0 : failure.kernel == "second" ? 1 : 2;
        CHECK(failure.line == line_of_kinds + expected);
    }
}

// ---- The pending limit.

// Counts nothing and ends only once it is let go, after 20 seconds at the latest.
__global__ void wait_for(int* go) {
    for (unsigned i = 0; i < 20u * 1000 * 1000 && atomicAdd(go, 0) == 0; ++i) {
#if __CUDA_ARCH__ >= 700
        __nanosleep(1000);
#endif
    }
}

// All children but the first are pending until the last launch, because they are in the first one's stream.
__global__ void launch_behind_a_closed_gate(unsigned children, int* go, counter* ran, counter* refused) {
    device::stream line;
    device::launch(line, {1, 1}, wait_for, go);
    for (unsigned i = 0; i < children; ++i) {
        const cudaError_t code = device::launch(line, launch_configuration(1, 32).named("count"), count, ran);
        if (code != cudaSuccess) atomicAdd(refused, 1ull);
    }
    atomicExch(go, 1);
}

TEST_CASE("launches over the pending limit are reported: what ran and what was lost is what was asked for") {
    std::optional<dynpar::scoped_limits> lowered;
    SUBCASE("the device's own limit") {}
    SUBCASE("a lower limit") {
        dynpar::limits wanted;
        wanted.pending_launches = 64;
        lowered.emplace(wanted);
        MESSAGE(describe(lowered->results()[0]));
    }
    const std::size_t limit = *dynpar::device_limits().pending_launches;
    const unsigned asked = static_cast<unsigned>(limit) + 4096;
    const dynpar::stream stream;
    const device_array<int> go(1);
    const device_array<counter> ran(1);
    const device_array<counter> refused(1);
    dynpar::launch(stream, {1, 1}, launch_behind_a_closed_gate, asked, go.data(), ran.data(), refused.data());
    const auto error = failures_of(stream);
    REQUIRE(error);
    MESSAGE("limit " << limit << ", asked " << asked << ", ran " << ran.value() << ", lost " << error->lost_launches());
    CHECK(error->lost_launches() > 0);
    CHECK(error->lost_launches() == refused.value());
    CHECK(ran.value() + error->lost_launches() == asked);
    CHECK(error->pending_limit() == limit);
    REQUIRE(error->failures().size() == 1);
    CHECK(error->failures()[0].code == cudaErrorLaunchPendingCountExceeded);
    CHECK(contains(error->what(), "the limit in force is " + std::to_string(limit)));
    CHECK(contains(error->what(), "pending_launches"));
}

__global__ void launch_many_from_each_block(unsigned children, counter* ran) {
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < children; ++i) device::launch({1, 32}, count, ran);
    }
}

TEST_CASE("launches from many blocks at once: what ran and what was lost is what was asked for") {
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    dynpar::launch(stream, {16384, 32}, launch_many_from_each_block, 4u, ran.data());
    const auto error = failures_of(stream);
    const std::uint64_t lost = error ? error->lost_launches() : 0;
    MESSAGE("ran " << ran.value() << ", lost " << lost);
    CHECK(ran.value() + lost == 4u * 16384);
}

// ---- Tail launches.

// Late enough that a continuation which does not wait for it would come first.
__global__ void add_late(counter* sum) {
#if __CUDA_ARCH__ >= 700
    for (unsigned i = 0; i < 200; ++i) __nanosleep(10000);
#endif
    atomicAdd(sum, 1ull);
}

__global__ void launch_late_child(counter* sum) { device::launch({1, 1}, add_late, sum); }

__global__ void copy(const counter* from, counter* to) { *to = *from; }

__global__ void tail_after_children(counter* sum, counter* seen) {
    // The tail launch comes first in the text: it is the grid's end that counts, not the order of the calls.
    if (blockIdx.x == 0 && threadIdx.x == 0) device::tail_launch({1, 1}, copy, sum, seen);
    if (threadIdx.x == 0) device::launch({1, 1}, launch_late_child, sum);
}

TEST_CASE("a tail launch begins after its grid and all descendants, and sees what they wrote") {
    if (has_old_device_runtime()) return;
    const dynpar::stream stream;
    const device_array<counter> sum(1);
    const device_array<counter> seen(1);
    dynpar::launch(stream, {64, 32}, tail_after_children, sum.data(), seen.data());
    dynpar::synchronize(stream);
    CHECK(sum.value() == 64);
    CHECK(seen.value() == 64);
}

__global__ void append(counter* digits, unsigned digit) { *digits = *digits * 10 + digit; }

__global__ void three_tails(counter* digits) {
    for (unsigned digit = 1; digit <= 3; ++digit) device::tail_launch({1, 1}, append, digits, digit);
}

TEST_CASE("tail launches of one grid run one after another in the order of the calls") {
    if (has_old_device_runtime()) return;
    const dynpar::stream stream;
    const device_array<counter> digits(1);
    dynpar::launch(stream, {1, 1}, three_tails, digits.data());
    dynpar::synchronize(stream);
    CHECK(digits.value() == 123);
}

__global__ void tail_once(counter* ran, int* code) {
    *code = static_cast<int>(device::tail_launch(launch_configuration(1, 1).named("count"), count, ran));
}

TEST_CASE("on the old device runtime a tail launch is refused and logged") {
    if (!has_old_device_runtime()) return;
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    const device_array<int> code(1);
    dynpar::launch(stream, {1, 1}, tail_once, ran.data(), code.data());
    CHECK(contains(what_of(stream), "1 x tail launch of count <<<1, 1>>>"));
    CHECK(code.value() == cudaErrorNotSupported);
    CHECK(ran.value() == 0);
}

// ---- The log itself.

constexpr unsigned many_kinds = 200;
__device__ char names[many_kinds][4];

__global__ void fail_in_many_ways(counter* ran) {
    for (unsigned i = 0; i < many_kinds; ++i) {
        names[i][0] = static_cast<char>('0' + i / 100);
        names[i][1] = static_cast<char>('0' + i / 10 % 10);
        names[i][2] = static_cast<char>('0' + i % 10);
        device::launch(launch_configuration(1, 0).named(names[i]), count, ran);
    }
}

TEST_CASE("more kinds of failure than the log has room for are still counted, and a device reset empties the log") {
    {
        const dynpar::stream stream;
        const device_array<counter> ran(1);
        dynpar::launch(stream, {1, 1}, fail_in_many_ways, ran.data());
        const auto error = failures_of(stream);
        REQUIRE(error);
        CHECK(error->failed_calls() == many_kinds);
        CHECK(error->lost_launches() == many_kinds);
        std::uint64_t listed = 0;
        for (const dynpar::device_failure& failure : error->failures()) listed += failure.count;
        CHECK(listed == error->failures().size());
        CHECK(listed <= 128);
        CHECK(contains(error->what(), "and " + std::to_string(many_kinds - listed) + " more of further kinds"));
    }
    dynpar::check(cudaDeviceReset(), "resetting the device");
    const dynpar::stream stream;
    const device_array<counter> ran(1);
    CHECK_NOTHROW(dynpar::synchronize(stream));
    dynpar::launch(stream, {1, 1}, fail_in_four_ways, ran.data());
    const auto error = failures_of(stream);
    REQUIRE(error);
    CHECK(error->failures().size() == 4);
    CHECK(error->failed_calls() == 4);
}

}  // namespace
