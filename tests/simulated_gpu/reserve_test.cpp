// The reserve of a run: worker blocks that wait until many short grids of a warp or of a wide team are there.
#include <doctest/doctest.h>

#include "small_programs.hpp"

namespace {
using namespace small_programs;

/// A binary tree of grids of so many threads. Notes which worker blocks run them.
template <unsigned Threads>
struct noted_tree {
    static constexpr const char* name = "noted_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* worker_blocks, unsigned levels) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_or(worker_blocks, 1u << blockIdx.x);
        for (int i = 0; levels != 1 && i < 2; ++i)
            block.launch(*this, dynpar::shape(1, Threads), worker_blocks, levels - 1);
    }
};

/// As nothing is said of worker blocks, there is a reserve: on two multiprocessors, two worker blocks and two more.
dynpar::queue_engine engine_with_reserve() {
    dynpar::queue_options options;
    options.memory_bytes = std::size_t{64} << 20;
    return dynpar::queue_engine(options);
}

template <unsigned Threads>
int worker_blocks_of_tree(dynpar::queue_engine& engine, unsigned levels) {
    auto noted = filled(engine, 1, 0u);
    CHECK(engine.run(noted_tree<Threads>{}, dynpar::shape(1, Threads), noted.data(), levels).grids ==
          (1ull << levels) - 1);
    return __builtin_popcount(noted.to_vector()[0]);
}

// In many orders all is done before the reserve has begun.
TEST_CASE("many short grids of a warp call the reserve") {
    const other_settings changed;
    simulated_gpu::current_settings().blocks_start_late = false;
    auto engine = engine_with_reserve();
    int most = 0;
    for (int run = 0; run < 100 && most < 4; ++run) most = std::max(most, worker_blocks_of_tree<32>(engine, 11));
    CHECK(most == 4);
}

/// A binary tree of grids of so many threads, which note whether the reserve has been called by then.
template <unsigned Threads>
struct calling_tree {
    static constexpr const char* name = "calling_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* called, unsigned levels) const {
        namespace queue = dynpar::detail::queue;
        if (block.thread_rank() != 0) return;
        if (queue::load_relaxed(queue::engine().control->reserve) == queue::reserve_is_called)
            dynpar::atomic_add(called, 1u);
        for (int i = 0; levels != 1 && i < 2; ++i) block.launch(*this, dynpar::shape(1, Threads), called, levels - 1);
    }
};
/// Whether one of so many runs calls the reserve: it depends on how the grids are spread.
template <unsigned Threads>
bool calls_reserve(dynpar::queue_engine& engine, int runs) {
    auto called = filled(engine, 1, 0u);
    for (int run = 0; run < runs && called.value() == 0; ++run)
        engine.run(calling_tree<Threads>{}, dynpar::shape(1, Threads), called.data(), 11u);
    return called.value() != 0;
}

TEST_CASE("many short grids of 128 threads call the reserve, and those of 64 do not") {
    auto engine = engine_with_reserve();
    CHECK(calls_reserve<128>(engine, 50));
    CHECK_FALSE(calls_reserve<64>(engine, 10));
}

TEST_CASE("lanes do not call the reserve, and neither do a few grids of a warp") {
    auto engine = engine_with_reserve();
    // Three, where worker block 0 was not the first on its multiprocessor.
    for (int run = 0; run < 3; ++run) {
        CHECK(worker_blocks_of_tree<1>(engine, 13) <= 3);
        CHECK(worker_blocks_of_tree<32>(engine, 4) <= 3);
    }
}

/// A grid that takes so many cycles, and notes whether the reserve has been called by then.
struct long_grid {
    static constexpr const char* name = "long_grid";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* called, unsigned cycles) const {
        namespace queue = dynpar::detail::queue;
        if (block.thread_rank() != 0) return;
        if (queue::load_relaxed(queue::engine().control->reserve) == queue::reserve_is_called)
            dynpar::atomic_add(called, 1u);
        const unsigned begun = queue::cycles_now();
        while (queue::cycles_now() - begun < cycles) dynpar::atomic_or(called + 1, 0u);
    }
};

/// A chain of one-thread grids, so many steps of its warp, which then launches many long grids of a warp.
struct chain_before_long_grids {
    static constexpr const char* name = "chain_before_long_grids";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* called, unsigned links, unsigned cycles) const {
        if (block.thread_rank() != 0) return;
        if (links != 0) {
            block.launch(*this, dynpar::shape(1, 1), called, links - 1, cycles);
            return;
        }
        for (unsigned i = 0; i < 250; ++i) block.launch(long_grid{}, dynpar::shape(1, 32), called, cycles);
    }
};

// A warp looks at the clock after each of them, and not after eight steps.
TEST_CASE("long grids of a warp do not call the reserve, whenever they come") {
    const other_settings changed;
    auto& settings = simulated_gpu::current_settings();
    settings.blocks_start_late = false;
    settings.multiprocessors = 1;
    settings.lanes = simulated_gpu::lane_order::in_step;
    settings.warps = simulated_gpu::warp_order::uniform;
    for (settings.seed = 1; settings.seed <= 6; ++settings.seed) {
        auto engine = engine_with_reserve();
        for (int run = 0; run < 3; ++run) {
            auto called = filled(engine, 2, 0u);
            engine.run(chain_before_long_grids{}, dynpar::shape(1, 1), called.data(), 66u, 40000u);
            CHECK(called.to_vector()[0] == 0);
        }
    }
}

/// Notes which worker blocks run a grid of many blocks.
struct noted_grid {
    static constexpr const char* name = "noted_grid";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* worker_blocks) const {
        if (block.thread_rank() == 0) dynpar::atomic_or(worker_blocks, 1u << blockIdx.x);
    }
};

TEST_CASE("a grid of very many blocks of a warp calls the reserve, and a smaller one does not") {
    const other_settings changed;
    simulated_gpu::current_settings().blocks_start_late = false;
    auto engine = engine_with_reserve();
    const auto worker_blocks_of_grid = [&](unsigned blocks) {
        auto noted = filled(engine, 1, 0u);
        engine.run(noted_grid{}, dynpar::shape(blocks, 32), noted.data());
        return __builtin_popcount(noted.to_vector()[0]);
    };
    int most = 0;
    for (int run = 0; run < 20; ++run) CHECK(worker_blocks_of_grid(200) <= 3);
    for (int run = 0; run < 100 && most < 4; ++run) most = std::max(most, worker_blocks_of_grid(4000));
    CHECK(most == 4);
}

TEST_CASE("there is no reserve where a multiprocessor has several worker blocks") {
    const other_settings changed;
    simulated_gpu::current_settings().kernel_threads = 256;
    simulated_gpu::current_settings().blocks_start_late = false;
    auto engine = engine_with_reserve();
    auto noted = filled(engine, 1, 0u);
    for (int run = 0; run < 20; ++run) engine.run(noted_grid{}, dynpar::shape(400, 32), noted.data());
    CHECK(noted.to_vector()[0] == 0xfu);
}

TEST_CASE("there is no reserve where the number of worker blocks is given") {
    auto engine = engine_of(0, 2);
    CHECK(worker_blocks_of_tree<32>(engine, 11) <= 2);
}

/// Launches itself, without an end.
struct endless {
    static constexpr const char* name = "endless";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        if (block.thread_rank() == 0) block.launch(*this, dynpar::shape(1, 32));
    }
};

TEST_CASE("a run that is stopped ends with its reserve, and so does the next one") {
    dynpar::queue_options options;
    options.memory_bytes = std::size_t{64} << 20;
    options.deadline_milliseconds = 1;
    dynpar::queue_engine engine(options);
    CHECK_THROWS_AS(engine.run(endless{}, dynpar::shape(1, 32)), dynpar::deadlock_error);
    CHECK(engine.run(noted_tree<1>{}, dynpar::shape(1, 1), filled(engine, 1, 0u).data(), 3u).grids == 7);
}
}  // namespace
