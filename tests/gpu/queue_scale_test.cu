// The queue engine at work: deep waiting, a thousand million grids, every width of block in one run, recursions without
// an end.
#include "queue_test.cuh"

using namespace queue_test;

namespace {

// ---- Waiting

struct waiting_fib {
    static constexpr const char* name = "waiting_fib";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n, count_type* out) const {
        const bool first = block.thread_rank() == 0;
        if (n < 2) {
            if (first) *out = n;
            return;
        }
        count_type* parts = nullptr;
        if (first) {
            parts = block.template scratch<count_type>(2);
            block.launch(*this, shape(1, block.num_threads()), n - 1, parts);
            block.launch(*this, shape(1, block.num_threads()), n - 2, parts + 1);
        }
        block.wait();
        if (first) *out = parts[0] + parts[1];
    }
};

count_type fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// fib(n) waits at depths 0 to n - 2.
void check_waiting_fib(unsigned n, unsigned threads) {
    CAPTURE(n);
    CAPTURE(threads);
    dynpar::queue_options options = with_deadline();
    options.limits.sync_depth = n - 1;
    dynpar::queue_engine engine(options);
    auto out = filled<count_type>(engine, 1, 0);
    const dynpar::report report = engine.run(waiting_fib{}, shape(1, threads), n, out.data());
    CHECK(out.to_vector()[0] == fib(n));
    CHECK(report.grids == 2 * fib(n + 1) - 1);
}

TEST_CASE("fib(30) with wait() in every grid is right, and one level of synchronization depth less is reported") {
    check_waiting_fib(30, 1);

    dynpar::queue_options options = with_deadline();
    options.limits.sync_depth = 28;
    dynpar::queue_engine engine(options);
    auto out = filled<count_type>(engine, 1, 0);
    const dynpar::report report = engine.try_run(waiting_fib{}, shape(1, 1), 30u, out.data());
    CHECK(report.failed_calls == 1);  // one fib(2) is at depth 28
    REQUIRE(report.failures.size() == 1);
    CHECK(report.failures[0].operation == dynpar::operation::wait);
    CHECK(report.failures[0].status == dynpar::status::sync_depth_exceeded);
    CHECK(report.failures[0].kernel == "waiting_fib");
    CHECK(report.failures[0].depth == 28);
    CHECK(report.lost_launches == 0);
    check_usable(engine);
}

TEST_CASE("warps and worker blocks wait at every level of a recursion as well") {
    check_waiting_fib(20, 8);
    check_waiting_fib(20, 32);
    check_waiting_fib(10, 48);
    check_waiting_fib(8, 512);
}

// Frames larger than the engine assumes.
struct large_frame {
    static constexpr const char* name = "large_frame";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* sum) const {
        constexpr unsigned words = 400;
        volatile unsigned memory[words];
        // Not unrolled: in relocatable device code a kernel on the queue engine has 128 registers.
#if DYNPAR_ON_DEVICE
#pragma unroll 1
#endif
        for (unsigned i = 0; i < words; ++i) memory[i] = i + levels;
        if (levels > 0) {
            if (block.thread_rank() == 0) block.launch(*this, shape(1, block.num_threads()), levels - 1, sum);
            block.wait();
        }
        unsigned right = 0;
#if DYNPAR_ON_DEVICE
#pragma unroll 1
#endif
        for (unsigned i = 0; i < words; ++i) right += memory[i] == i + levels ? 1 : 0;
        if (right == words) dynpar::atomic_add(sum, count_type{1});
    }
};

TEST_CASE("a wait() that the stack has no room for is refused, and nothing is overwritten") {
    std::size_t before = 0;
    dynpar::check(cudaDeviceGetLimit(&before, cudaLimitStackSize), "asking for the stack's size");
    constexpr std::size_t stack_bytes = 24 * 1024;
    dynpar::check(cudaDeviceSetLimit(cudaLimitStackSize, stack_bytes), "setting the stack's size");
    {
        dynpar::queue_options options = with_deadline();
        options.limits.sync_depth = 1000;
        options.limits.stack_bytes = stack_bytes;  // by the engine's estimate enough for 13 levels
        dynpar::queue_engine engine(options);
        for (const unsigned threads : {1u, 8u, 48u}) {
            CAPTURE(threads);
            auto sum = filled<count_type>(engine, 1, 0);
            const dynpar::report shallow = engine.run(large_frame{}, shape(1, threads), 3u, sum.data());
            CHECK(shallow.failed_calls == 0);
            CHECK(sum.to_vector()[0] == 4 * threads);

            const dynpar::report deep = engine.try_run(large_frame{}, shape(1, threads), 60u, sum.data());
            CHECK(sum.to_vector()[0] == 65 * threads);
            CHECK(deep.failed_calls > 0);
            CHECK(deep.lost_launches == 0);
            for (const dynpar::failure& failure : deep.failures) {
                CHECK(failure.operation == dynpar::operation::wait);
                CHECK(failure.status == dynpar::status::sync_depth_exceeded);
                CHECK(failure.kernel == "large_frame");
                CHECK(failure.depth > 3);
                CHECK(contains(failure.note, "limits::stack_bytes"));
            }
        }
        check_usable(engine);
    }
    dynpar::check(cudaDeviceSetLimit(cudaLimitStackSize, before), "restoring the stack's size");
}

// Blocks of every width wait for blocks of every other width.
struct mixed_wait {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, count_type* counter) const {
        if (block.thread_rank() == 0) {
            dynpar::atomic_add(counter, count_type{1});
            const int widths[3] = {1, 8, 40};
            for (unsigned i = 0; i < 3 && levels > 0; ++i)
                block.launch(*this, shape(1, widths[(levels + i) % 3]), levels - 1, counter);
        }
        block.wait();
        if (block.thread_rank() == 0 && levels > 0) {
            const count_type all = dynpar::atomic_add(counter, count_type{0});
            if (all < 4) dynpar::atomic_add(counter, count_type{1000000});  // its three children have counted
        }
    }
};

TEST_CASE("lanes, warps and worker blocks that wait for each other do not wait for ever") {
    dynpar::queue_options options = with_deadline();
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

// ---- Many grids

struct empty_tree {
    static constexpr const char* name = "empty_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels) const {
        if (levels == 0) return;
        block.launch(*this, shape(1, 1), levels - 1);
        block.launch(*this, shape(1, 1), levels - 1);
    }
};

TEST_CASE("1,073,741,823 grids in one run, in memory that is bounded by the depth") {
    dynpar::queue_options options = with_deadline();
    options.memory_bytes = 256 << 20;
    dynpar::queue_engine engine(options);
    const dynpar::report report = engine.run(empty_tree{}, shape(1, 1), 29u);
    CHECK(report.grids == (1ull << 30) - 1);
    CHECK(report.deepest_nesting == 29);
}

TEST_CASE("more children than a stack has room for spill, and each runs once") {
    dynpar::queue_engine engine(with_deadline());
    for (const int threads : {1, 8, 40}) {
        CAPTURE(threads);
        const unsigned count = threads == 40 ? 2000 : 100000;
        auto counter = filled<count_type>(engine, 1, 0);
        const dynpar::report report = engine.run(launch_many{}, shape(3, 1), count, threads, counter.data());
        CHECK(counter.to_vector()[0] == 3 * count);
        CHECK(report.grids == 1 + 3 * count);
    }
}

struct count_threads {
    static constexpr const char* name = "count_threads";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counter) const {
        block.sync();
        dynpar::atomic_add(counter, count_type{1});
    }
};

struct launch_wide {
    static constexpr const char* name = "launch_wide";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, count_type* counter) const {
        for (unsigned i = 0; i < count; ++i) block.launch(count_threads{}, shape(1, 64), counter);
    }
};

TEST_CASE("one thread launches 4096 blocks of 64 threads") {
    dynpar::queue_engine engine(with_deadline());
    auto counter = filled<count_type>(engine, 1, 0);
    const dynpar::report report = engine.run(launch_wide{}, shape(1, 1), 4096u, counter.data());
    CHECK(counter.to_vector()[0] == 4096 * 64);
    CHECK(report.grids == 4097);
}

// ---- Every width in one run. A tree that a seed decides: shapes, streams, continuations.

DYNPAR_FUNCTION constexpr std::uint32_t mixed(std::uint32_t seed, std::uint32_t number) {
    std::uint32_t x = seed * 0x9e3779b9u + number * 0x85ebca6bu + 1;
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}
DYNPAR_FUNCTION constexpr unsigned width_of(std::uint32_t seed) {
    return seed % 5 == 0 ? 1 : seed % 5 == 1 ? 8 : seed % 5 == 2 ? 32 : seed % 5 == 3 ? 48 : 512;
}
DYNPAR_FUNCTION constexpr unsigned blocks_of(std::uint32_t seed) { return 1 + (seed >> 8) % 3; }
DYNPAR_FUNCTION constexpr bool goes_into_a_stream(std::uint32_t seed) { return ((seed >> 16) & 3) == 0; }
inline constexpr unsigned children = 3;
inline constexpr std::uint32_t of_continuation = 1000;

struct mixed_widths {
    static constexpr const char* name = "mixed_widths";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t seed, unsigned levels, count_type* sums) const {
        block.sync();
        dynpar::atomic_add(&sums[0], count_type{1});
        // The last thread, so that it is not always the first lane of the first warp.
        if (block.thread_rank() + 1 != block.num_threads()) return;
        dynpar::atomic_add(&sums[1], count_type{mixed(seed, block.block_rank())});
        if (levels == 0 || block.block_rank() != 0) return;
        const std::uint32_t after = mixed(seed, of_continuation);
        block.then(*this, shape(blocks_of(after), width_of(after)), after, 0u, sums);
        for (std::uint32_t i = 0; i < children; ++i) {
            const std::uint32_t child = mixed(seed, 100 + i);
            const shape s(blocks_of(child), width_of(child));
            if (goes_into_a_stream(child)) {
                auto stream = block.make_stream();
                block.launch(stream, *this, s, child, levels - 1, sums);
                block.launch(stream, *this, s, child + 1, 0u, sums);
            } else {
                block.launch(*this, s, child, levels - 1, sums);
            }
        }
    }
};

struct mixed_counts {
    count_type threads = 0, checksum = 0, grids = 0;
};

void count_mixed(mixed_counts& counts, std::uint32_t seed, unsigned levels, unsigned blocks, unsigned threads) {
    counts.grids += 1;
    counts.threads += count_type{blocks} * threads;
    for (unsigned b = 0; b < blocks; ++b) counts.checksum += mixed(seed, b);
    if (levels == 0) return;
    const std::uint32_t after = mixed(seed, of_continuation);
    count_mixed(counts, after, 0, blocks_of(after), width_of(after));
    for (std::uint32_t i = 0; i < children; ++i) {
        const std::uint32_t child = mixed(seed, 100 + i);
        count_mixed(counts, child, levels - 1, blocks_of(child), width_of(child));
        if (goes_into_a_stream(child)) count_mixed(counts, child + 1, 0, blocks_of(child), width_of(child));
    }
}

TEST_CASE("lanes, warps and worker blocks, grids of several blocks, continuations and streams in one run, 100 times") {
    dynpar::queue_engine engine(with_deadline());
    for (std::uint32_t run = 0; run < 100; ++run) {
        CAPTURE(run);
        const unsigned threads = width_of(run);
        mixed_counts expected;
        count_mixed(expected, run, 5, 2, threads);
        auto sums = filled<count_type>(engine, 2, 0);
        const dynpar::report report = engine.run(mixed_widths{}, shape(2, threads), run, 5u, sums.data());
        const std::vector<count_type> found = sums.to_vector();
        CHECK(found[0] == expected.threads);
        CHECK(found[1] == expected.checksum);
        CHECK(report.grids == expected.grids);
    }
}

// ---- Recursions without an end

TEST_CASE("an endless recursion ends with launch_error that says what to raise, and the next run is right") {
    dynpar::queue_options options = with_deadline();
    options.memory_bytes = 16 << 20;
    dynpar::queue_engine engine(options);
    for (const int threads : {1, 32, 64, 512}) {
        CAPTURE(threads);
        const std::string message =
            message_of<dynpar::launch_error>([&] { engine.run(endless_tree{}, shape(1, threads), threads); });
        CAPTURE(message);
        CHECK(contains(message, "endless_tree"));
        CHECK(contains(message, "grids alive"));
        CHECK_FALSE(contains(message, " 0 grids alive"));
        CHECK(contains(message, "queue_options::memory_bytes"));
        check_usable(engine);
    }
}

// ---- Grids that continue

// A grid that continues itself: block 0 says so, and all blocks are counted.
struct goes_on {
    static constexpr const char* name = "goes_on";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned times, count_type* blocks) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(blocks, count_type{1});
        if (block.block_rank() == 0 && times != 0) {
            block.then(*this, shape(block.num_blocks(), block.num_threads()), times - 1, blocks);
        }
    }
};

TEST_CASE("a grid that continues itself 20,000 times gives back what its continuations took") {
    dynpar::queue_options options = with_deadline();
    options.worker_blocks = 4;
    options.memory_bytes = 4 << 20;  // what 16,384 continuations take, and each warp may keep what 64 took
    dynpar::queue_engine engine(options);
    constexpr unsigned times = 20000;
    for (const unsigned threads : {1u, 32u, 64u}) {
        for (const unsigned blocks : {2u, 64u}) {
            CAPTURE(threads);
            CAPTURE(blocks);
            auto ran = filled<count_type>(engine, 1, 0);
            const dynpar::report report = engine.run(goes_on{}, shape(blocks, threads), times, ran.data());
            CHECK(ran.to_vector()[0] == count_type{blocks} * (times + 1));
            CHECK(report.grids == times + 1);
        }
    }
}

// The same through the widths: from more threads than a warp has down to one.
struct goes_on_narrower {
    static constexpr const char* name = "goes_on_narrower";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* blocks) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(blocks, count_type{1});
        if (block.block_rank() == 0 && block.num_threads() > 1) {
            block.then(*this, shape(block.num_blocks(), block.num_threads() / 2), blocks);
        }
    }
};

TEST_CASE("a grid of thousands of blocks that continues in narrower ones is complete every time") {
    dynpar::queue_engine engine(with_deadline());
    for (const unsigned blocks : {2u, 33u, 500u, 2047u, 2048u, 10000u}) {
        for (int repeat = 0; repeat < 20; ++repeat) {
            CAPTURE(blocks);
            auto ran = filled<count_type>(engine, 1, 0);
            const dynpar::report report = engine.run(goes_on_narrower{}, shape(blocks, 256), ran.data());
            REQUIRE(ran.to_vector()[0] == count_type{blocks} * 9);
            REQUIRE(report.grids == 9);
        }
    }
}

// A grid each of whose blocks does something else that counts for when the grid is complete; and then it continues.
struct does_everything {
    static constexpr const char* name = "does_everything";
    static constexpr unsigned ways = 8;
    static constexpr unsigned launched_blocks =
        1 + 3 + 1 + 1 + 1 + 40;  // by blocks that differ in the rank modulo `ways`, all together
    static constexpr unsigned launched_grids = 1 + 3 + 1 + 1 + 1 + 1;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned times, count_type* blocks, count_type* launched,
                                    count_type* early) const {
        const bool first = block.thread_rank() == 0;
        const unsigned way = block.block_rank() % ways;
        if (first) dynpar::atomic_add(blocks, count_type{1});
        if (first && way == 1) block.launch(add_one{}, shape(1, 1), launched);
        if (first && way == 2) {
            for (unsigned i = 0; i < 3; ++i) block.launch(add_one{}, shape(1, dynpar::at_most(32)), launched);
        }
        if (first && way == 3) block.launch(add_one{}, shape(1, 64), launched);
        if (first && way == 4) block.launch(add_one{}, shape(1, 1), launched);
        if (way == 4) block.wait();
        if (first && way == 5) block.then(add_one{}, shape(1, 32), launched);
        if (first && way == 6) block.launch(add_one{}, shape(40, 8), launched);
        if (first && block.block_rank() == 0) {
            block.then(goes_on_complete{}, shape(1, 1), block.num_blocks(), block.num_threads(), times, blocks,
                       launched, early);
        }
    }

    // What this grid and all it has launched have counted is there when it continues. Its other continuations may come
    // later.
    struct goes_on_complete {
        static constexpr const char* name = "goes_on_complete";
        template <class Block>
        DYNPAR_FUNCTION void operator()(Block& block, unsigned count, unsigned threads, unsigned times,
                                        count_type* blocks, count_type* launched, count_type* early) const {
            const count_type of_each_way = *blocks / count * (count / ways);
            if (*blocks % count != 0 || *launched < of_each_way * (launched_blocks - 1))
                dynpar::atomic_add(early, count_type{1});
            if (times != 0) block.then(does_everything{}, shape(count, threads), times - 1, blocks, launched, early);
        }
    };
};

TEST_CASE("a large grid is complete when its blocks and all they launched are, whatever each of them does") {
    dynpar::queue_engine engine(with_deadline());
    constexpr unsigned times = 2;
    for (const unsigned count : {40u, 2048u, 5000u}) {
        for (const unsigned threads : {1u, 8u, 32u, 64u}) {
            for (int repeat = 0; repeat < 3; ++repeat) {
                CAPTURE(count);
                CAPTURE(threads);
                auto blocks = filled<count_type>(engine, 1, 0), launched = filled<count_type>(engine, 1, 0);
                auto early = filled<count_type>(engine, 1, 0);
                const dynpar::report report = engine.run(does_everything{}, shape(count, threads), times, blocks.data(),
                                                         launched.data(), early.data());
                const count_type of_each_way = count_type{count / does_everything::ways} * (times + 1);
                REQUIRE(blocks.to_vector()[0] == count_type{count} * (times + 1));
                REQUIRE(launched.to_vector()[0] == of_each_way * does_everything::launched_blocks);
                REQUIRE(early.to_vector()[0] == 0);
                REQUIRE(report.grids == 2 * (times + 1) + of_each_way * does_everything::launched_grids);
            }
        }
    }
}

// A run's first grid, of which every worker block begins with a share.
template <unsigned Words>
struct ballast {
    unsigned words[Words];
};
struct says_whether_complete {
    static constexpr const char* name = "says_whether_complete";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const count_type* counted, count_type wanted, count_type* complete) const {
        *complete = *counted == wanted;
    }
};
template <unsigned Words>
struct marks_block {
    static constexpr const char* name = "marks_block";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* seen, count_type* counted, count_type* complete,
                                    ballast<Words> load) const {
        if (block.thread_rank() != 0) return;
        if (load.words[0] == 7 && load.words[Words - 1] == 11) dynpar::atomic_add(seen + block.block_rank(), 1u);
        dynpar::atomic_add(counted, count_type{1});
        if (block.block_rank() % 7 == 3) block.launch(add_one{}, shape(1, 1), counted);
        if (block.block_rank() == 0) {
            const unsigned launched = (block.num_blocks() + 3) / 7;
            block.then(says_whether_complete{}, shape(1, 1), counted, count_type{block.num_blocks()} + launched,
                       complete);
        }
    }
};

template <unsigned Words>
void check_first_grid(dynpar::queue_engine& engine, const shape& s) {
    const auto blocks = static_cast<unsigned>(s.blocks.count());
    CAPTURE(blocks);
    CAPTURE(s.threads.count());
    CAPTURE(Words);
    auto seen = filled<unsigned>(engine, blocks, 0);
    auto counted = filled<count_type>(engine, 1, 0), complete = filled<count_type>(engine, 1, 0);
    ballast<Words> load{};
    load.words[0] = 7;
    load.words[Words - 1] = 11;
    const dynpar::report report =
        engine.run(marks_block<Words>{}, s, seen.data(), counted.data(), complete.data(), load);
    REQUIRE(seen.to_vector() == std::vector<unsigned>(blocks, 1));
    REQUIRE(complete.to_vector()[0] == 1);
    REQUIRE(report.grids == 2 + (blocks + 3) / 7);
}

TEST_CASE("every block of a run's first grid runs once, whatever its shape and arguments, and then it continues") {
    dynpar::queue_options small = with_deadline(), one = with_deadline(), narrow = with_deadline(),
                          traced = with_deadline();
    small.memory_bytes = 32 << 20;  // too little to begin with any in the caches
    one.worker_blocks = 1;
    narrow.block_threads = 64;
    traced.trace_grids = 4096;
    for (const dynpar::queue_options& options : {with_deadline(), small, one, narrow, traced}) {
        dynpar::queue_engine engine(options);
        for (const unsigned blocks : {1u, 2u, 33u, 131u, 132u, 133u, 2111u, 2113u, 5000u, 100000u}) {
            if (blocks > 5000 && (options.memory_bytes != 0 || options.trace_grids != 0)) continue;
            for (const unsigned threads : {1u, 2u, 32u, 64u}) {
                if (blocks > 5000 && threads > 32) continue;  // a block task takes microseconds
                check_first_grid<2>(engine, shape(blocks, threads));
            }
            check_first_grid<2>(engine, shape(blocks, dynpar::at_most(256)));
            check_first_grid<10>(engine, shape(blocks, 32));   // arguments that a task has no room for
            check_first_grid<100>(engine, shape(blocks, 32));  // nor its details
        }
    }
}

struct endless_chain {
    static constexpr const char* name = "endless_chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        if (block.thread_rank() == 0) block.then(*this, shape(1, block.num_threads()));
    }
};

TEST_CASE("a run that continues for ever is stopped by its deadline, and the next run is right") {
    dynpar::queue_options options;
    options.deadline_milliseconds = 100;
    dynpar::queue_engine engine(options);
    for (const int threads : {1, 32, 64}) {
        CAPTURE(threads);
        const std::string message =
            message_of<dynpar::deadlock_error>([&] { engine.run(endless_chain{}, shape(1, threads)); });
        CAPTURE(message);
        CHECK(contains(message, "endless_chain"));
        CHECK(contains(message, "deadline of 100 ms"));
        check_usable(engine);
    }
}

}  // namespace
