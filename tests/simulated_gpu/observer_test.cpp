// Whose shared memory the simulated GPU reads while it looks for progress.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

namespace {

struct nothing {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};

__global__ void by_hand(unsigned* sum) {
    for (unsigned i = 0; i < 100; ++i) atomicAdd(sum, 1u);
}

unsigned looks = 0;
unsigned long long count_look(const unsigned char*, unsigned) { return ++looks; }

/// An observer that counts, as long as this lives.
struct counting {
    simulated_gpu::observer before = simulated_gpu::the_observer();
    counting() {
        looks = 0;
        simulated_gpu::the_observer().progress = &count_look;
    }
    ~counting() { simulated_gpu::the_observer() = before; }
};

TEST_CASE("the engine's state is looked for in the blocks of a run, and not where a kernel has none or its own") {
    // As many threads as a worker block, with less shared memory than its state takes, none, and more.
    for (const unsigned bytes : {16u, 0u, 64u * 1024}) {
        unsigned* sum = nullptr;
        REQUIRE(cudaMalloc(reinterpret_cast<void**>(&sum), sizeof(*sum)) == cudaSuccess);
        REQUIRE(cudaMemset(sum, 0, sizeof(*sum)) == cudaSuccess);
        const counting mine;
        REQUIRE(simulated_gpu::launch(&by_hand, 2, 64, bytes, nullptr, sum) == cudaSuccess);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(looks == 0);
        unsigned result = 0;
        CHECK(cudaMemcpy(&result, sum, sizeof(result), cudaMemcpyDeviceToHost) == cudaSuccess);
        CHECK(result == 2 * 64 * 100);
        CHECK(cudaFree(sum) == cudaSuccess);
    }
    dynpar::queue_options options;
    options.block_threads = 64;
    options.memory_bytes = 1 << 20;
    dynpar::queue_engine engine(options);
    const counting mine;
    engine.run(nothing{}, dynpar::shape(4, 32));
    CHECK(looks != 0);
}

}  // namespace
