// How long a multiply-add and a load take, how many of them a GPU finishes, and hence how many must be under way at
// once: the texts' table after Little's law, measured.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include "../command_line.hpp"
#include "../flat_run.hpp"

namespace {

using dynpar::launch_configuration;

constexpr unsigned line_bytes = 128;  // each load in a line of its own
constexpr unsigned line_words = line_bytes / sizeof(unsigned);

/// What a kernel measures of itself.
struct measurement {
    long long cycles = 0;
    std::uint64_t nanoseconds = 0;
    float result = 0;  ///< so that the compiler keeps what was computed
};

__device__ std::uint64_t global_timer() {
    std::uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

/// Multiply-adds that wait for one another, in `Chains` independent chains.
template <unsigned Chains>
__global__ void multiply_add(unsigned steps, float a, float b, measurement* out) {
    float x[Chains];
    for (unsigned c = 0; c < Chains; ++c) x[c] = static_cast<float>(threadIdx.x + c);
    __syncthreads();
    const std::uint64_t begin_ns = global_timer();
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < steps; i += 16) {
#pragma unroll
        for (unsigned k = 0; k < 16; ++k) {
#pragma unroll
            for (unsigned c = 0; c < Chains; ++c) x[c] = fmaf(x[c], a, b);
        }
    }
    __syncthreads();
    const long long end = clock64();
    const std::uint64_t end_ns = global_timer();
    float sum = 0;
    for (unsigned c = 0; c < Chains; ++c) sum += x[c];
    if (threadIdx.x == 0 && blockIdx.x == 0) *out = {end - begin, end_ns - begin_ns, sum};
    if (sum == 12345.678f) out[0].result = sum;  // never; but the compiler cannot know
}

/// Makes a ring of all lines: the word at the head of each is the next one's place. By a linear congruential generator
/// of full period, so that each line comes once.
__global__ void make_ring(unsigned* words, unsigned lines) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x) {
        words[std::size_t{i} * line_words] = (i * 1664525u + 1013904223u) & (lines - 1);
    }
}

/// Follows the ring: each load needs the one before.
__global__ void follow_ring(const unsigned* words, unsigned start, unsigned warm_steps, unsigned steps,
                            measurement* out) {
    unsigned place = start;
    for (unsigned i = 0; i < warm_steps; ++i) place = words[std::size_t{place} * line_words];
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < steps; ++i) place = words[std::size_t{place} * line_words];
    // The clock must not be read before the last load has come.
    const long long end = place == 0xffffffffu ? 0 : clock64();
    *out = {end - begin, 0, static_cast<float>(place)};
}

__global__ void follow_ring_in_shared(unsigned steps, measurement* out) {
    __shared__ unsigned words[1024];
    for (unsigned i = 0; i < 1024; ++i) words[i] = (i * 5 + 1) % 1024;
    unsigned place = 0;
    const long long begin = clock64();
#pragma unroll 1
    for (unsigned i = 0; i < steps; ++i) place = words[place];
    const long long end = place == 0xffffffffu ? 0 : clock64();
    *out = {end - begin, 0, static_cast<float>(place)};
}

struct free_device_memory {
    void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
template <class T>
using device_array = std::unique_ptr<T[], free_device_memory>;

template <class T>
device_array<T> allocate(std::size_t count) {
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
    return device_array<T>(static_cast<T*>(memory));
}

/// Calls `launch(run, where)` three times, which launches a kernel that measures itself; the fastest by the
/// multiprocessor's clock.
template <class Launch>
measurement fastest_of_three(const dynpar::stream& stream, Launch launch) {
    const auto out = allocate<measurement>(1);
    measurement best;
    for (unsigned run = 0; run < 3; ++run) {
        launch(run, out.get());
        dynpar::synchronize(stream);
        measurement m;
        dynpar::check(cudaMemcpy(&m, out.get(), sizeof m, cudaMemcpyDeviceToHost), "copying a measurement");
        if (run == 0 || m.cycles < best.cycles) best = m;
    }
    return best;
}

/// Cycles of a load where `bytes` are gone through in random order.
double load_cycles(const dynpar::stream& stream, std::size_t bytes, unsigned warm_steps, unsigned steps) {
    const auto lines = static_cast<unsigned>(bytes / line_bytes);
    const auto words = allocate<unsigned>(std::size_t{lines} * line_words);
    dynpar::launch(stream, launch_configuration(1024, 256).named("make_ring"), make_ring, words.get(), lines);
    const measurement m = fastest_of_three(stream, [&](unsigned run, measurement* out) {
        // Each run begins elsewhere on the ring: what one has read shall not be in the cache for the next.
        dynpar::launch(stream, launch_configuration(1, 1).named("follow_ring"), follow_ring, words.get(),
                       run * (lines / 3), warm_steps, steps, out);
    });
    return static_cast<double>(m.cycles) / steps;
}

int attribute(cudaDeviceAttr which) {
    int device = 0;
    int value = 0;
    dynpar::check(cudaGetDevice(&device), "asking for the device");
    dynpar::check(cudaDeviceGetAttribute(&value, which, device), "asking for an attribute of the device");
    return value;
}

void measure(const samples::command_line& command, std::size_t far_bytes) {
    const dynpar::stream stream;
    const auto say = [&](const char* what, double value, const char* unit) {
        char line[160];
        std::snprintf(line, sizeof line, "%-52s %12.1f %s", what, value, unit);
        command.say(line);
    };

    constexpr unsigned steps = 1 << 14;
    const auto multiply = [&](auto kernel, unsigned threads, unsigned how_many) {
        return fastest_of_three(stream, [&](unsigned, measurement* out) {
            dynpar::launch(stream, launch_configuration(1, threads).named("multiply_add"), kernel, how_many, 0.5f, 1.0f,
                           out);
        });
    };
    const measurement chain = multiply(multiply_add<1>, 32, steps);
    const double add_cycles = static_cast<double>(chain.cycles) / steps;
    // The clock: cycles over time, of a run long enough for the timer's steps.
    const measurement full = multiply(multiply_add<4>, 1024, 16 * steps);
    const double per_cycle = 4.0 * 16 * steps * 1024 / static_cast<double>(full.cycles);
    const double gigahertz = static_cast<double>(full.cycles) / static_cast<double>(full.nanoseconds);
    const measurement shared_ring = fastest_of_three(stream, [&](unsigned, measurement* out) {
        dynpar::launch(stream, launch_configuration(1, 1).named("follow_ring_in_shared"), follow_ring_in_shared, steps,
                       out);
    });
    const double shared_cycles = static_cast<double>(shared_ring.cycles) / steps;
    const double l1_cycles = load_cycles(stream, 16 << 10, 256, 4096);
    const double l2_cycles = load_cycles(stream, 4 << 20, 1 << 15, 1 << 15);
    const double memory_cycles = load_cycles(stream, far_bytes, 0, 1 << 15);

    const auto from = allocate<unsigned char>(far_bytes);
    const auto to = allocate<unsigned char>(far_bytes);
    dynpar::check(cudaMemset(from.get(), 1, far_bytes), "filling device memory");
    dynpar::check(cudaDeviceSynchronize(), "filling device memory");
    const double copy_ms = samples::median_milliseconds(stream, 11, [&](const dynpar::stream& in) {
        dynpar::check(cudaMemcpyAsync(to.get(), from.get(), far_bytes, cudaMemcpyDeviceToDevice, in.handle()),
                      "copying");
    });
    const double gigabytes = 2.0 * static_cast<double>(far_bytes) / copy_ms / 1e6;

    say("clock of the multiprocessors during the measurement", gigahertz * 1000, "MHz");
    say("a float multiply-add that waits for the one before", add_cycles, "cycles");
    say("a load from shared memory, address and all", shared_cycles, "cycles");
    say("a load that hits the L1 cache, address and all", l1_cycles, "cycles");
    say("a load that hits the L2 cache", l2_cycles, "cycles");
    say("a load from global memory", memory_cycles, "cycles");
    say("float multiply-adds that a multiprocessor finishes", per_cycle, "a cycle");
    say("bandwidth of a copy, read and written", gigabytes, "GB/s");

    const int sms = attribute(cudaDevAttrMultiProcessorCount);
    const double bytes_per_cycle = gigabytes / gigahertz;
    const double bytes_under_way = bytes_per_cycle * memory_cycles;
    command.say("Little's law: what must be under way at once = latency x throughput");
    say("  multiply-adds of a multiprocessor", add_cycles * per_cycle, "operations");
    say("  warps of a multiprocessor, with one at a time each", add_cycles * per_cycle / 32, "warps");
    say("  bandwidth in bytes a cycle", bytes_per_cycle, "bytes");
    say("  bytes of the whole GPU", bytes_under_way / 1024, "KiB");
    say("  warps of a multiprocessor, with 4 bytes a thread", bytes_under_way / sms / (4 * 32), "warps");
    say("  warps of a multiprocessor, with 16 bytes a thread", bytes_under_way / sms / (16 * 32), "warps");
    say("  warps that a multiprocessor has room for", attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32.0,
        "warps");

    const bool in_order = add_cycles > 0 && add_cycles < shared_cycles && shared_cycles < l2_cycles &&
                          l1_cycles < l2_cycles && l2_cycles < memory_cycles;
    if (!in_order) throw samples::wrong_result("what is farther away took less time; the measurement is worth nothing");
    command.say("all right");
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command("latency",
                                  "Measures how long a multiply-add and a load take, and from that how much must be "
                                  "under way at once to hide it (Little's law). Needs a GPU.");
    std::int64_t mebibytes = 1024;
    command.add_integer("--mebibytes", mebibytes, 128, 16384,
                        "memory to go through, a power of two, many times the L2 cache");
    if (const auto status = command.parse(argc, argv)) return *status;
    try {
        if ((mebibytes & (mebibytes - 1)) != 0) {
            throw samples::input_error("--mebibytes: " + std::to_string(mebibytes) + " is no power of two; give 1024");
        }
        if (const dynpar::gpu_state gpu = samples::probe_gpu(); !gpu.usable) {
            throw samples::input_error("there is no GPU to measure: " + gpu.why_not +
                                       "; run it on a machine with an NVIDIA GPU and its driver");
        } else {
            command.say(gpu.name);
        }
        measure(command, static_cast<std::size_t>(mebibytes) << 20);
        return samples::success;
    } catch (...) {
        return command.explain_exception();
    }
}
