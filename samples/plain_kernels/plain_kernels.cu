// Nested parallelism with plain `__global__` kernels: recursion, what a child sees, and two streams with an event
// between them, all by dynpar's launch helpers. The published programs, without the device-side cudaDeviceSynchronize
// that they rested on.
#include <cuda_runtime.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/limits.hpp>
#include <dynpar/stream.cuh>

#include "../command_line.hpp"

namespace {

using dynpar::launch_configuration;
namespace device = dynpar::device;

constexpr unsigned data_size = 256;     // threads of a block, and elements of the data
constexpr unsigned deepest_level = 10;  // 1024 threads can be halved ten times

// ---- Recursion: every thread greets, and each block's first thread launches one block with half the threads.

__global__ void nested_hello_world(unsigned size, unsigned depth, unsigned* greetings) {
    printf("Recursion=%u: Hello World from thread %u block %u\n", depth, threadIdx.x, blockIdx.x);
    atomicAdd(&greetings[depth], 1u);
    if (size == 1) return;
    const unsigned half = size >> 1;
    if (threadIdx.x == 0) {
        // A failure need not be looked at here: it is logged, and synchronize() on the host throws it.
        device::launch(launch_configuration(1, half).named("nested_hello_world"), nested_hello_world, half, depth + 1,
                       greetings);
        printf("-------> nested execution depth: %u\n", depth + 1);
    }
}

// ---- Visibility: a child sees what its whole parent block wrote, because the block synchronizes before the launch.

__global__ void add_one(int* data) {
    if (threadIdx.x == 0) printf("-- child kernel launched\n");
    data[threadIdx.x] = data[threadIdx.x] + 1;
    if (threadIdx.x == 0) printf("-- child kernel end\n");
}

__global__ void multiply_by_two(int* data) { data[threadIdx.x] = data[threadIdx.x] * 2; }

// What the published parent did after its cudaDeviceSynchronize(): here a grid of its own, which begins when the
// children are done.
__global__ void parent_end(const int* data, unsigned expected_factor, unsigned* wrong) {
    const int expected = static_cast<int>((threadIdx.x + 1) * expected_factor);
    if (data[threadIdx.x] != expected) atomicAdd(wrong, 1u);
    if (threadIdx.x == 0) printf("- parent kernel end\n");
}

// Launches `parent_end` for after the children that the calling thread has launched so far.
__device__ void launch_parent_end(device::stream_view last, const int* data, unsigned expected_factor,
                                  unsigned* wrong) {
    const launch_configuration c = launch_configuration(1, data_size).named("parent_end");
#if DYNPAR_OLD_DEVICE_RUNTIME
    // There is no tail launch there: in the last child's stream then.
    device::launch(last, c, parent_end, data, expected_factor, wrong);
#else
    static_cast<void>(last);
    device::tail_launch(c, parent_end, data, expected_factor, wrong);
#endif
}

__global__ void parent(int* data, unsigned* wrong) {
    if (threadIdx.x == 0) printf("- parent kernel launched\n");
    data[threadIdx.x] += static_cast<int>(threadIdx.x);
    __syncthreads();  // without it the child is promised no element but the launching thread's own
    if (threadIdx.x == 0) {
        device::launch(launch_configuration(1, data_size).named("add_one"), add_one, data);
        launch_parent_end(device::stream_view(), data, 1, wrong);
    }
}

// ---- Streams: two children in two streams, which alone might run at the same time; an event puts them in order.

__global__ void parent_of_two_streams(int* data, unsigned* wrong) {
    if (threadIdx.x == 0) printf("- parent kernel launched\n");
    data[threadIdx.x] += static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        device::stream first;
        device::stream second;
        device::event added;
        device::launch(first, launch_configuration(1, data_size).named("add_one"), add_one, data);
        added.record(first);
        second.wait(added);
        device::launch(second, launch_configuration(1, data_size).named("multiply_by_two"), multiply_by_two, data);
        launch_parent_end(second, data, 2, wrong);
    }
}

// ---- The host's side.

struct free_device_memory {
    void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
template <class T>
using device_array = std::unique_ptr<T[], free_device_memory>;

// An array of zeros in device memory.
template <class T>
device_array<T> make_zeros(std::size_t count) {
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
    device_array<T> array(static_cast<T*>(memory));
    dynpar::check(cudaMemset(memory, 0, count * sizeof(T)), "clearing device memory");
    // The sample's streams do not wait for the default stream, where the memset runs.
    dynpar::check(cudaDeviceSynchronize(), "clearing device memory");
    return array;
}

template <class T>
std::vector<T> to_host(const device_array<T>& array, std::size_t count) {
    std::vector<T> values(count);
    dynpar::check(cudaMemcpy(values.data(), array.get(), count * sizeof(T), cudaMemcpyDeviceToHost),
                  "copying a result");
    return values;
}

void run_nested_hello_world(const samples::command_line& command, const dynpar::stream& stream, unsigned blocks,
                            unsigned threads) {
    command.say("Execution Configuration: grid " + std::to_string(blocks) + " block " + std::to_string(threads));
    const auto greetings = make_zeros<unsigned>(deepest_level + 1);
    dynpar::launch(stream, launch_configuration(blocks, threads).named("nested_hello_world"), nested_hello_world,
                   threads, 0u, greetings.get());
    dynpar::synchronize(stream);

    const std::vector<unsigned> counted = to_host(greetings, deepest_level + 1);
    for (unsigned depth = 0; depth <= deepest_level; ++depth) {
        const unsigned expected = blocks * (threads >> depth);
        if (counted[depth] != expected) {
            throw samples::wrong_result(std::to_string(counted[depth]) + " greetings at nesting depth " +
                                        std::to_string(depth) + " where " + std::to_string(expected) + " are right");
        }
    }
}

using parent_kernel = void (*)(int*, unsigned*);

// Runs one of the parents; its data must end as (i + 1) * factor, for the host and for the grid that came after the
// children.
void run_parent(const samples::command_line& command, const dynpar::stream& stream, const char* name,
                parent_kernel kernel, int factor) {
    const auto data = make_zeros<int>(data_size);
    const auto wrong = make_zeros<unsigned>(1);
    command.say("host_launch called");
    dynpar::launch(stream, launch_configuration(1, data_size).named(name), kernel, data.get(), wrong.get());
    command.say("host_launch is end");
    dynpar::synchronize(stream);

    command.say("copy from device to host");
    const std::vector<int> result = to_host(data, data_size);
    std::string values;
    for (const int value : result) values += std::to_string(value) + " ";
    command.say("Data: \n" + values);
    for (unsigned i = 0; i < data_size; ++i) {
        const int expected = static_cast<int>(i + 1) * factor;
        if (result[i] != expected) {
            throw samples::wrong_result(std::string(name) + ": element " + std::to_string(i) + " is " +
                                        std::to_string(result[i]) + " where " + std::to_string(expected) + " is right");
        }
    }
    if (const unsigned unseen = to_host(wrong, 1)[0]; unseen != 0) {
        throw samples::wrong_result(std::string(name) + ": the grid after the children saw " + std::to_string(unseen) +
                                    " elements as they were before them");
    }
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "plain_kernels",
        "Plain __global__ kernels that launch kernels: a recursion, what a child sees of its parent's "
        "writes, and two streams with an event between them. Needs a GPU.");
    std::string part = "all";
    std::int64_t blocks = 1;
    std::int64_t threads = 8;
    command.add_choice("--part", part, {"all", "hello", "parent-child", "streams"}, "what to run");
    command.add_integer("--blocks", blocks, 1, 1024, "blocks of the recursion's first grid");
    command.add_integer("--threads", threads, 1, 1024, "threads of a block of the recursion's first grid");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        command.refuse_tracing();
        const dynpar::engine_choice choice = command.choose_engine(dynpar::built_engines{true, false});
        if (choice.kind != dynpar::engine_kind::cdp) {
            throw samples::input_error("plain __global__ kernels run on a GPU only; " + choice.why +
                                       "; run it on a machine with a GPU, with --engine auto or cdp");
        }
        command.say(choice.why);

        const dynpar::scoped_limits limits(command.engine_options().limits);
        for (const dynpar::limit_result& limit : limits.results()) command.say(describe(limit));

        const dynpar::stream stream;
        if (part == "all" || part == "hello") {
            run_nested_hello_world(command, stream, static_cast<unsigned>(blocks), static_cast<unsigned>(threads));
        }
        if (part == "all" || part == "parent-child") run_parent(command, stream, "parent", parent, 1);
        if (part == "all" || part == "streams")
            run_parent(command, stream, "parent_of_two_streams", parent_of_two_streams, 2);
        command.say("all right");
        return command.finish(samples::success);
    } catch (...) {
        return command.explain_exception();
    }
}
