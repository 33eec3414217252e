// A file of its own, since all its kernels share one persistent grid: a kernel with a variable in shared memory.
#include "queue_test.cuh"

using queue_test::count_type;

namespace {

struct with_variable {
    static constexpr const char* name = "with_variable";
    template <class Block>
    __device__ void operator()(Block& block, count_type* values) const {
        __shared__ count_type sums[100];
        sums[block.thread_rank()] = values[block.thread_rank()];
        block.sync();
        if (block.thread_rank() == 0) values[0] = sums[1];
    }
};

}  // namespace

TEST_CASE("a kernel with a variable in shared memory is refused, and nothing runs") {
    int device = 0;
    int major = 0;
    REQUIRE(cudaGetDevice(&device) == cudaSuccess);
    REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess);
    if (major < 9) return;  // there memory is found by its name
    dynpar::queue_engine engine;
    auto values = queue_test::filled<count_type>(engine, 100, 7);
    const std::string said = queue_test::message_of<std::invalid_argument>(
        [&] { engine.run(with_variable{}, dynpar::shape(1, 100), values.data()); });
    CHECK_MESSAGE(queue_test::contains(said, "bytes of __shared__ variables"), said);
    CHECK_MESSAGE(queue_test::contains(said, "block.shared()"), said);
    CHECK(values.to_vector()[0] == 7);
}
