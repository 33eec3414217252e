// What the host engine costs: a launch, a barrier, a wait. On a CPU only ratios travel; the machine belongs to every
// figure.
//
//     host_engine --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
#include <dynpar/dynpar.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

using dynpar::shape;

struct tree {
    template <class Block>
    void operator()(Block& block, int levels, std::uint64_t* grids) const {
        if (block.thread_rank() != 0) return;
        ++*grids;
        for (int child = 0; child < 2 && levels > 0; ++child)
            block.launch(*this, shape(1, block.num_threads()), levels - 1, grids);
    }
};

// A tree of 131,071 grids of as many threads as the argument says: nanoseconds for each grid, its launch included.
void launch(benchmark::State& state) {
    dynpar::host_engine engine;
    const auto threads = static_cast<unsigned>(state.range(0));
    std::uint64_t grids = 0, expected = 0;
    for (auto _ : state) {
        engine.run(tree{}, shape(1, threads), 16, &grids);
        expected += 131071;
    }
    if (grids != expected) state.SkipWithError("grids are missing");
    state.counters["s/launch"] =
        benchmark::Counter(static_cast<double>(grids), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(launch)->Arg(1)->Arg(32)->Arg(256)->Unit(benchmark::kMillisecond);

struct barriers {
    template <class Block>
    void operator()(Block& block, int count, std::uint64_t* passed) const {
        for (int i = 0; i < count; ++i) block.sync();
        *passed += static_cast<std::uint64_t>(count);
    }
};

// 100 blocks of as many threads as the argument says, 100 barriers each: nanoseconds for each thread and barrier.
void barrier(benchmark::State& state) {
    dynpar::host_engine engine;
    const auto threads = static_cast<unsigned>(state.range(0));
    std::uint64_t passed = 0, expected = 0;
    for (auto _ : state) {
        engine.run(barriers{}, shape(100, threads), 100, &passed);
        expected += 100ull * 100ull * threads;
    }
    if (passed != expected) state.SkipWithError("threads did not pass their barriers");
    state.counters["s/thread and barrier"] =
        benchmark::Counter(static_cast<double>(passed), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(barrier)->Arg(32)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

// The same block without a barrier: no thread gets a stack, the block is a loop.
void block_without_barrier(benchmark::State& state) {
    dynpar::host_engine engine;
    std::uint64_t passed = 0, blocks = 0;
    for (auto _ : state) {
        engine.run(barriers{}, shape(10000, 256), 0, &passed);
        blocks += 10000;
    }
    state.counters["s/block"] =
        benchmark::Counter(static_cast<double>(blocks), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(block_without_barrier)->Unit(benchmark::kMillisecond);

struct waiting_tree {
    template <class Block>
    void operator()(Block& block, int levels, std::uint64_t* grids) const {
        ++*grids;
        for (int child = 0; child < 2 && levels > 0; ++child) block.launch(*this, shape(1, 1), levels - 1, grids);
        if (levels > 0) block.wait();
    }
};

// A tree of 131,071 grids of one thread, each of which waits for its children.
void wait(benchmark::State& state) {
    dynpar::host_engine engine;
    std::uint64_t grids = 0, expected = 0;
    for (auto _ : state) {
        engine.run(waiting_tree{}, shape(1, 1), 16, &grids);
        expected += 131071;
    }
    if (grids != expected) state.SkipWithError("grids are missing");
    state.counters["s/launch and wait"] =
        benchmark::Counter(static_cast<double>(grids), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(wait)->Unit(benchmark::kMillisecond);

struct fan {
    template <class Block>
    void operator()(Block& block, unsigned children, std::uint64_t* grids) const {
        ++*grids;
        for (unsigned i = 0; i < children; ++i) block.launch(*this, shape(1, 1), 0u, grids);
    }
};

// A million grids pending at once.
void million_pending(benchmark::State& state) {
    dynpar::host_engine engine;
    std::uint64_t grids = 0, expected = 0;
    for (auto _ : state) {
        engine.run(fan{}, shape(1, 1), 1000000u, &grids);
        expected += 1000001;
    }
    if (grids != expected) state.SkipWithError("grids are missing");
    state.counters["s/launch"] =
        benchmark::Counter(static_cast<double>(grids), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(million_pending)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
