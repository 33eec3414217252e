// Teams: blocks of every width on worker blocks of every size, some of which wait or continue.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;

struct found {
    u64 blocks, wrong;
};

/// What a block does is drawn from its seed. Its threads write shared memory, and read what others wrote behind a
/// barrier.
struct mixed {
    static constexpr const char* name = "mixed";

    DYNPAR_FUNCTION static unsigned width(unsigned seed, unsigned widest) {
        const unsigned kind = drawn(seed, 0) % 4;
        return 1 + drawn(seed, 1) % (kind == 0 ? 32 : kind == 1 ? widest : (widest < 100 ? widest : 100));
    }
    DYNPAR_FUNCTION static unsigned blocks(unsigned seed) { return drawn(seed, 2) % 8 == 0 ? 3 : 1; }
    DYNPAR_FUNCTION static unsigned children(unsigned seed) { return 1 + drawn(seed, 3) % 3; }
    DYNPAR_FUNCTION static bool waits(unsigned seed) { return drawn(seed, 4) % 3 == 0; }
    DYNPAR_FUNCTION static bool continues(unsigned seed) { return drawn(seed, 5) % 3 == 0; }
    DYNPAR_FUNCTION static unsigned shared_bytes(unsigned seed, unsigned widest) {
        return (width(seed, widest) * 4 + 15) / 16 * 16 + (drawn(seed, 6) % 8 == 0 ? 4096 : 0);
    }
    DYNPAR_FUNCTION static dynpar::shape shape(unsigned seed, unsigned widest) {
        return dynpar::shape(blocks(seed), width(seed, widest), shared_bytes(seed, widest));
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, found* all, unsigned seed, unsigned levels, unsigned widest) const {
        const unsigned me = block.thread_rank();
        if (me == 0) dynpar::atomic_add(&all->blocks, u64{1});
        unsigned* const mine = block.template shared<unsigned>(block.num_threads());
        if (mine == nullptr) return;
        mine[me] = seed + me;
        block.sync();
        const unsigned next = (me + 1) % block.num_threads();
        if (mine[next] != seed + next) dynpar::atomic_add(&all->wrong, u64{1});
        if (levels == 0) return;
        const unsigned mine_of_grid = drawn(seed, block.block_rank() + 100);
        for (unsigned child = 0; child < children(seed); ++child) {
            // Several threads launch.
            if (me != child % block.num_threads()) continue;
            const unsigned its = drawn(mine_of_grid, child);
            block.launch(*this, shape(its, widest), all, its, levels - 1, widest);
        }
        if (waits(seed)) block.wait();
        if (continues(seed) && me == block.num_threads() - 1) {
            const unsigned its = drawn(mine_of_grid, 77);
            block.then(*this, shape(its, widest), all, its, levels - 1, widest);
        }
        block.sync();
        if (mine[next] != seed + next) dynpar::atomic_add(&all->wrong, u64{1});
    }

    static u64 count(unsigned seed, unsigned levels, unsigned widest) {
        u64 sum = blocks(seed);
        if (levels == 0) return sum;
        for (unsigned rank = 0; rank < blocks(seed); ++rank) {
            const unsigned mine_of_grid = drawn(seed, rank + 100);
            for (unsigned child = 0; child < children(seed); ++child)
                sum += count(drawn(mine_of_grid, child), levels - 1, widest);
            if (continues(seed)) sum += count(drawn(mine_of_grid, 77), levels - 1, widest);
        }
        return sum;
    }
};

TEST_CASE("blocks of every width run on worker blocks of every size, and each has its own barrier and shared memory") {
    struct engine_size {
        unsigned block_threads, worker_blocks;
    };
    for (const engine_size& size : {engine_size{64, 3}, engine_size{96, 2}, engine_size{128, 2}, engine_size{256, 2},
                                    engine_size{352, 1}, engine_size{512, 1}, engine_size{1024, 1}}) {
        CAPTURE(size.block_threads);
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (unsigned seed = 1; seed <= 3; ++seed) {
            CAPTURE(seed);
            auto all = engine.make_buffer<found>(1);
            all.copy_from(std::vector<found>{{0, 0}}.data());
            engine.run(mixed{}, mixed::shape(seed, size.block_threads), all.data(), seed, 4u, size.block_threads);
            CHECK(all.to_vector()[0].blocks == mixed::count(seed, 4, size.block_threads));
            CHECK(all.to_vector()[0].wrong == 0);
        }
    }
}

/// A long block that launches a grid that its own warp is needed for, and narrower ones. Looks for a long time whether
/// those have run. All are two-dimensional: others may begin such blocks before the one that has launched them ends.
struct look_for_narrow {
    static constexpr const char* name = "look_for_narrow";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* wide, u64* narrow, u64* seen) const {
        if (block.thread_rank() != 0) return;
        block.launch(count_one{}, dynpar::shape(dynpar::dimensions(1), dynpar::dimensions(128, 2)), wide);
        for (unsigned i = 0; i < 1000; ++i) dynpar::atomic_add(wide, u64{0});  // until it is the candidate
        for (unsigned i = 0; i < 20; ++i)
            block.launch(count_one{}, dynpar::shape(dynpar::dimensions(1), dynpar::dimensions(32, 2)), narrow);
        for (unsigned i = 0; i < 1000000 && *seen != 20; ++i) *seen = dynpar::atomic_add(narrow, u64{0});
    }
};

TEST_CASE("a block that needs a warp with a long task does not keep narrower blocks from running") {
    auto engine = engine_of(256, 1);
    auto counts = engine.make_buffer<u64>(3);
    counts.copy_from(std::vector<u64>(3, 0).data());
    engine.run(look_for_narrow{}, dynpar::shape(1, 32), counts.data(), counts.data() + 1, counts.data() + 2);
    const std::vector<u64> found = counts.to_vector();
    CHECK(found[0] == 1);
    CHECK(found[1] == 20);
    CHECK(found[2] == 20);
}

/// A block that continues with a grid of several.
struct continue_wide {
    static constexpr const char* name = "continue_wide";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count, unsigned left) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(count, u64{1});
        if (left != 0 && block.block_rank() == 0) block.then(*this, dynpar::shape(2, 64), count, left - 1);
    }
};

TEST_CASE("all blocks of a grid run that continues on a team, also where it is too small to be published") {
    const other_settings changed;
    simulated_gpu::current_settings().multiprocessors = 100;
    auto engine = engine_of(64, 100);
    auto count = engine.make_buffer<u64>(1);
    count.copy_from(std::vector<u64>{0}.data());
    engine.run(continue_wide{}, dynpar::shape(1, 64), count.data(), 5u);
    CHECK(count.to_vector()[0] == 11);
}
/// A block of any width whose first thread launches many blocks for teams, and then waits for them or goes on.
struct launch_for_teams {
    static constexpr const char* name = "launch_for_teams";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* counts, unsigned children, unsigned widest, bool waits) const {
        if (block.thread_rank() == 0) {
            for (unsigned i = 0; i < children; ++i) {
                const unsigned threads = (i % 3 + 2) * 32 <= widest ? (i % 3 + 2) * 32 : widest;
                block.launch(count_one{}, dynpar::shape(1, threads, i % 4 == 0 ? threads * 4 : 0), counts);
                if (i % 5 == 0) block.launch(count_one{}, dynpar::shape(1, 32), counts);
            }
        }
        if (!waits) return;
        block.wait();
        if (block.thread_rank() == 0) counts[1] = dynpar::atomic_add(counts, u64{0});
    }
};

TEST_CASE("blocks for teams that a lane, a warp or a team launches lie on the warp's deque, however many they are") {
    for (const unsigned block_threads : {64u, 96u, 256u}) {
        CAPTURE(block_threads);
        auto engine = engine_of(block_threads, 2);
        for (const unsigned threads : {1u, 32u, 64u}) {
            for (const bool waits : {false, true}) {
                for (const unsigned children : {3u, 40u, 700u}) {
                    CAPTURE(threads);
                    CAPTURE(children);
                    auto counts = filled(engine, 2, u64{0});
                    engine.run(launch_for_teams{}, dynpar::shape(1, threads), counts.data(), children, block_threads,
                               waits);
                    const u64 all = children + (children + 4) / 5;
                    CHECK(counts.to_vector()[0] == all);
                    CHECK(counts.to_vector()[1] == (waits ? all : 0));
                }
            }
        }
    }
}
/// Keeps what has been counted.
struct keep_count {
    static constexpr const char* name = "keep_count";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* counts) const {
        if (block.thread_rank() == 0) counts[1] = dynpar::atomic_add(counts, u64{0});
    }
};

/// Warps that each launch three blocks for teams, a tree of them; and when all are complete, their count is kept.
struct warps_and_teams {
    static constexpr const char* name = "warps_and_teams";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* counts, unsigned levels, bool is_root) const {
        if (block.thread_rank() != 0) return;
        for (unsigned i = 0; i < 3; ++i) block.launch(count_one{}, dynpar::shape(1, 64), counts);
        for (unsigned i = 0; levels != 1 && i < 2; ++i)
            block.launch(*this, dynpar::shape(1, 32), counts, levels - 1, false);
        if (is_root) block.then(keep_count{}, dynpar::shape(1, 1), counts);
    }
};

TEST_CASE("a grid is not complete before the blocks for teams that warps have launched below it") {
    auto engine = engine_of(128, 3);
    for (int run = 0; run < 10; ++run) {
        auto counts = filled(engine, 2, u64{0});
        engine.run(warps_and_teams{}, dynpar::shape(1, 32), counts.data(), 5u, true);
        CHECK(counts.to_vector()[0] == 3 * 31);
        CHECK(counts.to_vector()[1] == 3 * 31);
    }
}
/// Counts of a run, by its kernels.
struct run_counts {
    u64 launched, refused, begun;
};
/// A tree of blocks for teams, until a launch is refused. Its first block takes all memory.
struct tree_without_memory {
    static constexpr const char* name = "tree_without_memory";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, run_counts* counts, unsigned children, unsigned levels,
                                    bool is_first) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(&counts->begun, u64{1});
        for (std::size_t bytes = std::size_t{1} << 22; is_first && bytes >= 2048; bytes /= 2)
            while (block.template scratch<char>(bytes) != nullptr) {
            }
        for (unsigned i = 0; i < children && levels != 0; ++i) {
            const bool launched = block.launch(*this, dynpar::shape(1, block.num_threads()), counts, children,
                                               levels - 1, false) == dynpar::status::success;
            dynpar::atomic_add(launched ? &counts->launched : &counts->refused, u64{1});
            if (!launched) break;
        }
    }
};

/// As if, while its warp looked for a team, blocks for warps had come to lie on its deque.
struct hands_over_what_is_for_a_warp {
    static constexpr const char* name = "hands_over_what_is_for_a_warp";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* count) const {
        if (block.thread_rank() == 0) {
            block.launch(count_one{}, dynpar::shape(1, 64), count);
            block.launch(count_one{}, dynpar::shape(1, 32), count + 1);
        }
        block.sync();
        dynpar::detail::queue::hand_over_block_tasks(2);
        block.sync();
    }
};

TEST_CASE("a warp hands over what is for teams, and nothing that has come on top of it meanwhile") {
    dynpar::queue_engine engine = engine_of(128, 1);
    auto counts = filled(engine, 2, u64{0});
    const dynpar::report r = engine.run(hands_over_what_is_for_a_warp{}, dynpar::shape(1, 32), counts.data());
    CHECK(counts.to_vector() == std::vector<u64>{1, 1});
    CHECK(r.grids == 3);
}

TEST_CASE("a run without memory says of each grid that did not run that it is lost, also where a deque had no room") {
    for (const unsigned worker_blocks : {1u, 3u}) {
        for (const unsigned children : {10u, 40u, 60u}) {
            CAPTURE(worker_blocks);
            CAPTURE(children);
            dynpar::queue_options options;
            options.block_threads = 128;
            options.worker_blocks = worker_blocks;
            options.memory_bytes = 300000;
            dynpar::queue_engine engine(options);
            auto counts = filled(engine, 1, run_counts{});
            const dynpar::report report =
                engine.try_run(tree_without_memory{}, dynpar::shape(1, 64), counts.data(), children, 3u, true);
            const run_counts found = counts.to_vector()[0];
            CHECK(report.grids == found.begun);
            CHECK(found.launched + found.refused + 1 == found.begun + report.lost_launches);
        }
    }
}

}  // namespace
