// Grids of several blocks: a team runs blocks of a published grid one after another, and a small grid of warps is
// shared among a worker block's warps. Each block runs once, whatever the others do.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;

/// What a program counts: for each block of its grid, begins and children; and continuations.
struct counts {
    unsigned *begun, *children, *continued;
    unsigned all_children;
};

/// A block of a child.
struct note_child {
    static constexpr const char* name = "note_child";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(count, 1u);
    }
};
/// A continuation, which finds all children complete.
struct note_continuation {
    static constexpr const char* name = "note_continuation";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, counts all, unsigned blocks) const {
        if (block.thread_rank() != 0) return;
        unsigned sum = 0;
        for (unsigned rank = 0; rank < blocks; ++rank) sum += dynpar::atomic_add(&all.children[rank], 0u);
        dynpar::atomic_add(all.continued, sum == all.all_children ? 1u : 1000u);
    }
};

/// A grid of many blocks, most of which do nothing. `rare`: one in so many launches, waits, and so on.
struct mostly_short {
    static constexpr const char* name = "mostly_short";
    enum kind : unsigned { launches, waits, waits_for_nothing, continues, is_refused, returns_early };

    DYNPAR_FUNCTION static bool is(kind what, unsigned seed, unsigned rank, unsigned rare) {
        return drawn(seed + rank, what) % rare == 0;
    }
    DYNPAR_FUNCTION static dynpar::shape child(unsigned seed, unsigned rank) {
        return dynpar::shape(1 + rank % 4, 1 + drawn(seed, rank) % 64);
    }

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, counts all, unsigned seed, unsigned rare) const {
        const unsigned rank = block.block_rank(), me = block.thread_rank(), last = block.num_threads() - 1;
        if (me == last / 2) dynpar::atomic_add(&all.begun[rank], 1u);
        if (is(returns_early, seed, rank, rare) && me % 3 == 0) return;
        if (is(is_refused, seed, rank, rare)) block.template shared<unsigned>(1000);
        if (is(launches, seed, rank, rare) && me == last - (last % 3 == 0))
            block.launch(note_child{}, child(seed, rank), &all.children[rank]);
        if (is(waits, seed, rank, rare) || is(waits_for_nothing, seed, rank, 2 * rare)) {
            block.wait();
            if (is(launches, seed, rank, rare) && me == last - (last % 3 == 0) &&
                dynpar::atomic_add(&all.children[rank], 0u) != child(seed, rank).blocks.x)
                dynpar::atomic_add(&all.children[rank], 1000u);
        }
        if (is(continues, seed, rank, 4 * rare) && me == last - (last % 3 == 0))
            block.then(note_continuation{}, dynpar::shape(1, 40), all, block.num_blocks());
        if (rank % 2 == 0) block.sync();
    }

    static unsigned count(kind what, unsigned seed, unsigned blocks, unsigned rare) {
        unsigned sum = 0;
        for (unsigned rank = 0; rank < blocks; ++rank) sum += is(what, seed, rank, rare);
        return sum;
    }
};

/// A block that launches such a grid, or continues with it.
struct begin_mostly_short {
    static constexpr const char* name = "begin_mostly_short";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::shape shape, counts all, unsigned seed, unsigned rare,
                                    bool continues) const {
        if (block.thread_rank() != 0) return;
        if (continues) {
            block.then(mostly_short{}, shape, all, seed, rare);
        } else {
            block.launch(mostly_short{}, shape, all, seed, rare);
        }
    }
};

/// `threads`: of the block that begins the grid; 0: it is the run's first.
void check_mostly_short(dynpar::queue_engine& engine, dynpar::shape shape, unsigned seed, unsigned rare,
                        unsigned threads = 0, bool continues = false) {
    const auto blocks = static_cast<unsigned>(shape.blocks.count());
    auto begun = filled(engine, blocks, 0u), children = filled(engine, blocks, 0u), continued = filled(engine, 1, 0u);
    std::vector<unsigned> of_blocks(blocks);
    unsigned all_children = 0;
    for (unsigned rank = 0; rank < blocks; ++rank) {
        if (!mostly_short::is(mostly_short::launches, seed, rank, rare)) continue;
        of_blocks[rank] = mostly_short::child(seed, rank).blocks.x;
        all_children += of_blocks[rank];
    }
    const counts all{begun.data(), children.data(), continued.data(), all_children};
    const dynpar::report report = threads == 0 ? engine.try_run(mostly_short{}, shape, all, seed, rare)
                                               : engine.try_run(begin_mostly_short{}, dynpar::shape(1, threads), shape,
                                                                all, seed, rare, continues);
    CHECK(begun.to_vector() == std::vector<unsigned>(blocks, 1u));
    CHECK(children.to_vector() == of_blocks);
    CHECK(continued.to_vector()[0] == mostly_short::count(mostly_short::continues, seed, blocks, 4 * rare));
    unsigned long long refused = 0;
    for (const dynpar::failure& f : report.failures) {
        CHECK(f.status == dynpar::status::shared_memory_exceeded);
        refused += f.count;
    }
    CHECK(refused == mostly_short::count(mostly_short::is_refused, seed, blocks, rare));
}

TEST_CASE("each block of a large grid for teams runs once, whatever a few of them do") {
    struct engine_size {
        unsigned block_threads, worker_blocks;
    };
    for (const engine_size& size : {engine_size{64, 3}, engine_size{256, 1}, engine_size{512, 2}}) {
        CAPTURE(size.block_threads);
        auto engine = engine_of(size.block_threads, size.worker_blocks);
        for (const unsigned threads : {33u, 64u, 250u}) {
            if (threads > size.block_threads) continue;
            CAPTURE(threads);
            for (unsigned seed = 1; seed <= 2; ++seed) {
                CAPTURE(seed);
                check_mostly_short(engine, dynpar::shape(300, threads), seed, 20);
                check_mostly_short(engine, dynpar::shape(60, threads), seed, 2);
                check_mostly_short(engine, dynpar::shape(200, threads), seed, 1000);
            }
        }
    }
}

TEST_CASE("each block of a small grid of warps runs once, whatever a few of them do, and whoever has launched it") {
    const other_settings changed;
    simulated_gpu::current_settings().multiprocessors = 100;
    for (const unsigned worker_blocks : {1u, 2u, 40u}) {
        CAPTURE(worker_blocks);
        auto engine = engine_of(256, worker_blocks);
        unsigned seed = 0;
        for (const unsigned of_parent : {1u, 32u, 64u}) {
            for (const bool continues : {false, true}) {
                for (const unsigned blocks : {2u, 4u, 9u, 39u}) {
                    CAPTURE(of_parent);
                    CAPTURE(continues);
                    CAPTURE(blocks);
                    check_mostly_short(engine, dynpar::shape(blocks, 2 + blocks % 31), ++seed, 4, of_parent, continues);
                }
            }
        }
    }
}

/// Blocks that take long, some longer.
struct uneven_blocks {
    static constexpr const char* name = "uneven_blocks";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* begun, unsigned blocks) const {
        if (block.thread_rank() != 0) return;
        const unsigned rank = block.block_rank();
        dynpar::atomic_add(&begun[rank < blocks ? rank : blocks], 1u);
        for (unsigned i = 0; i < drawn(rank, 1) % 40; ++i) dynpar::atomic_add(&begun[blocks + 1], 1u);
    }
};

TEST_CASE("each block of a grid runs once that is open, and of which a part is shared") {
    // Worker blocks that begin late leave parts of the first grid to others, and the rest of it is open.
    const other_settings changed;
    simulated_gpu::current_settings().multiprocessors = 8;
    constexpr unsigned blocks = 77;
    auto engine = engine_of(128, 8);
    std::vector<unsigned> expected(blocks + 1, 1u);
    expected[blocks] = 0;
    for (unsigned run = 0; run < 700; ++run) {
        CAPTURE(run);
        auto begun = filled(engine, blocks + 2, 0u);
        engine.run(uneven_blocks{}, dynpar::shape(blocks, 2), begun.data(), blocks);
        std::vector<unsigned> found = begun.to_vector();
        found.pop_back();
        REQUIRE(found == expected);
    }
}

/// Grids one after another, each of another number of blocks and another width. Each block finds those before complete.
struct rounds {
    static constexpr const char* name = "rounds";
    DYNPAR_FUNCTION static dynpar::shape shape(unsigned seed, unsigned left, unsigned widest) {
        const unsigned kind = drawn(seed, left) % 4;
        const unsigned threads = kind == 0 ? 1 + drawn(seed, left + 1000) % widest : kind == 1 ? 32 : widest / 2;
        return dynpar::shape(1 + drawn(seed, left + 2000) % 40, threads < 2 ? 2 : threads);
    }
    static unsigned blocks_before(unsigned seed, unsigned all, unsigned left, unsigned widest) {
        unsigned sum = 0;
        for (unsigned n = all; n > left; --n) sum += static_cast<unsigned>(shape(seed, n, widest).blocks.count());
        return sum;
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count, const unsigned* expected, unsigned* wrong,
                                    unsigned seed, unsigned left, unsigned widest) const {
        if (block.thread_rank() != 0) return;
        const unsigned before = dynpar::atomic_add(count, 1u);
        if (before < expected[left] || before >= expected[left] + block.num_blocks()) dynpar::atomic_add(wrong, 1u);
        if (block.block_rank() == block.num_blocks() / 2 && left != 1)
            block.then(*this, shape(seed, left - 1, widest), count, expected, wrong, seed, left - 1, widest);
    }
};

TEST_CASE("grids of several blocks, of one width after another, run one after another") {
    for (const unsigned block_threads : {128u, 512u}) {
        CAPTURE(block_threads);
        auto engine = engine_of(block_threads, 2);
        for (unsigned seed = 1; seed <= 4; ++seed) {
            CAPTURE(seed);
            constexpr unsigned all = 30;
            std::vector<unsigned> before(all + 1);
            for (unsigned left = 1; left <= all; ++left)
                before[left] = rounds::blocks_before(seed, all, left, block_threads);
            auto expected = filled(engine, all + 1, 0u);
            expected.copy_from(before.data());
            auto found = filled(engine, 2, 0u);
            engine.run(rounds{}, rounds::shape(seed, all, block_threads), found.data(), expected.data(),
                       found.data() + 1, seed, all, block_threads);
            CHECK(found.to_vector()[0] == rounds::blocks_before(seed, all, 0, block_threads));
            CHECK(found.to_vector()[1] == 0);
        }
    }
}

/// Blocks that take so long that a run must end between two of them.
struct slow_blocks {
    static constexpr const char* name = "slow_blocks";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* begun) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(begun, 1u);
        for (unsigned i = 0; i < 200; ++i) dynpar::atomic_add(begun + 1, 0u);
    }
};

TEST_CASE("of a large grid for teams whose time is up, no block begins any more") {
    dynpar::queue_options options;
    options.block_threads = 128;
    options.worker_blocks = 1;
    options.memory_bytes = std::size_t{64} << 20;
    options.deadline_milliseconds = 1;
    dynpar::queue_engine engine(options);
    auto begun = filled(engine, 2, 0u);
    CHECK_THROWS_AS(engine.run(slow_blocks{}, dynpar::shape(100000, 64), begun.data()), dynpar::deadlock_error);
    CHECK(begun.to_vector()[0] < 100000);
}

}  // namespace
