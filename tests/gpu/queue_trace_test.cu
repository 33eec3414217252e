// Traces of the queue engine: of runs that overlap, that spill, that are stopped, that are replayed.
#include "queue_test.cuh"

using namespace queue_test;

namespace {

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

/// Every grid but the first has a parent that began before it was launched, or continues a grid that ended before it
/// began.
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
    dynpar::queue_options options = with_deadline();
    options.trace_grids = 100000;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    constexpr std::size_t grids[] = {1, 4 + 1, 13 + 4, 40 + 13,
                                     121 + 40};  // and the continuations of all but the last level
    for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<dynpar::queue_handle> runs;
        for (unsigned levels = 0; levels < 5; ++levels)
            runs.push_back(engine.enqueue(stream, mixed_tree{}, shape(1, 8), levels, counter.data()));
        for (unsigned levels = 0; levels < 5; ++levels) {
            const dynpar::report report = runs[levels].wait();
            CHECK(report.grids == grids[levels]);
            check_trace(report.trace, grids[levels]);
        }
    }
    cudaStreamDestroy(stream);
}

TEST_CASE("a trace with too little room says how much is missing, and the run is right") {
    dynpar::queue_options options = with_deadline();
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
    dynpar::queue_options options = with_deadline();
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
    dynpar::queue_options options = with_deadline();
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
    dynpar::queue_options options = with_deadline();
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
    // A run after the replay has written over its trace: then the handle has none, rather than that of another run.
    dynpar::check(cudaGraphLaunch(instance, stream), "launching a graph");
    dynpar::check(cudaStreamSynchronize(stream), "waiting for a graph");
    check_trace(engine.run(mixed_tree{}, shape(1, 8), 2u, counter.data()).trace, 13 + 4);
    const dynpar::report replayed = run.wait();
    CHECK(replayed.grids == 121 + 40);
    CHECK(replayed.trace.grids.empty());
    CHECK(replayed.trace.missing == 121 + 40);
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

}  // namespace
