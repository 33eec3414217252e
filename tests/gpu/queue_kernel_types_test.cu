// Kernels that the host runs, of types that nvcc does not let everything be made of, with lambdas and private ones, and
// with large arguments.
#include "queue_test.cuh"

using queue_test::count_type;

namespace {

/// Runs a function with the thread's rank.
template <class Function>
struct apply {
    static constexpr const char* name = "apply";
    Function function;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* values) const {
        function(block.thread_rank(), values);
    }
};
/// The same, and its child runs it as well.
template <class Function>
struct apply_twice {
    Function function;
    template <class Block>
    __device__ void operator()(Block& block, count_type* values) const {
        function(block.thread_rank(), values);
        if (block.thread_rank() == 0)
            block.launch(apply<Function>{function}, dynpar::shape(1, block.num_threads()), values + 100);
    }
};

/// For any function: what is written down by each of 40 threads of the kernel.
template <class Kernel>
std::vector<count_type> values_of(dynpar::queue_engine& engine, const Kernel& kernel) {
    auto values = queue_test::filled<count_type>(engine, 200, 0);
    engine.run(kernel, dynpar::shape(1, 40), values.data());
    return values.to_vector();
}

}  // namespace

namespace queue_kernel_types_test {

// nvcc lets lambdas for the device stand in functions that are not internal to a file.
std::vector<count_type> values_of_device_lambda(dynpar::queue_engine& engine, count_type factor) {
    const auto function = [factor] __device__(unsigned i, count_type* values) { values[i] = factor * i; };
    return values_of(engine, apply_twice<decltype(function)>{function});
}
std::vector<count_type> values_of_other_lambda(dynpar::queue_engine& engine) {
    const auto function = [] __host__ __device__(unsigned i, count_type* values) { values[i] = i + 1; };
    return values_of(engine, apply<decltype(function)>{function});
}

/// Only its own children have its private type.
class secret_keeper {
    struct secret {
        DYNPAR_FUNCTION void operator()(unsigned i, count_type* values) const { values[i] = 3 * i; }
    };

public:
    static constexpr const char* name = "secret_keeper";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* values) const {
        if (block.thread_rank() == 0) block.launch(apply<secret>{}, dynpar::shape(1, 40), values);
    }
};

}  // namespace queue_kernel_types_test

TEST_CASE("a kernel that the host runs may hold a lambda, and what it launches, too") {
    dynpar::queue_engine engine(queue_test::with_deadline());
    for (const count_type factor : {7u, 9u}) {
        const std::vector<count_type> twice = queue_kernel_types_test::values_of_device_lambda(engine, factor);
        const std::vector<count_type> once = queue_kernel_types_test::values_of_other_lambda(engine);
        for (unsigned i = 0; i < 40; ++i) {
            CHECK(twice[i] == factor * i);
            CHECK(twice[100 + i] == factor * i);
            CHECK(once[i] == i + 1);
        }
    }
}

TEST_CASE("a kernel that is launched may have types that are private to the one that launches it") {
    dynpar::queue_engine engine(queue_test::with_deadline());
    const std::vector<count_type> values = values_of(engine, queue_kernel_types_test::secret_keeper{});
    for (unsigned i = 0; i < 40; ++i) CHECK(values[i] == 3 * i);
}

namespace {

struct add_value {
    static constexpr const char* name = "add_value";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* sum, count_type value) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(sum, value);
    }
};
/// More than the persistent grid has room for as a parameter in most programs.
struct large_arguments {
    count_type values[100];
};
struct add_large {
    static constexpr const char* name = "add_large";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, large_arguments arguments, count_type* sum) const {
        for (unsigned i = block.thread_rank(); i < 100; i += block.num_threads())
            block.launch(add_value{}, dynpar::shape(1, 1), sum, arguments.values[i]);
    }
};

TEST_CASE("a kernel that the host runs may have arguments of any size that a launch may have") {
    dynpar::queue_engine engine(queue_test::with_deadline());
    large_arguments arguments{};
    for (unsigned i = 0; i < 100; ++i) arguments.values[i] = i * i;
    for (const unsigned threads : {1u, 32u, 200u}) {
        CAPTURE(threads);
        auto sum = queue_test::filled<count_type>(engine, 1, 0);
        engine.run(add_large{}, dynpar::shape(1, threads), arguments, sum.data());
        CHECK(sum.value() == 328350);
    }
}

}  // namespace
