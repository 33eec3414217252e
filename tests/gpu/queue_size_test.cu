// C1, C3 and C6 of the contract at size: a million to a hundred million grids of every width on a GPU that is full of
// them.
#include "queue_test.cuh"

#include <algorithm>

using namespace queue_test;

namespace {

/// A tree of grids. At some levels grids join: what is below them they count apart, as far as the next grids that join,
/// and a continuation or the code after a wait() has to find all of it.
struct sized_tree {
    static constexpr unsigned counters = 1024;
    count_type* blocks_run;  // in `counters` parts, so that not all wait for one
    count_type* wrong;
    unsigned fan;              // children of a grid
    unsigned blocks, threads;  // of a grid
    unsigned joins, waits;     // a bit each level: the grid continues, or its block waits
    unsigned every_thread;     // not the first one launches all: each launches some
    count_type below[24];      // by level of a grid that joins: what its counter has to be

    DYNPAR_FUNCTION bool joins_at(unsigned level) const { return ((joins | waits) >> level & 1) != 0; }
};

/// What a child grid of that level adds to the counter of the grid above that joins.
count_type counted(const sized_tree& t, unsigned level) {
    if (t.joins_at(level)) return t.blocks + 1;
    return t.blocks + (level > 0 ? t.fan * counted(t, level - 1) : 0);
}
count_type grids_of(const sized_tree& t, unsigned level) {
    const count_type own = 1 + ((t.joins >> level & 1) != 0 ? 1 : 0);
    return own + (level > 0 ? t.fan * grids_of(t, level - 1) : 0);
}

struct tree_grid {
    static constexpr const char* name = "tree_grid";

    /// A grid that joins is complete.
    struct joined {
        static constexpr const char* name = "joined";
        template <class Block>
        DYNPAR_FUNCTION void operator()(Block& block, const sized_tree* t, const count_type* below, count_type* above,
                                        unsigned level) const {
            if (block.thread_rank() == 0) check(*t, below, above, level);
        }
        DYNPAR_FUNCTION static void check(const sized_tree& t, const count_type* below, count_type* above,
                                          unsigned level) {
            if (dynpar::atomic_add(const_cast<count_type*>(below), count_type{0}) != t.below[level])
                dynpar::atomic_add(t.wrong, count_type{1});
            dynpar::atomic_add(above, count_type{1});
        }
    };

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const sized_tree* tree, count_type* above, unsigned level) const {
        const sized_tree& t = *tree;
        const bool first = block.thread_rank() == 0;
        if (first) {
            dynpar::atomic_add(&t.blocks_run[(block.block_rank() + level * 37 +
                                              static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(above) >> 6)) %
                                             sized_tree::counters],
                               count_type{1});
            dynpar::atomic_add(above, count_type{1});
        }
        if (block.block_rank() != 0 || level == 0) return;
        const bool by_all = t.every_thread != 0;
        count_type* below = above;
        if (t.joins_at(level)) {
            count_type** const shared = by_all ? block.template shared<count_type*>(1) : nullptr;
            if (first) {
                below = block.template scratch<count_type>(1);
                *below = 0;
                if (by_all) *shared = below;
            }
            if (by_all) {
                block.sync();
                below = *shared;
            }
        }
        const unsigned step = by_all ? block.num_threads() : 1;
        for (unsigned i = by_all ? block.thread_rank() : 0; (by_all || first) && i < t.fan; i += step) {
            block.launch(*this, shape(t.blocks, t.threads, by_all ? 16 : 0), tree, below, level - 1);
        }
        if ((t.joins >> level & 1) != 0 && first) {
            block.then(joined{}, shape(1, t.threads), tree, static_cast<const count_type*>(below), above, level);
        }
        if ((t.waits >> level & 1) != 0) {
            block.wait();
            if (first) joined::check(t, below, above, level);
        }
    }
};

/// Checks one tree with each of some choices of levels that join.
void check_tree(dynpar::queue_engine& engine, unsigned fan, unsigned levels, unsigned blocks, unsigned threads,
                bool every_thread) {
    const unsigned root = 1u << levels, middle = 1u << levels / 2, leaves = 2u;
    struct choice {
        const char* what;
        unsigned joins, waits;
    };
    for (const choice& c :
         {choice{"the root joins", root, 0}, choice{"the root and the middle join", root | middle, 0},
          choice{"the root joins, and all above the leaves", root | leaves, 0},
          choice{"all join", (2u << levels) - 2, 0}, choice{"the root waits, the middle joins", middle, root},
          choice{"the middle waits, the root and all above the leaves join", root | leaves, middle & ~leaves},
          choice{"all above the leaves wait", root, leaves}}) {
        INFO(c.what);
        CAPTURE(fan);
        CAPTURE(levels);
        CAPTURE(blocks);
        CAPTURE(threads);
        CAPTURE(every_thread);
        sized_tree t{};
        auto blocks_run = filled<count_type>(engine, sized_tree::counters, 0);
        auto others = filled<count_type>(engine, 2, 0);
        t.blocks_run = blocks_run.data();
        t.wrong = others.data();
        t.fan = fan;
        t.blocks = blocks;
        t.threads = threads;
        t.joins = c.joins;
        t.waits = c.waits;
        t.every_thread = every_thread ? 1 : 0;
        for (unsigned level = 1; level <= levels; ++level) t.below[level] = fan * counted(t, level - 1);
        auto tree = engine.make_buffer<sized_tree>(1);
        tree.copy_from(&t);
        const dynpar::report report =
            engine.run(tree_grid{}, shape(blocks, threads, every_thread ? 16 : 0),
                       static_cast<const sized_tree*>(tree.data()), others.data() + 1, levels);
        CHECK(report.grids == grids_of(t, levels));
        CHECK(report.failed_calls == 0);
        count_type all = 0, expected = 0, of_level = 1;
        for (unsigned level = 0; level <= levels; ++level, of_level *= fan) expected += of_level * blocks;
        for (const count_type n : blocks_run.to_vector()) all += n;
        CHECK(all == expected);
        const std::vector<count_type> found = others.to_vector();
        CHECK(found[0] == 0);
        CHECK(found[1] == blocks + 1);
    }
}

struct bare_tree {
    static constexpr const char* name = "bare_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels) const {
        if (levels == 0) return;
        for (int i = 0; i < 2; ++i) block.launch(*this, shape(1, 1), levels - 1);
    }
};

TEST_CASE("C1, C3, C6 with a hundred million grids of one thread") {
    dynpar::queue_engine engine(with_deadline());
    check_tree(engine, 10, 8, 1, 1, false);
    check_tree(engine, 3, 15, 1, 1, false);
    check_tree(engine, 2, 20, 1, 1, false);
}

TEST_CASE("C1, C3, C6 with ten million grids of a few threads or a warp") {
    for (const unsigned block_threads : {0u, 1024u}) {
        dynpar::queue_options options = with_deadline();
        if (block_threads > DYNPAR_QUEUE_MOST_THREADS) continue;
        options.block_threads = block_threads;
        dynpar::queue_engine engine(options);
        for (const unsigned threads : {2u, 31u, 32u}) {
            check_tree(engine, 10, 6, 1, threads, false);
            check_tree(engine, 3, 13, 1, threads, false);
            check_tree(engine, 40, 4, 1, threads, true);
        }
    }
}

TEST_CASE("C1, C3, C6 with a million grids of a worker block") {
    for (const unsigned block_threads : {64u, 0u}) {
        dynpar::queue_options options = with_deadline();
        options.block_threads = block_threads;
        dynpar::queue_engine engine(options);
        for (const unsigned threads : {33u, 64u, 512u}) {
            if (block_threads != 0 && threads > block_threads) continue;
            check_tree(engine, 3, 11, 1, threads, false);
            check_tree(engine, 20, 4, 1, threads, true);
        }
    }
}

TEST_CASE("C1, C3, C6 with a million grids of several blocks") {
    dynpar::queue_engine engine(with_deadline());
    for (const unsigned blocks : {2u, 7u, 40u}) {
        for (const unsigned threads : {1u, 8u, 32u, 64u}) {
            check_tree(engine, 10, threads == 64 ? 4 : blocks == 40 ? 5 : 6, blocks, threads, false);
            check_tree(engine, 3, threads == 64 ? 8 : 11, blocks, threads, false);
        }
    }
}

}  // namespace

TEST_CASE("a trace has the first grids of a run of more than its numbers can tell apart") {
    dynpar::queue_options options = with_deadline();
    options.trace_grids = 1000;
    dynpar::queue_engine engine(options);
    constexpr unsigned levels = 27;  // 2^28 - 1 grids; numbers are for 2^27
    const dynpar::report report = engine.run(bare_tree{}, shape(1, 1), levels);
    CHECK(report.grids == (count_type{2} << levels) - 1);
    const dynpar::trace& t = report.trace;
    CHECK(t.grids.size() == options.trace_grids);
    CHECK(t.grids.size() + t.missing == report.grids);
    for (const dynpar::grid_record& grid : t.grids) {
        CHECK(grid.kernel == bare_tree::name);
        CHECK(grid.depth <= levels);
        if (grid.parent != dynpar::grid_record::none) CHECK(grid.depth == t.grids.at(grid.parent).depth + 1);
    }
}
