// Contract row C6, for the queue engine: what wait() says in a run that is stopped, for want of memory or by its
// deadline.
#include "engine_under_test.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

#if DYNPAR_TEST_ENGINE_QUEUE

using namespace conformance;

namespace {

struct count_one {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(count, 1u);
    }
};
/// Its arguments are too many for a task: a launch needs memory.
struct forty_eight_bytes {
    unsigned values[12];
};
struct count_one_of_many_arguments {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count, forty_eight_bytes) const {
        count_one{}(block, count);
    }
};

/// One thread: takes all memory that the run has.
template <class Block>
DYNPAR_FUNCTION void take_all_memory(Block& block) {
    for (std::size_t bytes = std::size_t{1} << 24; bytes >= 16; bytes /= 2)
        while (block.template scratch<char>(bytes) != nullptr) {
        }
}

dynpar::queue_options few_warps(unsigned block_threads) {
    dynpar::queue_options options;
    options.block_threads = block_threads;
    options.worker_blocks = 1;
    options.memory_bytes = std::size_t{1} << 20;
    return options;
}

/// What the run threw.
template <class Kernel, class... Args>
std::string error_of(dynpar::queue_engine& engine, Kernel kernel, const dynpar::shape& shape, Args... args) {
    try {
        engine.run(kernel, shape, args...);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return {};
}

/// One block: launches three children when there is no more memory, for a node neither, and waits.
struct wait_without_memory {
    static constexpr const char* name = "wait_without_memory";
    static constexpr unsigned launched = 0, failed_waits = 1, children = 2;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counts, unsigned child_threads, bool takes_memory) const {
        if (block.thread_rank() == 0) {
            if (takes_memory) take_all_memory(block);
            for (unsigned i = 0; i < 3; ++i)
                if (block.launch(count_one{}, dynpar::shape(1, child_threads), counts + children) ==
                    dynpar::status::success)
                    ++counts[launched];
        }
        if (block.wait() != dynpar::status::success) dynpar::atomic_add(counts + failed_waits, 1u);
    }
};

TEST_CASE("C6: a wait without memory fails in all threads of the block, and the report names it once") {
    for (const unsigned threads : {1u, 32u, 64u, 128u}) {
        for (const unsigned child_threads : {1u, 32u, 64u}) {
            CAPTURE(threads);
            CAPTURE(child_threads);
            dynpar::queue_engine engine(few_warps(128));
            auto counts = filled(engine, 3, 0u);
            const std::string error =
                error_of(engine, wait_without_memory{}, dynpar::shape(1, threads), counts.data(), child_threads, true);
            const auto found = counts.to_vector();
            const unsigned failed = found[wait_without_memory::failed_waits];
            CHECK((failed == 0 || failed == threads));
            if (failed == 0) CHECK(found[wait_without_memory::children] == found[wait_without_memory::launched]);
            if (found[wait_without_memory::launched] == 3)  // some launches need memory as well
                CHECK(error.find("wait in wait_without_memory") != std::string::npos);
            CHECK(error.find("had not begun") == std::string::npos);
            CHECK(found[wait_without_memory::children] == found[wait_without_memory::launched]);
        }
    }
}

/// One block: has a node already when it takes all memory; then a child that waits as above, and then itself.
struct wait_above_one_without_memory {
    static constexpr unsigned failed_waits = 3, begun = 4;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counts, unsigned middle_threads,
                                    unsigned child_threads) const {
        if (block.thread_rank() == 0) block.launch(count_one{}, dynpar::shape(1, 1), counts + begun);
        block.wait();
        if (block.thread_rank() == 0) {
            take_all_memory(block);
            block.launch(wait_without_memory{}, dynpar::shape(1, middle_threads), counts, child_threads, false);
        }
        if (block.wait() != dynpar::status::success) dynpar::atomic_add(counts + failed_waits, 1u);
    }
};

TEST_CASE("C6: a block whose wait had no memory is not complete before its children are") {
    for (const unsigned threads : {32u, 64u, 128u}) {
        for (const unsigned middle_threads : {32u, 64u, 128u}) {
            for (const unsigned child_threads : {1u, 32u, 64u}) {
                CAPTURE(threads);
                CAPTURE(middle_threads);
                CAPTURE(child_threads);
                dynpar::queue_engine engine(few_warps(128));
                auto counts = filled(engine, 5, 0u);
                error_of(engine, wait_above_one_without_memory{}, dynpar::shape(1, threads), counts.data(),
                         middle_threads, child_threads);
                const auto found = counts.to_vector();
                if (found[wait_above_one_without_memory::failed_waits] == 0)
                    CHECK(found[wait_without_memory::children] == found[wait_without_memory::launched]);
            }
        }
    }
}

/// Launches and waits in turns, until a wait fails.
struct rounds_until_wait_fails {
    static constexpr unsigned rounds = 0, children = 1;
    static constexpr unsigned most = 1000000;  // on a simulated GPU 50,000 rounds may take less than a millisecond
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counts, unsigned child_threads, bool needs_memory) const {
        if (block.thread_rank() == 0 && needs_memory) take_all_memory(block);
        for (unsigned i = 0; i < most; ++i) {
            if (block.thread_rank() == 0) {
                counts[rounds] = i + 1;
                if (needs_memory) {
                    block.launch(count_one_of_many_arguments{}, dynpar::shape(1, child_threads), counts + children,
                                 forty_eight_bytes{});
                } else {
                    block.launch(count_one{}, dynpar::shape(1, child_threads), counts + children);
                }
            }
            if (block.wait() != dynpar::status::success) break;
        }
    }
};

TEST_CASE("C6: rounds of a launch and a wait end when the run is stopped") {
    for (const bool needs_memory : {true, false}) {
        for (const unsigned threads : {1u, 32u, 64u}) {
            for (const unsigned child_threads : {1u, 64u}) {
                CAPTURE(needs_memory);
                CAPTURE(threads);
                CAPTURE(child_threads);
                dynpar::queue_options options = few_warps(64);
                if (!needs_memory) options.deadline_milliseconds = 1;
                dynpar::queue_engine engine(options);
                auto counts = filled(engine, 2, 0u);
                CHECK(!error_of(engine, rounds_until_wait_fails{}, dynpar::shape(1, threads), counts.data(),
                                child_threads, needs_memory)
                           .empty());
                CHECK(counts.to_vector()[0] < rounds_until_wait_fails::most);
            }
        }
    }
}

/// In rounds, until a wait fails: the first block launches a narrow child, the second such that need all warps. In the
/// last of the rounds one of those asks for more shared memory than there is.
struct narrow_and_wide_children {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count, unsigned all_threads, unsigned rounds) const {
        for (unsigned round = 0; round < rounds; ++round) {
            if (block.thread_rank() == 0) {
                if (block.block_rank() == 0) {
                    block.launch(count_one{}, dynpar::shape(1, 64), count);
                } else {
                    for (unsigned i = 0; i < 20; ++i) {
                        const bool is_too_large = i == 15 && round + 1 == rounds;
                        block.launch(count_one{}, dynpar::shape(1, all_threads, is_too_large ? 200000 : 0), count);
                    }
                }
            }
            if (block.wait() != dynpar::status::success) break;
        }
    }
};

TEST_CASE("C6: a stopped run ends although blocks wait that have no children left, beside such as have wider ones") {
    for (const unsigned threads : {128u, 256u, 512u}) {
        for (const unsigned rounds : {1u, 1u, 1u, 2u, 50000u}) {
            CAPTURE(threads);
            CAPTURE(rounds);
            dynpar::queue_options options = few_warps(threads);
            options.memory_bytes = 128 << 10;
            if (rounds > 2) options.deadline_milliseconds = 1;
            dynpar::queue_engine engine(options);
            auto count = filled(engine, 1, 0u);
            CHECK(!error_of(engine, narrow_and_wide_children{}, dynpar::shape(2, threads / 2), count.data(), threads,
                            rounds)
                       .empty());
        }
    }
}

}  // namespace

#endif
