// Streams and events, of the host and of device code: order within a stream, order by an event, and ownership.
#include <cuda_runtime.h>

#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <dynpar/device_log.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include "device_array.cuh"

namespace {

using testing::device_array;
namespace device = dynpar::device;
using counter = unsigned long long;

// ---- Types: owners move and do not copy, views are plain values, and host and device do not mix.

template <class Owner>
constexpr bool only_moves() {
    return !std::is_copy_constructible_v<Owner> && !std::is_copy_assignable_v<Owner> &&
           std::is_nothrow_move_constructible_v<Owner> && std::is_nothrow_move_assignable_v<Owner>;
}
static_assert(only_moves<dynpar::stream>() && only_moves<dynpar::event>());
static_assert(only_moves<device::stream>() && only_moves<device::event>());
static_assert(sizeof(dynpar::stream) == sizeof(cudaStream_t) && sizeof(dynpar::event) == sizeof(cudaEvent_t));

template <class View>
constexpr bool is_plain_view() {
    return std::is_trivially_copyable_v<View> && !std::is_constructible_v<View, int> &&
           !std::is_constructible_v<View, std::nullptr_t>;
}
static_assert(is_plain_view<dynpar::stream_view>() && is_plain_view<dynpar::event_view>());
static_assert(is_plain_view<device::stream_view>() && is_plain_view<device::event_view>());

static_assert(std::is_convertible_v<dynpar::stream&, dynpar::stream_view>);
static_assert(std::is_convertible_v<device::stream&, device::stream_view>);
static_assert(std::is_convertible_v<dynpar::event&, dynpar::event_view>);
static_assert(std::is_convertible_v<device::event&, device::event_view>);

template <class From, class To>
constexpr bool strangers() {
    return !std::is_constructible_v<From, To> && !std::is_constructible_v<To, From> &&
           !std::is_convertible_v<From, To> && !std::is_convertible_v<To, From>;
}
static_assert(strangers<dynpar::stream, device::stream>() && strangers<dynpar::stream_view, device::stream_view>());
static_assert(strangers<dynpar::stream, device::stream_view>() && strangers<dynpar::stream_view, device::stream>());
static_assert(strangers<dynpar::event, device::event>() && strangers<dynpar::event_view, device::event_view>());
static_assert(strangers<dynpar::event, device::event_view>() && strangers<dynpar::event_view, device::event>());

// ---- Kernels.

// Takes about 2 ms, so that work that does not wait for it comes first.
__device__ void take_a_while() {
#if __CUDA_ARCH__ >= 700
    for (unsigned i = 0; i < 200; ++i) __nanosleep(10000);
#endif
}

__global__ void write_late(int* value, int what) {
    take_a_while();
    *value = what;
}

__global__ void copy(const int* from, int* to) { *to = *from; }

__global__ void append(unsigned* length, int* list, int what) { list[atomicAdd(length, 1u)] = what; }

__global__ void child_and_late_grandchild(int* value) { device::launch({1, 1}, write_late, value, 5); }

// ---- Host.

TEST_CASE("a host stream is non-blocking and keeps the order of its launches") {
    const dynpar::stream stream;
    unsigned flags = 0;
    dynpar::check(cudaStreamGetFlags(stream.handle(), &flags), "reading a stream's flags");
    CHECK(flags == cudaStreamNonBlocking);

    const device_array<unsigned> length(1);
    const device_array<int> list(100);
    for (int i = 0; i < 100; ++i) dynpar::launch(stream, {1, 1}, append, length.data(), list.data(), i);
    dynpar::synchronize(stream);
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(list.to_vector() == expected);
}

TEST_CASE("a host stream that waits for an event runs nothing before the recorded work is complete") {
    dynpar::stream first;
    const dynpar::stream second;
    dynpar::event written;
    const device_array<int> value(1);
    const device_array<int> seen(1);
    dynpar::launch(first, {1, 1}, child_and_late_grandchild, value.data());  // nested grids belong to the work
    written.record(first);
    second.wait(written);
    dynpar::launch(second, {1, 1}, copy, value.data(), seen.data());
    dynpar::synchronize(second);
    CHECK(seen.value() == 5);
}

TEST_CASE("synchronize waits for nested grids") {
    const dynpar::stream stream;
    int seen = 0;
    const device_array<int> value(1);
    dynpar::launch(stream, {1, 1}, child_and_late_grandchild, value.data());
    dynpar::synchronize(stream);
    // In a stream of its own: a copy in the same one would wait anyway.
    const dynpar::stream other;
    dynpar::check(cudaMemcpyAsync(&seen, value.data(), sizeof seen, cudaMemcpyDeviceToHost, other.handle()), "reading");
    dynpar::check(cudaStreamSynchronize(other.handle()), "reading");
    CHECK(seen == 5);
}

TEST_CASE("work in a host stream that is destroyed still runs, and a moved stream is the same stream") {
    const device_array<int> value(1);
    {
        dynpar::stream stream;
        const cudaStream_t handle = stream.handle();
        const dynpar::stream moved = std::move(stream);
        CHECK(moved.handle() == handle);
        CHECK(stream.handle() == nullptr);
        dynpar::launch(moved, {1, 1}, write_late, value.data(), 8);
    }
    CHECK(value.value() == 8);
}

TEST_CASE("events measure time only if they were made to") {
    const dynpar::stream stream;
    const device_array<int> value(1);
    dynpar::event begin(dynpar::event_timing::on);
    dynpar::event end(dynpar::event_timing::on);
    begin.record(stream);
    dynpar::launch(stream, {1, 1}, write_late, value.data(), 1);
    end.record(stream);
    end.synchronize();
    const float milliseconds = dynpar::milliseconds_between(begin, end);
    CHECK(milliseconds > 0.5f);
    CHECK(milliseconds < 10000.0f);

    dynpar::event untimed;
    untimed.record(stream);
    untimed.synchronize();
    const unsigned line = __LINE__ + 2;
    try {
        static_cast<void>(dynpar::milliseconds_between(begin, untimed));
        FAIL("an event without timing gave a time");
    } catch (const dynpar::cuda_error& error) {
        CHECK(error.place().line == line);
    }
    CHECK(cudaPeekAtLastError() == cudaSuccess);
}

// ---- Device.

__global__ void ordered_children(unsigned children, unsigned* length, int* list) {
    device::stream stream;
    for (unsigned i = 0; i < children; ++i) device::launch(stream, {1, 1}, append, length, list, i);
}

TEST_CASE("children in one device stream run in the order of their launches") {
    const dynpar::stream stream;
    const device_array<unsigned> length(1);
    const device_array<int> list(256);
    dynpar::launch(stream, {1, 1}, ordered_children, 256u, length.data(), list.data());
    dynpar::synchronize(stream);
    std::vector<int> expected(256);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(list.to_vector() == expected);
}

__global__ void ordered_children_of_default_stream(unsigned* length, int* list) {
    for (int i = 0; i < 64; ++i) device::launch(device::stream_view(), {1, 1}, append, length, list, i);
}

TEST_CASE("children in a block's default stream run in the order of their launches") {
    const dynpar::stream stream;
    const device_array<unsigned> length(1);
    const device_array<int> list(64);
    dynpar::launch(stream, {1, 1}, ordered_children_of_default_stream, length.data(), list.data());
    dynpar::synchronize(stream);
    std::vector<int> expected(64);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(list.to_vector() == expected);
}

__global__ void event_between_streams(int* values, int* seen, counter* refused) {
    device::stream first;
    device::stream second;
    device::event written;
    device::launch(first, {1, 1}, write_late, values + blockIdx.x, static_cast<int>(blockIdx.x) + 1);
    if (written.record(first) != cudaSuccess) atomicAdd(refused, 1ull);
    if (second.wait(written) != cudaSuccess) atomicAdd(refused, 1ull);
    device::launch(second, {1, 1}, copy, values + blockIdx.x, seen + blockIdx.x);
}

TEST_CASE("a device stream that waits for an event runs nothing before the recorded work is complete") {
    const dynpar::stream stream;
    const device_array<int> values(64);
    const device_array<int> seen(64);
    const device_array<counter> refused(1);
    dynpar::launch(stream, {64, 1}, event_between_streams, values.data(), seen.data(), refused.data());
    dynpar::synchronize(stream);
    std::vector<int> expected(64);
    std::iota(expected.begin(), expected.end(), 1);
    CHECK(refused.value() == 0);
    CHECK(seen.to_vector() == expected);
}

__global__ void move_stream_and_event(int* value, int* seen) {
    device::stream made;
    device::stream stream = static_cast<device::stream&&>(made);
    device::stream other;
    other = static_cast<device::stream&&>(stream);
    stream = device::stream();  // what was moved from can be given a new stream
    device::event made_event;
    device::event written = static_cast<device::event&&>(made_event);
    device::launch(other, {1, 1}, write_late, value, 3);
    written.record(other);
    stream.wait(written);
    device::launch(stream, {1, 1}, copy, value, seen);
}

TEST_CASE("moved device streams and events keep working") {
    const dynpar::stream stream;
    const device_array<int> value(1);
    const device_array<int> seen(1);
    dynpar::launch(stream, {1, 1}, move_stream_and_event, value.data(), seen.data());
    dynpar::synchronize(stream);
    CHECK(seen.value() == 3);
}

constexpr unsigned line_of_misuse = __LINE__ + 6;
__global__ void use_what_was_moved_from(int* value, int* codes) {
    device::stream lost, there;
    device::event gone, at_hand;
    const device::stream stream = static_cast<device::stream&&>(lost);
    const device::event event = static_cast<device::event&&>(gone);
    codes[0] = device::launch(lost, {1, 1}, write_late, value, 1);  // not in the default stream instead
    codes[1] = at_hand.record(lost);
    codes[2] = gone.record(there);
    codes[3] = lost.wait(at_hand);
    codes[4] = there.wait(gone);
    codes[5] = lost.error();
    codes[6] = stream.error();
    codes[7] = event.error();
}

TEST_CASE("a device stream or event that was moved from is refused and logged with its place, and nothing runs") {
    const dynpar::stream stream;
    const device_array<int> value(1);
    const device_array<int> codes(8);
    dynpar::launch(stream, {1, 1}, use_what_was_moved_from, value.data(), codes.data());
    try {
        dynpar::synchronize(stream);
        FAIL("nothing was logged");
    } catch (const dynpar::device_launch_error& error) {
        CHECK(error.failed_calls() == 5);
        CHECK(error.lost_launches() == 1);
        using dynpar::device_call;
        const device_call calls[] = {device_call::launch, device_call::record_event, device_call::record_event,
                                     device_call::wait_event, device_call::wait_event};
        for (const dynpar::device_failure& failure : error.failures()) {
            CAPTURE(failure.line);
            REQUIRE(failure.line >= line_of_misuse);
            REQUIRE(failure.line < line_of_misuse + 5);
            CHECK(failure.call == calls[failure.line - line_of_misuse]);
            CHECK(failure.code == cudaErrorInvalidResourceHandle);
            CHECK(failure.count == 1);
        }
        CHECK(error.failures().size() == 5);
    }
    const int bad = cudaErrorInvalidResourceHandle;
    CHECK(codes.to_vector() == std::vector<int>{bad, bad, bad, bad, bad, bad, 0, 0});
    CHECK(value.value() == 0);
}

}  // namespace
