// A program of several files that the host runs kernels from: each has a persistent grid of its own, and no function of
// one is called from the other's.
#include "queue_modules_test.cuh"

using namespace queue_modules_test;

namespace {

struct leaf {
    static constexpr const char* name = "leaf";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* leaves, count_type value) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(leaves, value);
    }
};
struct local_tree {
    static constexpr const char* name = "local_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* leaves) const {
        if (block.thread_rank() != 0) return;
        for (unsigned i = 0; i < 3 && levels != 0; ++i) block.launch(*this, dynpar::shape(1, 1), levels - 1, leaves);
        if (levels == 0) block.launch(leaf{}, dynpar::shape(1, 64), leaves, count_type{1000000});
    }
};
count_type leaves_of_local_tree(dynpar::queue_engine& engine, unsigned levels) {
    auto leaves = queue_test::filled<count_type>(engine, 1, 0);
    engine.run(local_tree{}, dynpar::shape(1, 1), levels, leaves.data());
    return leaves.value();
}

TEST_CASE("files of a program run kernels of the same name, and the same kernel, each with its own functions") {
    dynpar::queue_engine engine(queue_test::with_deadline());
    for (int i = 0; i < 3; ++i) {
        CHECK(leaves_of_other_file(engine, 4) == 2 * 27 + 81);
        CHECK(leaves_of_local_tree(engine, 4) == 81 * 1000000);
        CHECK(leaves_of_shared_tree(engine, 4) == 81);
        CHECK(leaves_of_other_file(engine, 0) == 1000 + 1);
    }
}

/// One for each mode: nothing of the kernel has been asked before.
template <cudaStreamCaptureMode>
struct first_captured {
    static constexpr const char* name = "first_captured";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* sum) const {
        if (block.thread_rank() == 0) block.launch(leaf{}, dynpar::shape(1, 1), sum, count_type{7});
    }
};

template <cudaStreamCaptureMode Mode>
void capture_first_run() {
    CAPTURE(static_cast<int>(Mode));
    dynpar::queue_engine engine(queue_test::with_deadline());
    auto sum = queue_test::filled<count_type>(engine, 1, 0);
    cudaStream_t stream = nullptr;
    dynpar::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    dynpar::check(cudaStreamBeginCapture(stream, Mode), "beginning a capture");
    dynpar::queue_handle run = engine.enqueue(stream, first_captured<Mode>{}, dynpar::shape(5, 1), sum.data());
    cudaGraph_t graph = nullptr;
    dynpar::check(cudaStreamEndCapture(stream, &graph), "ending a capture");
    cudaGraphExec_t instance = nullptr;
    dynpar::check(cudaGraphInstantiate(&instance, graph, 0), "instantiating a graph");
    for (int i = 0; i < 3; ++i) dynpar::check(cudaGraphLaunch(instance, stream), "launching a graph");
    dynpar::check(cudaStreamSynchronize(stream), "waiting for a graph");
    CHECK(run.wait().failed_calls == 0);
    CHECK(sum.value() == 3 * 5 * 7);
    cudaGraphExecDestroy(instance);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

TEST_CASE("a kernel's first run may be captured, in every mode") {
    capture_first_run<cudaStreamCaptureModeGlobal>();
    capture_first_run<cudaStreamCaptureModeThreadLocal>();
    capture_first_run<cudaStreamCaptureModeRelaxed>();
}

}  // namespace
