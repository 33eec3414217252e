// What the queue engine promises beyond the contract: host streams, graphs, failures of each run by itself, options and
// limits.
#include "queue_test.cuh"

#include <memory>

using namespace queue_test;

namespace {

struct stream_delete {
    using pointer = cudaStream_t;
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using stream_owner = std::unique_ptr<CUstream_st, stream_delete>;

stream_owner make_stream() {
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    return stream_owner(stream);
}

TEST_CASE("runs are ordered in their host streams") {
    dynpar::queue_options options = with_deadline();
    options.worker_blocks = 20;
    options.memory_bytes = 64 << 20;
    dynpar::queue_engine first(options), second(options);
    const stream_owner a = make_stream(), b = make_stream();
    auto counter = filled<count_type>(first, 2, 0);
    std::vector<dynpar::queue_handle> runs;
    for (int i = 0; i < 10; ++i) {
        runs.push_back(
            first.enqueue(i % 2 == 0 ? a.get() : b.get(), launch_many{}, shape(10, 1), 100u, 1, counter.data()));
        runs.push_back(second.enqueue(b.get(), launch_many{}, shape(10, 1), 100u, 8, counter.data() + 1));
    }
    for (dynpar::queue_handle& run : runs) CHECK(run.wait().grids == 1001);
    CHECK(counter.to_vector() == std::vector<count_type>{10000, 10000});
}

// Comes, and looks for a while whether another comes as well.
struct meet_another {
    static constexpr const char* name = "meet_another";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, count_type* present, count_type* met) const {
        dynpar::atomic_add(present, count_type{1});
        for (unsigned tries = 0; tries < 1000000; ++tries) {
            if (dynpar::atomic_add(present, count_type{0}) == 2) {
                dynpar::atomic_add(met, count_type{1});
                return;
            }
        }
    }
};

TEST_CASE("two engines on two streams run side by side") {
    dynpar::queue_options options = with_deadline();
    options.worker_blocks = 20;
    options.memory_bytes = 64 << 20;
    dynpar::queue_engine first(options), second(options);
    const stream_owner a = make_stream(), b = make_stream();
    auto places = filled<count_type>(first, 2, 0);
    // Not the first run of the kernel: that loads it, which may wait for what runs.
    first.enqueue(a.get(), meet_another{}, shape(1, 1), places.data(), places.data() + 1).wait();
    const count_type none[2] = {0, 0};
    places.copy_from(none);
    dynpar::queue_handle one = first.enqueue(a.get(), meet_another{}, shape(1, 1), places.data(), places.data() + 1);
    dynpar::queue_handle other = second.enqueue(b.get(), meet_another{}, shape(1, 1), places.data(), places.data() + 1);
    one.wait();
    other.wait();
    CHECK(places.to_vector()[1] == 2);
}

// Launches what cannot be, `count` times.
struct fail_often {
    static constexpr const char* name = "fail_often";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count) const {
        for (unsigned i = 0; i < count; ++i) block.launch(add_one{}, shape(1, 0), nullptr);
    }
};

TEST_CASE("failures are those of their own run, also where several are under way") {
    dynpar::queue_engine engine(with_deadline());
    const stream_owner stream = make_stream();
    auto counter = filled<count_type>(engine, 1, 0);
    std::vector<dynpar::queue_handle> runs;
    for (unsigned count = 0; count < 5; ++count)
        runs.push_back(engine.enqueue(stream.get(), fail_often{}, shape(2, 1), count));
    for (unsigned count = 0; count < 5; ++count) {
        CAPTURE(count);
        const dynpar::report report = runs[count].wait();
        CHECK(report.failed_calls == 2 * count);
        CHECK(report.lost_launches == 2 * count);
        REQUIRE(report.failures.size() == (count == 0 ? 0 : 1));
        if (count != 0) {
            CHECK(report.failures[0].count == 2 * count);
        }
    }
    check_usable(engine);
}

TEST_CASE("a run can be captured in a graph and replayed, and says of the latest replay what failed") {
    dynpar::queue_engine engine(with_deadline());
    auto counter = filled<count_type>(engine, 1, 0);
    engine.run(launch_many{}, shape(10, 1), 10u, 1, counter.data());  // asks what must not be asked during a capture
    engine.try_run(fail_often{}, shape(1, 1), 0u);
    const stream_owner stream = make_stream();
    dynpar::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "beginning a capture");
    dynpar::queue_handle run = engine.enqueue(stream.get(), launch_many{}, shape(10, 1), 10u, 1, counter.data());
    dynpar::queue_handle failing = engine.enqueue(stream.get(), fail_often{}, shape(1, 1), 3u);
    cudaGraph_t graph = nullptr;
    dynpar::check(cudaStreamEndCapture(stream.get(), &graph), "ending a capture");
    CHECK_FALSE(run.is_complete());
    cudaGraphExec_t instance = nullptr;
    dynpar::check(cudaGraphInstantiate(&instance, graph, 0), "instantiating a graph");
    for (int i = 0; i < 5; ++i) dynpar::check(cudaGraphLaunch(instance, stream.get()), "launching a graph");
    dynpar::check(cudaStreamSynchronize(stream.get()), "waiting for a graph");
    CHECK(run.wait().grids == 101);
    CHECK(run.wait().failed_calls == 0);
    CHECK(counter.to_vector()[0] == 600);
    const dynpar::report failed = failing.wait();
    CHECK(failed.failed_calls == 3);
    REQUIRE(failed.failures.size() == 1);
    CHECK(failed.failures[0].count == 3);
    check_usable(engine);
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
}

struct wide_root {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int threads, count_type* counter) const {
        if (block.thread_rank() == 0) block.launch(add_one{}, shape(1, threads), counter);
    }
};

TEST_CASE("a block wider than the workers is refused, naming the option to raise") {
    dynpar::queue_options options = with_deadline();
    options.block_threads = 64;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    CHECK(engine.run(wide_root{}, shape(1, 1), 64, counter.data()).failed_calls == 0);
    for (const dynpar::report& report : {engine.try_run(wide_root{}, shape(1, 1), 65, counter.data()),
                                         engine.try_run(add_one{}, shape(1, 65), counter.data())}) {
        REQUIRE(report.failures.size() == 1);
        CHECK(report.failures[0].status == dynpar::status::invalid_configuration);
        CHECK(contains(report.failures[0].note, "queue_options::block_threads"));
    }
    CHECK(counter.to_vector()[0] == 1);
}

TEST_CASE("options that cannot be are refused with what to give") {
    dynpar::queue_options options;
    options.memory_bytes = 64 << 20;
    for (const unsigned threads : {1u, 100u, 1056u, 2048u}) {
        CAPTURE(threads);
        options.block_threads = threads;
        const std::string message = message_of<std::invalid_argument>([&] { dynpar::queue_engine engine(options); });
        CHECK(contains(message, "give a multiple of 32, at most 1024"));
    }
    options.block_threads = 0;
    options.memory_bytes = 1024;
    CHECK(contains(message_of<std::invalid_argument>([&] { dynpar::queue_engine engine(options); }),
                   "queue_options::memory_bytes"));
}

TEST_CASE("the result of every limit that was given is reported") {
    dynpar::queue_options options = with_deadline();
    options.limits.sync_depth = 5;
    options.limits.pending_launches = 100;
    options.limits.nesting_depth = 7;
    options.limits.stack_bytes = 16 * 1024;
    options.limits.heap_bytes = 64 << 20;
    const dynpar::queue_engine engine(options);
    const std::vector<dynpar::limit_result>& results = engine.limit_results();
    REQUIRE(results.size() == 5);
    CHECK(results[0].name == "sync_depth");
    CHECK(results[0].got == 5);
    CHECK(results[1].name == "pending_launches");
    CHECK(contains(results[1].refused, "ignored"));
    CHECK_FALSE(results[1].got);
    CHECK(results[2].name == "nesting_depth");
    CHECK(results[2].got == 7);
    CHECK(results[3].name == "stack_bytes");
    CHECK(results[3].asked == 16 * 1024);
    REQUIRE(results[3].got);
    CHECK(*results[3].got >= 16 * 1024);
    CHECK(results[4].name == "heap_bytes");
    CHECK(results[4].got == 64 << 20);
    CHECK(results[4].refused.empty());
}

// All threads but the first wait.
struct wait_without_first {
    static constexpr const char* name = "wait_without_first";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* refused) const {
        if (block.thread_rank() == 0) return;
        if (block.wait() == dynpar::status::sync_depth_exceeded) dynpar::atomic_add(refused, count_type{1});
    }
};

TEST_CASE("a wait() that is refused is reported once for its block, whichever of its threads wait") {
    dynpar::queue_options options = with_deadline();
    options.limits.sync_depth = 0;
    dynpar::queue_engine engine(options);
    for (const unsigned threads : {8u, 32u, 48u, 512u}) {
        CAPTURE(threads);
        auto refused = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.try_run(wait_without_first{}, shape(3, threads), refused.data());
        CHECK(refused.to_vector()[0] == 3 * (threads - 1));
        CHECK(report.failed_calls == 3);
        REQUIRE(report.failures.size() == 1);
        CHECK(report.failures[0].status == dynpar::status::sync_depth_exceeded);
        CHECK(report.failures[0].note.empty());
    }
}

}  // namespace
