// What the queue engine promises beyond the contract: memory budget, spilling, order of host streams, graphs, deadline, options.
#include <cuda_runtime.h>

#include <doctest/doctest.h>

#include <dynpar/atomic.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/engine/queue.cuh>

#include <string>
#include <vector>

namespace {

using dynpar::shape;
using count_type = unsigned long long;

template <class T>
dynpar::buffer<T> filled(const dynpar::queue_engine& engine, std::size_t count, T value) {
    dynpar::buffer<T> result = engine.make_buffer<T>(count);
    const std::vector<T> values(count, value);
    result.copy_from(values.data());
    return result;
}

struct add_one {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counter) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(counter, count_type{1});
    }
};

struct endless_tree {
    static constexpr const char* name = "endless_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int threads) const {
        if (block.thread_rank() != 0) return;
        block.launch(*this, shape(1, threads), threads);
        block.launch(*this, shape(1, threads), threads);
    }
};

TEST_CASE("an endless recursion ends with launch_error that says what to raise, and the next run is right") {
    dynpar::queue_options options;
    options.memory_bytes = 64 << 20;
    options.deadline_milliseconds = 20000;
    dynpar::queue_engine engine(options);
    for (const int threads : {1, 32}) {
        CAPTURE(threads);
        std::string message;
        try {
            engine.run(endless_tree{}, shape(1, threads), threads);
        } catch (const dynpar::launch_error& error) {
            message = error.what();
        }
        CHECK(message.find("endless_tree") != std::string::npos);
        CHECK(message.find("grids alive") != std::string::npos);
        CHECK(message.find("queue_options::memory_bytes") != std::string::npos);
        auto counter = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.run(add_one{}, shape(1000, 32), counter.data());
        CHECK(counter.to_vector()[0] == 1000);
        CHECK(report.failed_calls == 0);
    }
}

struct launch_many {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, int threads, count_type* counter) const {
        for (unsigned i = 0; i < count; ++i) block.launch(add_one{}, shape(1, threads), counter);
    }
};

TEST_CASE("more children than a stack has room for spill, and each runs once") {
    dynpar::queue_engine engine;
    for (const int threads : {1, 8, 40}) {
        CAPTURE(threads);
        const unsigned count = threads == 40 ? 2000 : 100000;
        auto counter = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.run(launch_many{}, shape(3, 1), count, threads, counter.data());
        CHECK(counter.to_vector()[0] == 3 * count);
        CHECK(report.grids == 1 + 3 * count);
    }
}

struct wide_root {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int threads, count_type* counter) const {
        if (block.thread_rank() == 0) block.launch(add_one{}, shape(1, threads), counter);
    }
};

TEST_CASE("a block wider than the workers is refused, naming the option to raise") {
    dynpar::queue_options options;
    options.block_threads = 64;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    CHECK(engine.run(wide_root{}, shape(1, 1), 64, counter.data()).failed_calls == 0);
    for (const dynpar::report& report : {engine.try_run(wide_root{}, shape(1, 1), 65, counter.data()),
                                         engine.try_run(add_one{}, shape(1, 65), counter.data())}) {
        REQUIRE(report.failures.size() == 1);
        CHECK(report.failures[0].status == dynpar::status::invalid_configuration);
        CHECK(report.failures[0].note.find("queue_options::block_threads") != std::string::npos);
    }
    CHECK(counter.to_vector()[0] == 1);
}

TEST_CASE("runs are ordered in their host streams, and two engines run side by side") {
    dynpar::queue_options options;
    options.worker_blocks = 20;
    options.memory_bytes = 64 << 20;
    dynpar::queue_engine first(options), second(options);
    cudaStream_t a = nullptr, b = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), "making a stream");
    dynpar::check(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking), "making a stream");
    auto counter = filled<count_type>(first, 2, 0);
    std::vector<dynpar::queue_handle> runs;
    for (int i = 0; i < 10; ++i) {
        runs.push_back(first.enqueue(i % 2 == 0 ? a : b, launch_many{}, shape(10, 1), 100u, 1, counter.data()));
        runs.push_back(second.enqueue(b, launch_many{}, shape(10, 1), 100u, 8, counter.data() + 1));
    }
    for (dynpar::queue_handle& run : runs) CHECK(run.wait().grids == 1001);
    CHECK(counter.to_vector() == std::vector<count_type>{10000, 10000});
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

TEST_CASE("a run can be captured in a graph and replayed") {
    dynpar::queue_engine engine;
    auto counter = filled<count_type>(engine, 1, 0);
    engine.run(launch_many{}, shape(10, 1), 10u, 1, counter.data());  // asks what must not be asked during a capture
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    dynpar::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    dynpar::queue_handle run = engine.enqueue(stream, launch_many{}, shape(10, 1), 10u, 1, counter.data());
    cudaGraph_t graph = nullptr;
    dynpar::check(cudaStreamEndCapture(stream, &graph), "ending a capture");
    CHECK_FALSE(run.is_complete());
    cudaGraphExec_t instance = nullptr;
    dynpar::check(cudaGraphInstantiate(&instance, graph, 0), "instantiating a graph");
    for (int i = 0; i < 5; ++i) dynpar::check(cudaGraphLaunch(instance, stream), "launching a graph");
    dynpar::check(cudaStreamSynchronize(stream), "waiting for a graph");
    CHECK(run.wait().grids == 101);
    CHECK(counter.to_vector()[0] == 600);
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

// Lanes, warps and a worker block, scratch memory and continuations; `levels` deep.
struct mixed_tree {
    static constexpr const char* name = "mixed_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* counter) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(counter, count_type{1});
        if (levels == 0) return;
        block.then(add_one{}, shape(1, 1), counter);
        for (const int threads : {1, 8, 40}) block.launch(*this, shape(1, threads), levels - 1, counter);
    }
};

/// Every grid but the first has a parent that began before it was launched, or continues a grid that ended before it began.
void check_trace(const dynpar::trace& trace, std::size_t grids) {
    REQUIRE(trace.grids.size() == grids);
    CHECK(trace.missing == 0);
    for (const dynpar::grid_record& grid : trace.grids) {
        const bool is_first = grid.id == 0;
        CHECK((grid.parent == dynpar::grid_record::none) == (is_first || grid.depth == 0));
        if (grid.parent != dynpar::grid_record::none) {
            REQUIRE(grid.parent < grid.id);
            CHECK(trace.grids[grid.parent].depth + 1 == grid.depth);
            CHECK(trace.grids[grid.parent].begun <= grid.launched);
        }
        if (grid.continues != dynpar::grid_record::none) {
            REQUIRE(grid.continues < grid.id);
            CHECK(trace.grids[grid.continues].ended <= grid.begun);
        }
        CHECK(grid.launched <= grid.begun);
        CHECK(grid.begun <= grid.ended);
        CHECK(grid.ended != dynpar::grid_record::never);
    }
}

TEST_CASE("traces of one engine's runs do not disturb each other, also of runs that nobody has waited for yet") {
    dynpar::queue_options options;
    options.trace_grids = 100000;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    constexpr std::size_t grids[] = {1, 4 + 1, 13 + 4, 40 + 13, 121 + 40};  // and the continuations of all but the last level
    for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<dynpar::queue_handle> runs;
        for (unsigned levels = 0; levels < 5; ++levels) runs.push_back(engine.enqueue(stream, mixed_tree{}, shape(1, 8), levels, counter.data()));
        for (unsigned levels = 0; levels < 5; ++levels) {
            const dynpar::report report = runs[levels].wait();
            CHECK(report.grids == grids[levels]);
            check_trace(report.trace, grids[levels]);
        }
    }
    cudaStreamDestroy(stream);
}

TEST_CASE("a trace with too little room says how much is missing, and the run is right") {
    dynpar::queue_options options;
    options.trace_grids = 20;
    dynpar::queue_engine engine(options);
    for (int repeat = 0; repeat < 3; ++repeat) {
        auto counter = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.run(mixed_tree{}, shape(1, 8), 6u, counter.data());
        CHECK(counter.to_vector()[0] == 1093 + 364);
        CHECK(report.grids == 1093 + 364);
        CHECK(report.trace.grids.size() == 20);
        CHECK(report.trace.missing == 1093 + 364 - 20);
    }
}

TEST_CASE("traced tasks that spill are in the trace, each once") {
    dynpar::queue_options options;
    options.trace_grids = 100000;
    dynpar::queue_engine engine(options);
    for (const int threads : {1, 8}) {
        CAPTURE(threads);
        auto counter = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.run(launch_many{}, shape(3, 1), 20000u, threads, counter.data());
        CHECK(counter.to_vector()[0] == 60000);
        check_trace(report.trace, 60001);
    }
}

TEST_CASE("the trace of a run that was stopped says which grids never began, and the next trace is right") {
    dynpar::queue_options options;
    options.trace_grids = 100000;
    options.memory_bytes = 64 << 20;
    dynpar::queue_engine engine(options);
    const dynpar::report stopped = engine.try_run(endless_tree{}, shape(1, 32), 32);
    CHECK(stopped.failed_calls != 0);
    CHECK(stopped.trace.grids.size() == 100000);
    for (const dynpar::grid_record& grid : stopped.trace.grids) {
        if (grid.begun == dynpar::grid_record::never) CHECK(grid.status != dynpar::status::success);
    }
    auto counter = filled<count_type>(engine, 1, 0);
    check_trace(engine.run(mixed_tree{}, shape(1, 8), 4u, counter.data()).trace, 121 + 40);
}

TEST_CASE("a traced run can be captured in a graph: the trace is that of the latest replay") {
    dynpar::queue_options options;
    options.trace_grids = 1000;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    engine.run(mixed_tree{}, shape(1, 8), 4u, counter.data());  // asks what must not be asked during a capture
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    dynpar::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    dynpar::queue_handle run = engine.enqueue(stream, mixed_tree{}, shape(1, 8), 4u, counter.data());
    cudaGraph_t graph = nullptr;
    dynpar::check(cudaStreamEndCapture(stream, &graph), "ending a capture");
    cudaGraphExec_t instance = nullptr;
    dynpar::check(cudaGraphInstantiate(&instance, graph, 0), "instantiating a graph");
    for (int i = 0; i < 3; ++i) dynpar::check(cudaGraphLaunch(instance, stream), "launching a graph");
    dynpar::check(cudaStreamSynchronize(stream), "waiting for a graph");
    check_trace(run.wait().trace, 121 + 40);
    CHECK(counter.to_vector()[0] == 4 * (121 + 40));
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

struct endless_chain {
    static constexpr const char* name = "endless_chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        block.then(*this, shape(1, 1));
    }
};

TEST_CASE("a run that goes on for ever is stopped by its deadline, and the next run is right") {
    dynpar::queue_options options;
    options.deadline_milliseconds = 100;
    dynpar::queue_engine engine(options);
    std::string message;
    try {
        engine.run(endless_chain{}, shape(1, 1));
    } catch (const dynpar::deadlock_error& error) {
        message = error.what();
    }
    CHECK(message.find("endless_chain") != std::string::npos);
    CHECK(message.find("deadline") != std::string::npos);
    auto counter = filled<count_type>(engine, 1, 0);
    engine.run(launch_many{}, shape(10, 1), 10u, 1, counter.data());
    CHECK(counter.to_vector()[0] == 100);
}

// Blocks of every width wait for blocks of every other width.
struct mixed_wait {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* counter) const {
        if (block.thread_rank() == 0) {
            dynpar::atomic_add(counter, count_type{1});
            const int widths[3] = {1, 8, 40};
            for (unsigned i = 0; i < 3 && levels > 0; ++i) block.launch(*this, shape(1, widths[(levels + i) % 3]), levels - 1, counter);
        }
        block.wait();
        if (block.thread_rank() == 0 && levels > 0) {
            const count_type all = dynpar::atomic_add(counter, count_type{0});
            if (all < 4) dynpar::atomic_add(counter, count_type{1000000});  // its three children have counted
        }
    }
};

TEST_CASE("lanes, warps and worker blocks that wait for each other do not wait for ever") {
    dynpar::queue_options options;
    options.deadline_milliseconds = 20000;
    for (const unsigned workers : {1u, 2u, 0u}) {
        CAPTURE(workers);
        options.worker_blocks = workers;
        dynpar::queue_engine engine(options);
        for (int repeat = 0; repeat < 10; ++repeat) {
            auto counter = filled<count_type>(engine, 1, 0);
            engine.run(mixed_wait{}, shape(1, 40), 6u, counter.data());
            CHECK(counter.to_vector()[0] == 1093);
        }
    }
}

}  // namespace
