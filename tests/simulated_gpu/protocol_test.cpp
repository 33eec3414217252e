// Small programs that the queue engine once hung on, or ran wrong, each on worker blocks of several sizes.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;

struct engine_size {
    unsigned block_threads, worker_blocks;
};
constexpr engine_size sizes[] = {{32, 1}, {32, 3}, {64, 2}, {128, 1}};

// ---- Levels that fork without a join, above leaves that join

struct look_back {
    static constexpr const char* name = "look_back";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const u64* counts, u64* seen) const {
        seen[0] = counts[0];
        seen[1] = counts[1];
    }
};

struct fork_level {
    static constexpr const char* name = "fork_level";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* counts, unsigned levels, bool is_root) const {
        if (levels == 1) {
            block.launch(count_one{}, dynpar::shape(1, 1), counts);
            block.then(count_one{}, dynpar::shape(1, 1), counts + 1);
            return;
        }
        for (unsigned i = 0; i < 3; ++i) block.launch(*this, dynpar::shape(1, 1), counts, levels - 1, false);
        if (is_root) block.then(look_back{}, dynpar::shape(1, 1), static_cast<const u64*>(counts), counts + 2);
    }
};

TEST_CASE("a continuation sees all of a recursion whose leaves join and whose levels do not") {
    for (const engine_size& size : sizes) {
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        u64 leaves = 1;
        for (unsigned levels = 1; levels < 7; ++levels, leaves *= 3) {
            CAPTURE(size.block_threads);
            CAPTURE(size.worker_blocks);
            CAPTURE(levels);
            auto counts = filled(engine, 4, u64{0});
            engine.run(fork_level{}, dynpar::shape(1, 1), counts.data(), levels, true);
            const std::vector<u64> found = counts.to_vector();
            CHECK(found[0] == leaves);
            CHECK(found[1] == leaves);
            if (levels > 1) CHECK(found[2] == leaves);
            if (levels > 1) CHECK(found[3] == leaves);
        }
    }
}

// ---- A wait, and launches of several widths after it

struct launch_after_wait {
    static constexpr const char* name = "launch_after_wait";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count) const {
        const bool first = block.thread_rank() == 0;
        if (first) block.launch(count_one{}, dynpar::shape(1, 1), count);
        if (block.wait() != dynpar::status::success || !first) return;
        for (int i = 0; i < 3; ++i) block.launch(count_one{}, dynpar::shape(1, 1), count);
        block.launch(count_one{}, dynpar::shape(2, 2), count);
    }
};

TEST_CASE("a block may launch grids of several widths after it has waited") {
    for (const engine_size& size : sizes) {
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (const unsigned threads : {1u, 7u, 32u, size.block_threads}) {
            CAPTURE(size.block_threads);
            CAPTURE(size.worker_blocks);
            CAPTURE(threads);
            auto count = filled(engine, 1, u64{0});
            engine.run(launch_after_wait{}, dynpar::shape(1, threads), count.data());
            CHECK(count.to_vector()[0] == 6);
        }
    }
}

// ---- Waits for grids whose blocks take a worker block each, beside shallower ones

struct wait_for_blocks {
    static constexpr const char* name = "wait_for_blocks";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned threads) const {
        if (block.thread_rank() == 0) block.launch(count_one{}, dynpar::shape(3, threads), count);
        block.wait();
    }
};

struct beside_shallower {
    static constexpr const char* name = "beside_shallower";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned threads, unsigned waits, unsigned width) const {
        block.launch(count_one{}, dynpar::shape(8, threads), count);
        for (unsigned i = 0; i < waits; ++i) block.launch(wait_for_blocks{}, dynpar::shape(1, width), count, threads);
    }
};

TEST_CASE("a wait for a grid of several worker blocks ends, whatever shallower grid is at hand") {
    for (const engine_size& size : sizes) {
        if (size.block_threads < 64) continue;
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (const unsigned width : {1u, 32u}) {
            for (const unsigned waits : {1u, 3u}) {
                CAPTURE(size.block_threads);
                CAPTURE(size.worker_blocks);
                CAPTURE(width);
                CAPTURE(waits);
                for (int repeat = 0; repeat < 5; ++repeat) {
                    auto count = filled(engine, 1, u64{0});
                    engine.run(beside_shallower{}, dynpar::shape(1, 1), count.data(), size.block_threads, waits, width);
                    CHECK(count.to_vector()[0] == 8 + 3 * waits);
                }
            }
        }
    }
}

// ---- More wide tasks than stacks hold

struct mark {
    static constexpr const char* name = "mark";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* runs, unsigned number) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(&runs[number], 1u);
    }
};

struct fan_out {
    static constexpr const char* name = "fan_out";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* runs, unsigned each, unsigned width) const {
        for (unsigned i = 0; i < each; ++i) {
            block.launch(mark{}, dynpar::shape(1, width), runs, block.thread_rank() * each + i);
        }
    }
};

TEST_CASE("of very many grids that a block launches each runs once") {
    for (const engine_size& size : sizes) {
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (const unsigned width : {1u, 32u, size.block_threads}) {
            CAPTURE(size.block_threads);
            CAPTURE(size.worker_blocks);
            CAPTURE(width);
            const unsigned each = 1600 / size.block_threads;
            auto runs = filled(engine, size.block_threads * each, 0u);
            const dynpar::report report =
                engine.run(fan_out{}, dynpar::shape(1, size.block_threads), runs.data(), each, width);
            CHECK(report.grids == size.block_threads * each + 1);
            unsigned not_once = 0;
            for (const unsigned n : runs.to_vector()) not_once += n != 1;
            CHECK(not_once == 0);
        }
    }
}

// ---- Children of a few blocks each, level after level

struct job {
    u64* blocks_run;
    unsigned children, most_blocks;
};

DYNPAR_FUNCTION inline unsigned mixed(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
/// Most have few.
DYNPAR_FUNCTION inline unsigned blocks_of(const job& j, unsigned child) {
    const unsigned drawn = mixed(child * 2654435761u + 1);
    unsigned most = j.most_blocks;
    for (unsigned k = drawn & 15; k != 0 && most > 1; --k) most = most / 2 + 1;
    return most <= 1 ? 1 : 1 + (drawn >> 8) % most;
}

struct count_block {
    static constexpr const char* name = "count_block";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const job* j, unsigned) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(j->blocks_run, u64{1});
    }
};

struct search_level {
    static constexpr const char* name = "search_level";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const job* work, unsigned left) const {
        const job j = *work;
        const unsigned stride = block.num_blocks() * block.num_threads();
        for (unsigned i = dynpar::this_grid(block).thread_rank(); i < j.children; i += stride) {
            block.launch(count_block{}, dynpar::shape(blocks_of(j, i), dynpar::at_most(256)), work, i);
        }
        if (left > 1 && block.block_rank() == 0 && block.thread_rank() == 0) {
            block.then(*this, dynpar::shape(block.num_blocks(), dynpar::at_most(256)), work, left - 1);
        }
    }
};

TEST_CASE("children of several blocks each, level after level, all run") {
    for (const engine_size& size : sizes) {
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (const unsigned most_blocks : {4u, 64u}) {
            CAPTURE(size.block_threads);
            CAPTURE(size.worker_blocks);
            CAPTURE(most_blocks);
            constexpr unsigned children = 300, levels = 2;
            auto count = filled(engine, 1, u64{0});
            auto work = filled(engine, 1, job{count.data(), children, most_blocks});
            const job j{nullptr, children, most_blocks};
            u64 expected = 0;
            for (unsigned i = 0; i < children; ++i) expected += blocks_of(j, i);
            engine.run(search_level{}, dynpar::shape((children + 31) / 32, dynpar::at_most(256)),
                       static_cast<const job*>(work.data()), levels);
            CHECK(count.to_vector()[0] == expected * levels);
        }
    }
}

// ---- Two engines at a time

struct wait_tree {
    static constexpr const char* name = "wait_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned levels) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(count, u64{1});
        if (levels == 0) return;
        if (block.thread_rank() == 0) {
            for (int i = 0; i < 2; ++i)
                block.launch(*this, dynpar::shape(2, levels % 2 == 0 ? 1 : block.num_threads()), count, levels - 1);
        }
        if (levels % 3 == 0) static_cast<void>(block.wait());
    }
};

/// Restores what a test changes.
TEST_CASE("two engines run side by side, also where not all worker blocks of both fit at a time") {
    for (const unsigned blocks_that_fit : {4u, 3u, 2u, 1u}) {
        CAPTURE(blocks_that_fit);
        const other_settings changed;
        simulated_gpu::current_settings().multiprocessors = 1;
        simulated_gpu::current_settings().blocks = blocks_that_fit;
        auto one = engine_of(64, 2), other = engine_of(64, 2);
        auto counts = filled(one, 2, u64{0});
        cudaStream_t stream = nullptr;
        REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
        auto first = one.enqueue(stream, wait_tree{}, dynpar::shape(4, 40), counts.data(), 4u);
        auto second = other.enqueue(nullptr, wait_tree{}, dynpar::shape(4, 40), counts.data() + 1, 4u);
        second.wait();
        first.wait();
        REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
        const u64 expected = 4 * (1 + 4 * (1 + 4 * (1 + 4 * (1 + 4))));
        CHECK(counts.to_vector()[0] == expected);
        CHECK(counts.to_vector()[1] == expected);
    }
}

// ---- Waits in one round, of blocks of different depths, above a wait of another warp

struct nothing {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};
/// Launches a block of two warps and waits for it.
struct waits_for_both_warps {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        block.launch(nothing{}, dynpar::shape(1, 64));
        block.wait();
    }
};
/// The same, one deeper.
struct waits_for_a_lane {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        block.launch(waits_for_both_warps{}, dynpar::shape(1, 1));
        block.wait();
    }
};
struct waits_for_nothing_much {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block) const {
        block.launch(nothing{}, dynpar::shape(1, 1));
        block.wait();
    }
};
/// Launches so many small grids, of blocks that wait or not, and waits for them.
struct waits_for_small_grids {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, bool they_wait) const {
        for (unsigned i = 0; i < count; ++i) {
            if (they_wait) {
                block.launch(waits_for_nothing_much{}, dynpar::shape(4, 1));
            } else {
                block.launch(nothing{}, dynpar::shape(4, 1));
            }
        }
        block.wait();
    }
};
/// Some levels above it.
struct deep_down {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, unsigned count, bool they_wait) const {
        if (levels == 0) {
            block.launch(waits_for_small_grids{}, dynpar::shape(1, 1), count, they_wait);
        } else {
            block.launch(*this, dynpar::shape(1, 1), levels - 1, count, they_wait);
        }
    }
};
struct shallow_and_deep_waits {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, bool they_wait) const {
        if (they_wait) {
            block.launch(waits_for_a_lane{}, dynpar::shape(2, 1));
        } else {
            block.launch(waits_for_both_warps{}, dynpar::shape(2, 1));
        }
        block.launch(deep_down{}, dynpar::shape(1, 1), they_wait ? 1u : 0u, count, they_wait);
    }
};

TEST_CASE("a round of shallow and deep blocks that wait keeps no wait of another warp from its end") {
    for (const bool they_wait : {false, true}) {
        for (unsigned count = 24; count < 40; ++count) {
            CAPTURE(they_wait);
            CAPTURE(count);
            dynpar::queue_options options;
            options.block_threads = 64;
            options.worker_blocks = 1;
            dynpar::queue_engine engine(options);
            const dynpar::report report = engine.run(shallow_and_deep_waits{}, dynpar::shape(1, 1), count, they_wait);
            CHECK(report.failed_calls == 0);
        }
    }
}

/// Of three blocks of one round, two launch many grids and return, and the third waits for one.
struct one_of_three_waits {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned first, unsigned last) const {
        const bool waits = block.block_rank() == 1;
        const unsigned grids = waits ? 1 : block.block_rank() == 0 ? first : last;
        for (unsigned i = 0; i < grids; ++i) block.launch(count_one{}, dynpar::shape(1, 32), count);
        if (waits) block.wait();
    }
};

TEST_CASE("what has spilled while a block of a round waited runs when the round has ended") {
    for (const engine_size& size : {engine_size{32, 1}, engine_size{64, 2}}) {
        for (const unsigned first : {255u, 300u}) {
            CAPTURE(size.block_threads);
            CAPTURE(first);
            auto engine = engine_of(size.block_threads, size.worker_blocks);
            auto count = filled(engine, 1, u64{0});
            engine.run(one_of_three_waits{}, dynpar::shape(3, 1), count.data(), first, 45u);
            CHECK(count.to_vector()[0] == first + 1 + 45);
        }
    }
}

/// A warp launches more grids than its deque holds; meanwhile a thread of another warp launches one that makes the
/// block take its grid's node as its own: a grid to be published, or by the general route.
struct spills_and_takes_the_node {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned* launched, unsigned each, unsigned when,
                                    bool is_published) const {
        if (block.thread_rank() < 32) {
            for (unsigned i = 0; i < each; ++i) {
                dynpar::atomic_add(launched, 1u);
                block.launch(count_one{}, dynpar::shape(1, 1), count);
            }
        } else if (block.thread_rank() == 32) {
            while (dynpar::atomic_add(launched, 0u) < when) {
            }
            const dynpar::dimensions blocks = is_published ? dynpar::dimensions(2) : dynpar::dimensions(1, 2);
            block.launch(count_one{}, dynpar::shape(blocks, dynpar::dimensions(32)), count);
        }
    }
};

TEST_CASE("threads of a block that come to its node in different ways at once find the same") {
    constexpr unsigned each = dynpar::detail::queue::tuning::lane_deque_capacity / 32 + 2;
    for (const bool is_published : {true, false}) {
        for (unsigned when = 32 * (each - 2) - 8; when < 32 * (each - 2) + 24; ++when) {
            CAPTURE(is_published);
            CAPTURE(when);
            auto engine = engine_of(64, 1);
            auto count = filled(engine, 1, u64{0});
            auto launched = filled(engine, 1, 0u);
            const dynpar::report report = engine.run(spills_and_takes_the_node{}, dynpar::shape(1, 64), count.data(),
                                                     launched.data(), each, when, is_published);
            CHECK(count.to_vector()[0] == 32 * each + 2);
            CHECK(report.grids == 32 * each + 2);
        }
    }
}

/// A tree whose leaves wait and whose inner nodes are continued: on a warp that waits, continuations become ready that
/// may not run on top of the wait.
struct joins_above_waits {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned short levels, unsigned short each) const {
        if (levels != 0) {
            for (unsigned i = 0; i < 2; ++i)
                block.launch(*this, dynpar::shape(1, 1), count, static_cast<unsigned short>(levels - 1), each);
            block.then(count_one{}, dynpar::shape(1, 1), count);
            return;
        }
        for (unsigned i = 0; i < each; ++i) block.launch(count_one{}, dynpar::shape(1, 1), count);
        if (each != 0) block.wait();
    }
};

TEST_CASE("continuations that become ready where something waits run all the same") {
    for (const engine_size& size : sizes) {
        for (const unsigned short each : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{4}}) {
            for (const unsigned short levels : {std::uint16_t{3}, std::uint16_t{8}}) {
                CAPTURE(size.block_threads);
                CAPTURE(each);
                CAPTURE(levels);
                auto engine = engine_of(size.block_threads, size.worker_blocks);
                auto count = filled(engine, 1, u64{0});
                engine.run(joins_above_waits{}, dynpar::shape(1, 1), count.data(), levels, each);
                CHECK(count.to_vector()[0] == (u64{1} << levels) * (each + 1) - 1);
            }
        }
    }
}

struct launch_many {
    static constexpr const char* name = "launch_many";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned many, unsigned threads, unsigned levels) const {
        if (block.thread_rank() != 0) return;
        for (unsigned i = 0; i < many; ++i) {
            if (levels != 0)
                block.launch(*this, dynpar::shape(1, threads), count, many, threads, levels - 1);
            else
                block.launch(count_one{}, dynpar::shape(1, threads), count);
        }
    }
};

TEST_CASE("a trace that is full counts each grid once, also where stacks are full") {
    constexpr unsigned many = 18, grids = 1 + 18 + 18 * 18 + 18 * 18 * 18;
    for (const engine_size& size : sizes) {
        for (const std::size_t room : {1, 200, 10000}) {
            for (const unsigned threads : {2u, size.block_threads}) {
                CAPTURE(size.block_threads);
                CAPTURE(room);
                CAPTURE(threads);
                dynpar::queue_options options;
                options.block_threads = size.block_threads;
                options.worker_blocks = size.worker_blocks;
                options.trace_grids = room;
                dynpar::queue_engine engine(options);
                auto count = filled(engine, 1, u64{0});
                const dynpar::report report =
                    engine.run(launch_many{}, dynpar::shape(1, threads), count.data(), many, threads, 2u);
                CHECK(report.grids == grids);
                CHECK(report.trace.grids.size() == std::min<std::size_t>(room, grids));
                CHECK(report.trace.grids.size() + report.trace.missing == grids);
            }
        }
    }
}

}  // namespace
