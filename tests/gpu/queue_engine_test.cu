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
