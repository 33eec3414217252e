// The queue engine under loads, orders and sizes that its own stacks, rings and counters were not made for.
#include "queue_test.cuh"

#include <algorithm>

using namespace queue_test;

namespace {

// ---- Completion where a warp counts for many

/// Three grids of one thread each, level after level, without a join; the leaves join.
struct fork_above_joins {
    static constexpr const char* name = "fork_above_joins";

    struct look_back {
        static constexpr const char* name = "look_back";
        template <class Block>
        DYNPAR_FUNCTION void operator()(Block&, count_type* counts) const {
            counts[2] = dynpar::atomic_add(&counts[0], count_type{0});
            counts[3] = dynpar::atomic_add(&counts[1], count_type{0});
        }
    };

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counts, unsigned levels, unsigned is_root) const {
        if (levels == 0) {
            block.launch(add_one{}, shape(1, 1), &counts[0]);
            block.then(add_one{}, shape(1, 1), &counts[1]);
            return;
        }
        for (unsigned i = 0; i < 3; ++i) block.launch(*this, shape(1, 1), counts, levels - 1, 0u);
        if (is_root != 0) block.then(look_back{}, shape(1, 1), counts);
    }
};

TEST_CASE("a continuation sees every leaf of a tree that forks without a join above leaves that join") {
    for (const unsigned worker_blocks : {0u, 1u, 2u}) {
        CAPTURE(worker_blocks);
        dynpar::queue_options options = with_deadline();
        options.worker_blocks = worker_blocks;
        if (worker_blocks != 0) options.block_threads = 32;
        dynpar::queue_engine engine(options);
        for (unsigned levels = 3; levels <= (worker_blocks != 0 ? 9u : 15u); levels += 2) {
            CAPTURE(levels);
            count_type leaves = 1;
            for (unsigned i = 0; i < levels; ++i) leaves *= 3;
            for (int repeat = 0; repeat < 5; ++repeat) {
                auto counts = filled<count_type>(engine, 4, 0);
                const dynpar::report report = engine.run(fork_above_joins{}, shape(1, 1), counts.data(), levels, 1u);
                const std::vector<count_type> found = counts.to_vector();
                CHECK(found[0] == leaves);
                CHECK(found[1] == leaves);
                CHECK(found[2] == leaves);
                CHECK(found[3] == leaves);
                CHECK(report.grids == (3 * leaves - 1) / 2 + 2 * leaves + 1);
            }
        }
    }
}

// ---- Grids of several blocks, very many at a time

struct several_blocks {
    count_type* blocks_run;
    unsigned children, most_blocks, threads;
};

/// Skewed: most have few blocks.
DYNPAR_FUNCTION inline unsigned blocks_of(const several_blocks& job, unsigned child) {
    unsigned random = child * 2654435761u + 1;
    random = (random ^ random >> 16) * 0x7feb352du;
    random ^= random >> 15;
    unsigned most = job.most_blocks;
    for (unsigned k = random & 15; k != 0 && most > 1; --k) most = most / 2 + 1;
    return most <= 1 ? 1 : 1 + (random >> 8) % most;
}

struct count_block {
    static constexpr const char* name = "count_block";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const several_blocks* job, unsigned) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(job->blocks_run, count_type{1});
    }
};

struct level_of_grids {
    static constexpr const char* name = "level_of_grids";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const several_blocks* work, unsigned left) const {
        const several_blocks job = *work;
        const unsigned stride = block.num_blocks() * block.num_threads();
        for (unsigned i = dynpar::this_grid(block).thread_rank(); i < job.children; i += stride) {
            block.launch(count_block{}, shape(blocks_of(job, i), dynpar::at_most(job.threads)), work, i);
        }
        if (left > 1 && block.block_rank() == 0 && block.thread_rank() == 0) {
            block.then(*this, shape(block.num_blocks(), dynpar::at_most(job.threads)), work, left - 1);
        }
    }
};

TEST_CASE(
    "threads of a wide grid launch very many grids of several blocks, level after level, and every block runs once") {
    struct load {
        unsigned children, most_blocks, threads, block_threads;
    };
    for (const load& load : {load{20000, 64, 256, 0}, load{110000, 4, 256, 0}, load{20000, 64, 256, 1024},
                             load{3000, 64, 1, 0}, load{20000, 300, 32, 256}, load{500, 20, 0, 0}}) {
        CAPTURE(load.children);
        CAPTURE(load.most_blocks);
        CAPTURE(load.threads);
        CAPTURE(load.block_threads);
        if (load.block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        dynpar::queue_options options = with_deadline();
        options.block_threads = load.block_threads;
        const bool is_wide = load.threads == 0;
        if (is_wide) options.moldable_threads = 96;  // a worker block each
        dynpar::queue_engine engine(options);
        auto count = engine.make_buffer<count_type>(1);
        auto work = engine.make_buffer<several_blocks>(1);
        const several_blocks job{count.data(), load.children, load.most_blocks, is_wide ? 96u : load.threads};
        work.copy_from(&job);
        constexpr unsigned levels = 4;
        count_type expected = 0;
        for (unsigned i = 0; i < load.children; ++i) expected += levels * blocks_of(job, i);
        for (int repeat = 0; repeat < 5; ++repeat) {
            const count_type none = 0;
            count.copy_from(&none);
            const dynpar::report report =
                engine.run(level_of_grids{}, shape((load.children + 31) / 32, dynpar::at_most(job.threads)),
                           static_cast<const several_blocks*>(work.data()), levels);
            CHECK(count.to_vector()[0] == expected);
            CHECK(report.grids == levels * (load.children + 1));
        }
    }
}

// ---- Launches after a wait

struct launch_after_wait {
    static constexpr const char* name = "launch_after_wait";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counts, unsigned blocks, unsigned waits) const {
        const bool first = block.thread_rank() == 0;
        for (unsigned i = 0; i < waits; ++i) {
            if (first) {
                block.launch(add_one{}, shape(1, 1), &counts[0]);
                block.launch(add_one{}, shape(1 + i * blocks, 40), &counts[1]);
            }
            block.wait();
            if (!first) continue;
            if (dynpar::atomic_add(&counts[0], count_type{0}) < i + 1) dynpar::atomic_add(&counts[2], count_type{1});
        }
        if (!first) return;
        for (unsigned i = 0; i < 3; ++i) block.launch(add_one{}, shape(1, 1), &counts[0]);
        block.launch(add_one{}, shape(blocks, 2), &counts[1]);
        block.then(add_one{}, shape(2, 40), &counts[3]);
    }
};

TEST_CASE("a block launches grids of any number of blocks after a wait") {
    dynpar::queue_engine engine(with_deadline());
    for (const unsigned threads : {1u, 7u, 32u, 64u, 512u}) {
        for (const unsigned blocks : {1u, 2u, 40u, 3000u}) {
            for (const unsigned waits : {1u, 3u}) {
                CAPTURE(threads);
                CAPTURE(blocks);
                CAPTURE(waits);
                auto counts = filled<count_type>(engine, 4, 0);
                const dynpar::report report =
                    engine.run(launch_after_wait{}, shape(1, threads), counts.data(), blocks, waits);
                const std::vector<count_type> found = counts.to_vector();
                CHECK(found[0] == waits + 3);
                CHECK(found[1] == waits + blocks * (waits * (waits - 1) / 2) + blocks);
                CHECK(found[2] == 0);
                CHECK(found[3] == 2);
                CHECK(report.grids == 2 * waits + 6);
            }
        }
    }
}

// ---- Stacks that are full

struct mark {
    static constexpr const char* name = "mark";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* runs, unsigned id) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(&runs[id], 1u);
    }
};

struct fan_out {
    static constexpr const char* name = "fan_out";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* runs, unsigned each, unsigned width, unsigned waits) const {
        const unsigned first = dynpar::this_grid(block).thread_rank() * each;
        for (unsigned i = 0; i < each; ++i) block.launch(mark{}, shape(1, width), runs, first + i);
        if (waits != 0) block.wait();
    }
};

TEST_CASE("every thread of a wide block launches more than the stacks hold, and each grid runs once") {
    dynpar::queue_options options = with_deadline();
    dynpar::queue_engine engine(options);
    for (const unsigned width : {1u, 2u, 32u, 64u}) {
        for (const unsigned threads : {1u, 32u, 64u, 512u}) {
            for (const unsigned each : {40u, 600u}) {
                for (const unsigned waits : {0u, 1u}) {
                    if (width == 64 && threads * each > 40000) continue;  // each takes a worker block
                    CAPTURE(width);
                    CAPTURE(threads);
                    CAPTURE(each);
                    CAPTURE(waits);
                    constexpr unsigned blocks = 2;
                    auto runs = filled<unsigned>(engine, blocks * threads * each, 0);
                    const dynpar::report report =
                        engine.run(fan_out{}, shape(blocks, threads), runs.data(), each, width, waits);
                    const std::vector<unsigned> found = runs.to_vector();
                    CHECK(std::count(found.begin(), found.end(), 1u) == static_cast<std::ptrdiff_t>(found.size()));
                    CHECK(report.grids == 1 + found.size());
                    CHECK(report.failed_calls == 0);
                }
            }
        }
    }
}

/// A block that waits for many others which wait for many others.
struct wait_for_many {
    static constexpr const char* name = "wait_for_many";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counts, unsigned levels, unsigned children,
                                    unsigned width) const {
        const bool first = block.thread_rank() == 0;
        if (first) dynpar::atomic_add(&counts[levels], count_type{1});
        if (levels == 0) return;
        for (unsigned i = 0; first && i < children; ++i) {
            block.launch(*this, shape(1, width), counts, levels - 1, i < 2 ? children : levels > 1 ? 3u : 0u, width);
        }
        block.wait();
    }
};

TEST_CASE("blocks wait for hundreds of blocks that wait for hundreds, on one worker block") {
    for (const unsigned block_threads : {64u, 128u, 512u}) {
        for (const unsigned width : {1u, 32u, 64u}) {
            CAPTURE(block_threads);
            CAPTURE(width);
            dynpar::queue_options options = with_deadline();
            options.worker_blocks = 1;
            options.block_threads = block_threads;
            dynpar::queue_engine engine(options);
            auto counts = filled<count_type>(engine, 4, 0);
            const unsigned children = width == 1 ? 2500 : 600;
            engine.run(wait_for_many{}, shape(1, width), counts.data(), 3u, children, width);
            const std::vector<count_type> found = counts.to_vector();
            const count_type at_2 = children;
            const count_type at_1 = 2 * count_type{children} + (children - 2) * count_type{3};
            // Of each block at level 2 the first two children have as many of their own, the others 3; with 3 children
            // likewise.
            const count_type at_0 = 2 * (2 * count_type{children} + (children - 2) * count_type{3}) +
                                    (children - 2) * (2 * count_type{3} + 3);
            CHECK(found[3] == 1);
            CHECK(found[2] == at_2);
            CHECK(found[1] == at_1);
            CHECK(found[0] == at_0);
        }
    }
}

struct wait_for_blocks {
    static constexpr const char* name = "wait_for_blocks";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* count, unsigned threads) const {
        if (block.thread_rank() == 0) block.launch(add_one{}, shape(3, threads), count);
        block.wait();
    }
};

struct beside_shallower {
    static constexpr const char* name = "beside_shallower";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* count, unsigned threads, unsigned waits,
                                    unsigned width) const {
        block.launch(add_one{}, shape(8, threads), count);
        for (unsigned i = 0; i < waits; ++i) block.launch(wait_for_blocks{}, shape(1, width), count, threads);
    }
};

TEST_CASE("a wait for a grid of several worker blocks ends, whatever shallower grid is within reach") {
    for (const unsigned worker_blocks : {1u, 2u, 0u}) {
        for (const unsigned block_threads : {64u, 128u}) {
            dynpar::queue_options options = with_deadline();
            options.worker_blocks = worker_blocks;
            options.block_threads = block_threads;
            dynpar::queue_engine engine(options);
            for (const unsigned width : {1u, 32u, 64u}) {
                for (const unsigned waits : {1u, 3u, 200u}) {
                    CAPTURE(worker_blocks);
                    CAPTURE(block_threads);
                    CAPTURE(width);
                    CAPTURE(waits);
                    for (int repeat = 0; repeat < 10; ++repeat) {
                        auto count = filled<count_type>(engine, 1, 0);
                        engine.run(beside_shallower{}, shape(1, 1), count.data(), 64u, waits, width);
                        CHECK(count.to_vector()[0] == 8 + 3 * waits);
                    }
                }
            }
        }
    }
}

// ---- Memory that is used up, and time

TEST_CASE("an endless recursion ends with out_of_memory, however little memory and however few warps there are") {
    for (const std::size_t memory :
         {std::size_t{65536}, std::size_t{100000}, std::size_t{1} << 18, std::size_t{1} << 22, std::size_t{1} << 26}) {
        for (const unsigned worker_blocks : {1u, 2u, 0u}) {
            for (const int threads : {1, 8, 48}) {
                CAPTURE(memory);
                CAPTURE(worker_blocks);
                CAPTURE(threads);
                dynpar::queue_options options = with_deadline();
                options.deadline_milliseconds = 10000;
                options.memory_bytes = memory;
                options.worker_blocks = worker_blocks;
                dynpar::queue_engine engine(options);
                for (int repeat = 0; repeat < 3; ++repeat) {
                    const dynpar::report report = engine.try_run(endless_tree{}, shape(1, threads), threads);
                    CHECK(report.lost_launches > 0);
                    const bool said =
                        std::any_of(report.failures.begin(), report.failures.end(), [](const dynpar::failure& f) {
                            return f.status == dynpar::status::out_of_memory && contains(f.note, "memory_bytes");
                        });
                    CHECK(said);
                    check_usable(engine);
                }
            }
        }
    }
}

/// Every thread asks for scratch memory, large and small, and uses what it gets.
struct take_much {
    static constexpr const char* name = "take_much";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counts, unsigned long long bytes) const {
        const unsigned number = dynpar::this_grid(block).thread_rank();
        for (unsigned i = 0; i < 20; ++i) {
            const unsigned long long words = (i % 2 == 0 ? bytes >> (number + i) % 7 : 512) / sizeof(count_type);
            count_type* const memory = block.template scratch<count_type>(words);
            if (memory == nullptr) {
                dynpar::atomic_add(&counts[0], count_type{1});
                continue;
            }
            const count_type own = number * 1000ull + i;
            const unsigned long long step = words / 50 + 1;
            for (unsigned long long w = 0; w < words; w += step) memory[w] = own;
            bool intact = true;
            for (unsigned long long w = 0; w < words; w += step) intact = intact && memory[w] == own;
            if (!intact) dynpar::atomic_add(&counts[1], count_type{1});
        }
    }
};

TEST_CASE("thousands of threads ask for more scratch memory than there is, and none is given twice") {
    dynpar::queue_options options = with_deadline();
    options.memory_bytes = std::size_t{1} << 28;
    dynpar::queue_engine engine(options);
    for (const unsigned threads : {1u, 32u, 250u}) {
        CAPTURE(threads);
        for (int repeat = 0; repeat < 5; ++repeat) {
            auto counts = filled<count_type>(engine, 2, 0);
            const dynpar::report report =
                engine.try_run(take_much{}, shape(2000 / threads, threads), counts.data(), 8ull << 20);
            const std::vector<count_type> found = counts.to_vector();
            CHECK(found[0] > 0);
            CHECK(found[1] == 0);
            CHECK(report.failed_calls == found[0]);
            for (const dynpar::failure& f : report.failures) CHECK(f.status == dynpar::status::out_of_memory);
            check_usable(engine);
        }
    }
}

struct spin {
    static constexpr const char* name = "spin";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned turns) const {
        unsigned x = block.thread_rank();
        for (unsigned i = 0; i < turns; ++i) x = x * 1664525u + 1013904223u;
        if (x == 4711 && turns == ~0u)
            block.launch(*this, shape(1, 1), 0u);  // or the compiler would do without the loop
    }
};

/// Grids in a stream, one after another.
struct long_stream {
    static constexpr const char* name = "long_stream";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned grids, unsigned turns) const {
        auto stream = block.make_stream();
        for (unsigned i = 0; i < grids; ++i) block.launch(stream, spin{}, shape(1, 1), turns);
    }
};

/// One grid after another, each launched by the one before.
struct endless_chain {
    static constexpr const char* name = "endless_chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        if (block.thread_rank() == 0) block.launch(*this, shape(1, block.num_threads()));
    }
};

/// Every thread of the block has endless work to wait for.
struct wait_for_endless {
    static constexpr const char* name = "wait_for_endless";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned width) const {
        block.launch(endless_chain{}, shape(1, width));
        block.wait();
    }
};

/// Goes on when a chain of `length` grids is complete: the scheduler finds nothing to do at every so manieth step.
struct rhythm {
    static constexpr const char* name = "rhythm";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned place, unsigned length) const {
        if (place < length) block.launch(*this, shape(1, 1), place + 1, length);
        if (place == 0) block.then(*this, shape(1, 1), 0u, length);
    }
};

template <class Call>
void check_deadline_of(dynpar::queue_engine& engine, const char* what, Call call) {
    INFO(std::string(what));
    const std::string message = message_of<dynpar::deadlock_error>(call);
    CHECK(contains(message, "stopped by its deadline of 30 ms"));
    CHECK(contains(message, "warps were running grids"));
    check_usable(engine);
}

TEST_CASE("a deadline ends a run in every kind of work, and says what the warps were at") {
    dynpar::queue_options options;
    options.deadline_milliseconds = 30;
    dynpar::queue_engine engine(options);
    check_deadline_of(engine, "one flat grid of lanes", [&] { engine.run(spin{}, shape((1u << 28) - 1, 1), 20000u); });
    check_deadline_of(engine, "one flat grid of warps", [&] { engine.run(spin{}, shape((1u << 28) - 1, 32), 40u); });
    check_deadline_of(engine, "one flat grid of worker blocks", [&] { engine.run(spin{}, shape(1u << 24, 64), 40u); });
    check_deadline_of(engine, "a tree of lanes", [&] { engine.run(endless_tree{}, shape(1, 1), 1); });
    for (const unsigned threads : {1u, 32u, 33u, 128u, 512u}) {
        for (const unsigned width : {1u, 32u, 64u}) {
            if (threads * width > 8192) continue;
            CAPTURE(threads);
            CAPTURE(width);
            check_deadline_of(engine, "a wait for endless work",
                              [&] { engine.run(wait_for_endless{}, shape(3, threads), width); });
        }
    }
    check_deadline_of(engine, "a chain of lanes", [&] { engine.run(endless_chain{}, shape(1, 1)); });
    check_deadline_of(engine, "a chain of warps", [&] { engine.run(endless_chain{}, shape(1, 32)); });
    check_deadline_of(engine, "a chain of worker blocks", [&] { engine.run(endless_chain{}, shape(1, 64)); });
    for (unsigned length = 1; length < 18; ++length) {
        CAPTURE(length);
        check_deadline_of(engine, "work in a rhythm", [&] { engine.run(rhythm{}, shape(1, 1), 0u, length); });
        check_deadline_of(engine, "work in a rhythm, many times",
                          [&] { engine.run(rhythm{}, shape(2000, 1), 0u, length); });
    }
    check_deadline_of(engine, "a stream", [&] { engine.run(long_stream{}, shape(500, 1), 50u, 1000000u); });
}

TEST_CASE("an old CUDA error of the caller is not this run's") {
    dynpar::queue_engine engine(with_deadline());
    CHECK(cudaSetDevice(-1) != cudaSuccess);  // never fetched
    check_usable(engine);
}

}  // namespace
