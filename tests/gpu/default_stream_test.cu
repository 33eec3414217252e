// Runs of the engines for the GPU come after what CUDA's default stream was given before.
#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <dynpar/dynpar.hpp>
#include <dynpar/engine/cdp.cuh>

namespace {

constexpr unsigned count = 1u << 22;
constexpr unsigned threads = 256;

/// Takes about so many nanoseconds, and then writes.
__global__ void write_late(int* numbers, unsigned long long nanoseconds) {
    unsigned long long begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begun < nanoseconds);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) numbers[i] = 1;
}

struct count_ones {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* numbers, unsigned* ones) const {
        const unsigned i = block.block_rank() * block.num_threads() + block.thread_rank();
        if (i < count && numbers[i] == 1) dynpar::atomic_add(ones, 1u);
    }
};

template <class Engine>
unsigned ones_seen(Engine& engine, const int* numbers) {
    auto ones = engine.make_buffer({0u});
    engine.run(count_ones{}, dynpar::shape(count / threads, threads), numbers, ones.data());
    return ones.value();
}

template <class Engine>
void check_order() {
    Engine engine;
    const dynpar::buffer<int> numbers = engine.template make_buffer<int>(count);
    for (int round = 0; round < 5; ++round) {
        CAPTURE(round);
        dynpar::check(cudaMemsetAsync(numbers.data(), 0, count * sizeof(int)), "clearing");
        write_late<<<count / threads, threads>>>(numbers.data(), round == 0 ? 20'000'000 : 200'000);
        dynpar::check(cudaGetLastError(), "launching a plain kernel");
        CHECK(ones_seen(engine, numbers.data()) == count);
    }
    // From pageable memory, cudaMemcpy comes back before everything is there.
    const std::vector<int> all_ones(count, 1);
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        dynpar::check(cudaMemset(numbers.data(), 0, count * sizeof(int)), "clearing");
        dynpar::check(cudaMemcpy(numbers.data(), all_ones.data(), count * sizeof(int), cudaMemcpyHostToDevice),
                      "copying");
        CHECK(ones_seen(engine, numbers.data()) == count);
    }
}

TEST_CASE("a run of the queue engine follows what the default stream was given before") {
    check_order<dynpar::queue_engine>();
}

TEST_CASE("a run of the cdp engine follows what the default stream was given before") {
    check_order<dynpar::cdp_engine>();
}

}  // namespace
