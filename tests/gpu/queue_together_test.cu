// The queue engine beside others: several host threads, graphs, other engines and foreign kernels on the same GPU.
#include "queue_test.cuh"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

using namespace queue_test;

namespace {

struct stream_destroy {
    using pointer = cudaStream_t;
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using stream_owner = std::unique_ptr<CUstream_st, stream_destroy>;

stream_owner make_stream(int priority = 0) {
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), "making a stream");
    return stream_owner(stream);
}

struct graph_destroy {
    using pointer = cudaGraphExec_t;
    void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using graph_owner = std::unique_ptr<CUgraphExec_st, graph_destroy>;

/// A graph with one run, and the run's handle.
struct captured_run {
    dynpar::queue_handle handle;
    graph_owner graph;
};
captured_run capture(dynpar::queue_engine& engine, count_type* counter, unsigned blocks, unsigned each) {
    const stream_owner stream = make_stream();
    dynpar::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), "beginning a capture");
    dynpar::queue_handle run = engine.enqueue(stream.get(), launch_many{}, shape(blocks, 1), each, 1, counter);
    cudaGraph_t graph = nullptr;
    dynpar::check(cudaStreamEndCapture(stream.get(), &graph), "ending a capture");
    cudaGraphExec_t instance = nullptr;
    dynpar::check(cudaGraphInstantiate(&instance, graph, 0), "instantiating a graph");
    dynpar::check(cudaGraphDestroy(graph), "destroying a graph");
    return {std::move(run), graph_owner(instance)};
}

dynpar::queue_options small_engine() {
    dynpar::queue_options options = with_deadline();
    options.memory_bytes = std::size_t{256} << 20;
    return options;
}

TEST_CASE(
    "several host threads enqueue runs of one engine, each in a stream of its own, or in their own default streams") {
    dynpar::queue_engine engine(small_engine());
    check_usable(engine);
    for (const bool own_streams : {true, false}) {
        CAPTURE(own_streams);
        constexpr unsigned threads = 4, runs = 50;
        auto counters = filled<count_type>(engine, threads, 0);
        std::atomic<unsigned> right{0};
        std::vector<std::thread> hosts;
        for (unsigned t = 0; t < threads; ++t) {
            hosts.emplace_back([&, t] {
                const stream_owner stream = make_stream();
                for (unsigned i = 0; i < runs; ++i) {
                    dynpar::queue_handle run =
                        engine.enqueue(own_streams ? stream.get() : cudaStreamPerThread, launch_many{}, shape(10, 1),
                                       100u, i % 2 == 0 ? 1 : 8, counters.data() + t);
                    if (i % 3 == 0) continue;  // several under way
                    if (run.wait().grids == 1001) ++right;
                }
                if (engine.run(launch_many{}, shape(10, 1), 100u, 1, counters.data() + t).grids == 1001) ++right;
            });
        }
        for (std::thread& host : hosts) host.join();
        CHECK(right == threads * (runs - 17 + 1));
        CHECK(counters.to_vector() == std::vector<count_type>(threads, (runs + 1) * 1000));
    }
}

TEST_CASE("graphs with runs of one engine are replayed in several streams at once, and beside run()") {
    dynpar::queue_engine engine(small_engine());
    auto counters = filled<count_type>(engine, 3, 0);
    check_usable(engine);
    const captured_run first = capture(engine, counters.data(), 300, 100);
    const captured_run second = capture(engine, counters.data() + 1, 10, 1000);
    const stream_owner a = make_stream(), b = make_stream(), c = make_stream();
    constexpr unsigned replays = 40;
    for (unsigned i = 0; i < replays; ++i) {
        dynpar::check(cudaGraphLaunch(first.graph.get(), a.get()), "launching a graph");
        dynpar::check(cudaGraphLaunch(second.graph.get(), b.get()), "launching a graph");
        if (i % 4 == 0) {
            CHECK(engine.run(launch_many{}, shape(50, 1), 200u, 8, counters.data() + 2).grids == 10001);
        }
    }
    dynpar::check(cudaStreamSynchronize(a.get()), "waiting for a stream");
    dynpar::check(cudaStreamSynchronize(b.get()), "waiting for a stream");
    dynpar::queue_handle first_run = first.handle, second_run = second.handle;
    CHECK(first_run.wait().grids == 30001);
    CHECK(second_run.wait().grids == 10001);
    CHECK(counters.to_vector() == std::vector<count_type>{replays * 30000, replays * 10000, replays / 4 * 10000});
    check_usable(engine);
}

struct twice {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block&, unsigned n) const {
        return 2 * n;
    }
};

TEST_CASE("calls of one engine from several host threads have each its own value") {
    dynpar::queue_engine engine(small_engine());
    constexpr unsigned calls = 50;
    std::vector<unsigned> wrong(4);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < wrong.size(); ++i) {
        threads.emplace_back([&engine, &wrong, i] {
            for (unsigned n = i * calls; n < (i + 1) * calls; ++n) wrong[i] += engine.call(twice{}, n) == 2 * n ? 0 : 1;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<unsigned>(4, 0));
}

// ---- Worker blocks that cannot begin

/// Stays on its multiprocessors until it is told to go.
__global__ void occupy(volatile unsigned* go) {
    extern __shared__ unsigned char memory[];
    memory[threadIdx.x] = 0;
    while (threadIdx.x == 0 && *go == 0) __nanosleep(10000);
    __syncthreads();
}

/// Keeps `blocks` multiprocessors from everybody else until it is destroyed.
class occupied_multiprocessors {
public:
    explicit occupied_multiprocessors(unsigned blocks) : stream_(make_stream()) {
        void* memory = nullptr;
        dynpar::check(cudaHostAlloc(&memory, sizeof(unsigned), cudaHostAllocDefault), "allocating a flag");
        go_ = static_cast<unsigned*>(memory);
        *go_ = 0;
        constexpr int bytes = 200 * 1024;
        dynpar::check(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                      "asking for shared memory");
        occupy<<<blocks, 1024, bytes, stream_.get()>>>(go_);
        dynpar::check(cudaGetLastError(), "occupying multiprocessors");
    }
    ~occupied_multiprocessors() {
        *static_cast<volatile unsigned*>(go_) = 1;
        cudaStreamSynchronize(stream_.get());
        cudaFreeHost(go_);
    }

private:
    stream_owner stream_;
    unsigned* go_ = nullptr;
};

/// A counter, read while kernels run.
count_type counted(const count_type* counter) {
    const stream_owner stream = make_stream();
    count_type value = 0;
    dynpar::check(cudaMemcpyAsync(&value, counter, sizeof(value), cudaMemcpyDeviceToHost, stream.get()),
                  "reading a counter");
    dynpar::check(cudaStreamSynchronize(stream.get()), "reading a counter");
    return value;
}

unsigned multiprocessors() {
    int count = 0;
    dynpar::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "asking for the multiprocessors");
    return static_cast<unsigned>(count);
}

TEST_CASE("a run makes way with the worker blocks that can begin, whatever keeps the others from it") {
    dynpar::queue_engine engine(small_engine());
    auto counter = filled<count_type>(engine, 1, 0);
    check_usable(engine);
    engine.run(launch_many{}, shape(1, 1), 1u, 1, counter.data());
    for (const int threads : {1, 32, 64}) {
        CAPTURE(threads);
        const count_type none = 0;
        counter.copy_from(&none);
        const stream_owner stream = make_stream();
        constexpr unsigned blocks = 5000;
        dynpar::queue_handle run = [&] {
            const occupied_multiprocessors busy(multiprocessors() - 2);
            dynpar::queue_handle under_way =
                engine.enqueue(stream.get(), launch_many{}, shape(blocks, 1), 3u, threads, counter.data());
            // All is done while most worker blocks have no place yet.
            for (unsigned i = 0; i < 20000 && counted(counter.data()) != 3 * blocks; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(counted(counter.data()) == 3 * blocks);
            return under_way;
        }();
        CHECK(run.wait().grids == 3 * blocks + 1);
        CHECK(counter.to_vector()[0] == 3 * blocks);
    }
}

TEST_CASE("two engines that take each other's multiprocessors both come to an end") {
    int least = 0, greatest = 0;
    dynpar::check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    dynpar::queue_engine first(small_engine()), second(small_engine());
    auto counters = filled<count_type>(first, 2, 0);
    first.run(launch_many{}, shape(1, 1), 0u, 1, counters.data());
    second.run(launch_many{}, shape(1, 1), 0u, 1, counters.data());
    const stream_owner low = make_stream(least), high = make_stream(greatest);
    constexpr unsigned runs = 100, blocks = 3000;
    std::vector<dynpar::queue_handle> handles;
    for (unsigned i = 0; i < runs; ++i) {
        handles.push_back(first.enqueue(low.get(), launch_many{}, shape(blocks, 1), 2u, 1, counters.data()));
        handles.push_back(second.enqueue(high.get(), launch_many{}, shape(blocks, 1), 2u, 1, counters.data() + 1));
    }
    for (dynpar::queue_handle& handle : handles) CHECK(handle.wait().grids == 2 * blocks + 1);
    // Both halves held from the begin, by what goes at different times.
    for (unsigned i = 0; i < 5; ++i) {
        dynpar::queue_handle one = [&] {
            const occupied_multiprocessors busy(multiprocessors() / 2);
            dynpar::queue_handle under_way =
                first.enqueue(low.get(), launch_many{}, shape(blocks, 1), 2u, 1, counters.data());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return under_way;
        }();
        dynpar::queue_handle other =
            second.enqueue(high.get(), launch_many{}, shape(blocks, 1), 2u, 1, counters.data() + 1);
        CHECK(one.wait().grids == 2 * blocks + 1);
        CHECK(other.wait().grids == 2 * blocks + 1);
    }
    CHECK(counters.to_vector() == std::vector<count_type>(2, (runs + 5) * count_type{2} * blocks));
}

TEST_CASE("no more worker blocks are launched than fit, however many are asked for") {
    dynpar::queue_options options = small_engine();
    options.worker_blocks = 2 * multiprocessors();
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    for (const int threads : {1, 32, 64}) {
        const count_type none = 0;
        counter.copy_from(&none);
        CHECK(engine.run(launch_many{}, shape(5000, 1), 3u, threads, counter.data()).grids == 15001);
        CHECK(counter.to_vector()[0] == 15000);
    }
}

}  // namespace
