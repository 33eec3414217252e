// The queue engine in a file that is compiled for narrow worker blocks.
#define DYNPAR_QUEUE_MOST_THREADS 256
#include "queue_test.cuh"

using namespace queue_test;

namespace {

struct count_me {
    static constexpr const char* name = "count_me";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counter) const {
        block.sync();
        dynpar::atomic_add(counter, count_type{1});
    }
};

TEST_CASE("worker blocks are as wide as the file was compiled for, and wider ones are refused") {
    dynpar::queue_options options = with_deadline();
    options.moldable_threads = 512;
    dynpar::queue_engine engine(options);
    auto counter = filled<count_type>(engine, 1, 0);
    CHECK(engine.run(count_me{}, shape(10, 256), counter.data()).grids == 1);
    CHECK(counter.to_vector()[0] == 2560);
    CHECK(engine.run(count_me{}, shape(10, dynpar::at_most(1024)), counter.data()).grids == 1);
    CHECK(counter.to_vector()[0] == 2 * 2560);

    const dynpar::report wide = engine.try_run(count_me{}, shape(1, 257), counter.data());
    REQUIRE(wide.failures.size() == 1);
    CHECK(wide.failures[0].status == dynpar::status::invalid_configuration);
    CHECK(contains(wide.failures[0].note, "DYNPAR_QUEUE_MOST_THREADS"));

    options.block_threads = 288;
    dynpar::queue_engine wide_engine(options);
    CHECK(
        contains(message_of<std::invalid_argument>([&] { wide_engine.run(count_me{}, shape(1, 32), counter.data()); }),
                 "compiled for worker blocks of at most 256 threads"));
    CHECK(counter.to_vector()[0] == 2 * 2560);
}

}  // namespace
