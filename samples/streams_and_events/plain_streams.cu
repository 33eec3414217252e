// The text's experiments with host streams and with the default stream of a block, on plain `__global__` kernels.
#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include "timeline.hpp"

namespace streams_and_events {
namespace {

using dynpar::launch_configuration;
namespace device = dynpar::device;

constexpr unsigned data_size = 256;
constexpr unsigned most_grids = 8;

struct free_device_memory {
    void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};

template <class T>
std::unique_ptr<T[], free_device_memory> make_zeros(std::size_t count) {
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
    std::unique_ptr<T[], free_device_memory> array(static_cast<T*>(memory));
    dynpar::check(cudaMemset(memory, 0, count * sizeof(T)), "clearing device memory");
    dynpar::check(cudaDeviceSynchronize(), "clearing device memory");
    return array;
}

template <class T>
std::vector<T> to_host(const T* there, std::size_t count) {
    std::vector<T> values(count);
    dynpar::check(cudaMemcpy(values.data(), there, count * sizeof(T), cudaMemcpyDeviceToHost), "copying a result");
    return values;
}

__global__ void spin(interval* where, std::uint64_t nanoseconds) { note_and_spin(where, nanoseconds); }

// ---- host streams

// A host stream as cudaStreamCreate makes it: what is in it and what is in the default stream wait for each other.
// dynpar's own streams never do.
class blocking_stream {
public:
    blocking_stream() { dynpar::check(cudaStreamCreate(&handle_), "making a stream"); }
    ~blocking_stream() { static_cast<void>(cudaStreamDestroy(handle_)); }
    blocking_stream(const blocking_stream&) = delete;
    blocking_stream& operator=(const blocking_stream&) = delete;
    operator dynpar::stream_view() const { return handle_; }

private:
    cudaStream_t handle_ = nullptr;
};

// Where the legacy default stream is meant by name: the compiler may have been told to give each thread its own.
dynpar::stream_view default_stream() { return cudaStreamLegacy; }

void launch_spin(dynpar::stream_view in, interval* where, std::uint64_t nanoseconds) {
    dynpar::launch(in, launch_configuration(1, 1).named("spin"), spin, where, nanoseconds);
}

// Runs `experiment(intervals)` twice and returns what the second noted.
template <class Experiment>
std::vector<interval> second_of_two(Experiment experiment) {
    std::vector<interval> noted;
    for (int run = 0; run < 2; ++run) {
        const auto grids = make_zeros<interval>(most_grids);
        experiment(grids.get());
        dynpar::check(cudaDeviceSynchronize(), "waiting for an experiment");
        dynpar::check_device_launches();
        noted = to_host(grids.get(), most_grids);
    }
    return noted;
}

void try_host_streams(const samples::command_line& command, std::uint64_t ns) {
    {
        const timeline t("the host: two launches without a stream", {"first", "second"},
                         second_of_two([&](interval* grids) {
                             launch_spin(default_stream(), &grids[0], ns);
                             launch_spin(default_stream(), &grids[1], ns);
                         }));
        t.require_order("first", "second");
        t.draw(command, "promised: one after the other", "first", "second");
    }
    {
        const blocking_stream s1, s2;
        const timeline t("the host: two streams", {"first", "second"}, second_of_two([&](interval* grids) {
                             launch_spin(s1, &grids[0], ns);
                             launch_spin(s2, &grids[1], ns);
                         }));
        t.draw(command, "may run together, need not", "first", "second");
    }
    {
        const blocking_stream s1, s2;
        const timeline t("the host: two streams of cudaStreamCreate, and a launch in the default stream between",
                         {"first", "default", "second"}, second_of_two([&](interval* grids) {
                             launch_spin(s1, &grids[0], ns);
                             launch_spin(default_stream(), &grids[1], ns);
                             launch_spin(s2, &grids[2], ns);
                         }));
        t.require_order("first", "default");
        t.require_order("default", "second");
        t.draw(command, "promised: one after another", "first", "second");
    }
    {
        const dynpar::stream s1, s2;
        const timeline t("the host: the same with cudaStreamNonBlocking", {"first", "default", "second"},
                         second_of_two([&](interval* grids) {
                             launch_spin(s1, &grids[0], ns);
                             launch_spin(default_stream(), &grids[1], ns);
                             launch_spin(s2, &grids[2], ns);
                         }));
        t.draw(command, "may run together, need not", "first", "second");
    }
    {
        const dynpar::stream s1, s2;
        dynpar::event first_done;
        const timeline t("the host: two streams, the second waits for an event after the first", {"first", "second"},
                         second_of_two([&](interval* grids) {
                             launch_spin(s1, &grids[0], ns);
                             first_done.record(s1);
                             s2.wait(first_done);
                             launch_spin(s2, &grids[1], ns);
                         }));
        t.require_order("first", "second");
        t.draw(command, "promised: one after the other", "first", "second");
    }
}

// ---- the text's parents that share their data

__global__ void add_one(int* data) { data[threadIdx.x] = data[threadIdx.x] + 1; }

__global__ void add_rank_and_launch(int* data) {
    data[threadIdx.x] += static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) device::launch(launch_configuration(1, data_size).named("add_one"), add_one, data);
}

// How many elements are not 2 (i + 1) after two parents.
template <class First, class Second>
unsigned wrong_elements(const First& first, const Second& second, int* data) {
    dynpar::check(cudaMemset(data, 0, data_size * sizeof(int)), "clearing device memory");
    dynpar::check(cudaDeviceSynchronize(), "clearing device memory");
    const launch_configuration one_block(1, data_size);
    dynpar::launch(first, one_block, add_rank_and_launch, data);
    dynpar::launch(second, one_block, add_rank_and_launch, data);
    dynpar::check(cudaDeviceSynchronize(), "waiting for two parents");
    dynpar::check_device_launches();
    const std::vector<int> values = to_host(data, data_size);
    unsigned wrong = 0;
    for (unsigned i = 0; i < data_size; ++i) {
        if (values[i] != 2 * (static_cast<int>(i) + 1)) ++wrong;
    }
    return wrong;
}

void try_shared_data(const samples::command_line& command) {
    const auto data = make_zeros<int>(data_size);
    const dynpar::stream s1, s2;
    constexpr int runs = 100;
    unsigned together_wrong = 0;
    for (int run = 0; run < runs; ++run) {
        if (const unsigned wrong = wrong_elements(s1, s1, data.get()); wrong != 0) {
            throw samples::wrong_result("two parents in one stream: " + std::to_string(wrong) + " elements are wrong");
        }
        if (wrong_elements(s1, s2, data.get()) != 0) ++together_wrong;
    }
    command.say("\nthe text's parents, which share their data, " + std::to_string(runs) +
                " times: in one stream right every time; in two streams, where nothing is promised, wrong " +
                std::to_string(together_wrong) + " times");
}

// ---- a parent that launches three children between two other grids (the text's figure 3)

__global__ void parent_of_three(interval* grids, std::uint64_t ns) {
    grids[1].begin = now();
    for (int i = 0; i < 3; ++i) {
        device::launch(launch_configuration(1, 1).named("spin"), spin, &grids[2 + i], ns);
    }
    grids[1].end = now();
}

void try_nesting(const samples::command_line& command, std::uint64_t ns) {
    const dynpar::stream stream;
    const timeline t("A, B and C in one host stream; B launches X, Y and Z", {"A", "B", "X", "Y", "Z", "C"},
                     second_of_two([&](interval* grids) {
                         launch_spin(stream, &grids[0], ns);
                         dynpar::launch(stream, launch_configuration(1, 1).named("B"), parent_of_three, grids, ns);
                         launch_spin(stream, &grids[5], ns);
                     }));
    t.require_order("A", "B");
    for (const char* child : {"X", "Y", "Z"}) t.require_order(child, "C");
    t.draw(command, "promised: C after B and all its children", "X", "Y");
}

// ---- the default stream of a block, and streams made in it

enum class in_kernel { default_stream, two_threads, default_between, two_blocks };

__global__ void device_parent(in_kernel what, interval* grids, std::uint64_t ns) {
    const launch_configuration one = launch_configuration(1, 1).named("spin");
    const device::stream_view block_default;
    switch (what) {
        case in_kernel::default_stream:
            if (threadIdx.x == 0) {
                device::launch(block_default, one, spin, &grids[0], ns);
                device::launch(block_default, one, spin, &grids[1], ns);
            }
            break;
        case in_kernel::two_threads:
            if (threadIdx.x == 0) device::launch(block_default, one, spin, &grids[0], ns);
            __syncthreads();  // without it, which of them comes first depends on how threads are scheduled
            if (threadIdx.x == 1) device::launch(block_default, one, spin, &grids[1], ns);
            break;
        case in_kernel::default_between:
            if (threadIdx.x == 0) {
                const device::stream s1, s2;
                device::launch(s1, one, spin, &grids[0], ns);
                device::launch(block_default, one, spin, &grids[1], ns);
                device::launch(s2, one, spin, &grids[2], ns);
            }
            break;
        case in_kernel::two_blocks:
            if (threadIdx.x == 0) {
                device::launch(block_default, one, spin, &grids[2 * blockIdx.x], ns);
                device::launch(block_default, one, spin, &grids[2 * blockIdx.x + 1], ns);
            }
            break;
    }
}

timeline run_device_parent(in_kernel what, unsigned blocks, const char* title, std::vector<std::string> names,
                           std::uint64_t ns) {
    const dynpar::stream stream;
    return timeline(title, std::move(names), second_of_two([&](interval* grids) {
                        dynpar::launch(stream, launch_configuration(blocks, 32).named("device_parent"), device_parent,
                                       what, grids, ns);
                    }));
}

// What the device runtime says to a stream without cudaStreamNonBlocking, and to two children in two such streams.
__global__ void make_default_streams(interval* grids, std::uint64_t ns, int* code) {
    cudaStream_t s1 = nullptr;
    cudaStream_t s2 = nullptr;
    *code = cudaStreamCreateWithFlags(&s1, cudaStreamDefault);
    if (*code != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return;
    }
    if (cudaStreamCreateWithFlags(&s2, cudaStreamDefault) != cudaSuccess) return;
    const launch_configuration one = launch_configuration(1, 1).named("spin");
    device::launch(device::stream_view(s1), one, spin, &grids[0], ns);
    device::launch(device::stream_view(s2), one, spin, &grids[1], ns);
    cudaStreamDestroy(s1);
    cudaStreamDestroy(s2);
}

void try_device_streams(const samples::command_line& command, std::uint64_t ns) {
    {
        const timeline t = run_device_parent(in_kernel::default_stream, 1,
                                             "a kernel: two children in its default stream", {"first", "second"}, ns);
        t.require_order("first", "second");
        t.draw(command, "promised: one after the other", "first", "second");
    }
    {
        const timeline t =
            run_device_parent(in_kernel::two_threads, 1, "a kernel: two threads of a block share its default stream",
                              {"first", "second"}, ns);
        t.require_order("first", "second");
        t.draw(command, "promised: one after the other", "first", "second");
    }
    {
        const timeline t =
            run_device_parent(in_kernel::two_blocks, 2, "a kernel of two blocks: each has a default stream of its own",
                              {"first 0", "second 0", "first 1", "second 1"}, ns);
        t.require_order("first 0", "second 0");
        t.require_order("first 1", "second 1");
        t.draw(command, "promised: one after the other in each block", "first 0", "first 1");
    }
    {
        const timeline t =
            run_device_parent(in_kernel::default_between, 1,
                              "a kernel: two non-blocking streams, and a child in the default stream between",
                              {"first", "default", "second"}, ns);
        t.draw(command, "may run together: in a kernel the default stream waits for no other", "first", "second");
    }
    const auto code = make_zeros<int>(1);
    const dynpar::stream stream;
    const std::vector<interval> grids = second_of_two([&](interval* noted) {
        dynpar::launch(stream, launch_configuration(1, 1), make_default_streams, noted, ns, code.get());
    });
    const auto told = static_cast<cudaError_t>(to_host(code.get(), 1)[0]);
    if (told == cudaSuccess) {
        const timeline t("a kernel: two streams made with cudaStreamDefault in place of cudaStreamNonBlocking",
                         {"first", "second"}, grids);
        t.draw(command, "documented as not allowed; accepted here", "first", "second");
    } else {
        command.say(std::string("\na kernel: a stream made with cudaStreamDefault: ") + cudaGetErrorName(told));
    }
}

}  // namespace

void try_plain_streams(const samples::command_line& command, std::uint64_t nanoseconds) {
    try_host_streams(command, nanoseconds);
    try_shared_data(command);
    try_nesting(command, nanoseconds);
    try_device_streams(command, nanoseconds);
}

}  // namespace streams_and_events
