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

/// Takes so many nanoseconds at least, and then writes. Of few blocks, so that there is room for a run beside it.
__global__ void write_late(int* numbers, unsigned long long nanoseconds) {
    unsigned long long begun, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begun < nanoseconds);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) numbers[i] = 1;
}

struct count_ones {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* numbers, unsigned* ones) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i < count && numbers[i] == 1) dynpar::atomic_add(ones, 1u);
    }
};

/// Nothing that waits for the default stream may stand between what it is given and the run: making, filling and
/// reading a buffer do.
template <class Engine>
void check_order() {
    Engine engine;
    const dynpar::buffer<int> numbers = engine.template make_buffer<int>(count);
    auto ones = engine.make_buffer({0u});
    const std::vector<int> all_ones(count, 1);
    const auto run = [&] {
        engine.run(count_ones{}, dynpar::shape(count / threads, threads), static_cast<const int*>(numbers.data()),
                   ones.data());
    };
    run();  // the first one takes longer: then even a run that does not wait might come too late to see anything
    for (int round = 0; round < 30; ++round) {
        CAPTURE(round);
        const bool by_kernel = round % 2 == 0;
        CAPTURE(by_kernel);
        ones.fill(0);
        dynpar::check(cudaMemset(numbers.data(), 0, count * sizeof(int)), "clearing");
        dynpar::check(cudaDeviceSynchronize(), "clearing");
        if (by_kernel) {
            write_late<<<16, threads>>>(numbers.data(), round == 0 ? 50'000'000 : 2'000'000);
            dynpar::check(cudaGetLastError(), "launching a plain kernel");
        } else {  // from pageable memory: this comes back before everything is there
            dynpar::check(cudaMemcpy(numbers.data(), all_ones.data(), count * sizeof(int), cudaMemcpyHostToDevice),
                          "copying");
        }
        run();
        CHECK(ones.value() == count);
    }
}

TEST_CASE("a run of the queue engine follows what the default stream was given before") {
    check_order<dynpar::queue_engine>();
}

TEST_CASE("a run of the cdp engine follows what the default stream was given before") {
    check_order<dynpar::cdp_engine>();
}

}  // namespace
