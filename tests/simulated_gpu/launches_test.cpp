// Many launches from one lane, several lanes, warps and teams, before and after waits; with little memory, and stopped.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;

struct spread_counts {
    u64 launched, refused, begun, continued, continuations, faults, waits_failed, number_of_faults;
};
struct spread_how {
    unsigned fan[3];
    unsigned widest, waits, thens, takes_memory, spins;
};

struct done_one {
    static constexpr const char* name = "done_one";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, spread_counts* counts, u64* below, u64 expected) const {
        if (block.thread_rank() != block.num_threads() - 1) return;
        dynpar::atomic_add(&counts->continued, u64{1});
        if (below != nullptr && dynpar::atomic_add(below, u64{0}) != expected)
            dynpar::atomic_add(&counts->faults, u64{1});
    }
};

struct spread {
    static constexpr const char* name = "spread";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, spread_counts* counts, const spread_how* how, u64* above,
                                    unsigned seed, unsigned level) const {
        const unsigned rank = block.thread_rank(), threads = block.num_threads();
        if (rank == 0) dynpar::atomic_add(&counts->begun, u64{1});
        if (level == 0 && how->takes_memory != 0 && rank == 0) {
            for (std::size_t bytes = std::size_t{1} << 22; bytes >= how->takes_memory; bytes /= 2)
                while (block.template scratch<char>(bytes) != nullptr) {
                }
        }
        for (unsigned i = 0; i < how->spins; ++i) dynpar::atomic_add(&counts->faults, u64{0});
        u64* below = nullptr;
        if (level != 3 && how->takes_memory == 0 && drawn(seed, 7) % 3 == 0 && rank == 0) {
            below = block.template scratch<u64>(1);
            if (below != nullptr) *below = 0;
        }
        const bool waits = how->waits != 0 && drawn(seed, 1) % how->waits == 0;
        const bool then_first = drawn(seed, 2) % 2 == 0;
        const bool one = drawn(seed, 3) % 2 == 0;
        const unsigned count = level < 3 ? how->fan[level] : 0;
        const unsigned asker = drawn(seed, 4) % threads;
        const bool thens = how->thens != 0 && drawn(seed, 5) % how->thens == 0;
        if (thens && then_first && rank == 0) go_on(block, counts, seed, how->widest);
        u64 mine = 0, not_mine = 0;
        for (unsigned k = one ? 0 : rank; k < count / 2; k += one ? 1 : threads) {
            if (one && rank != asker) break;
            launch(block, counts, how, below, drawn(seed, 100 + k), level) ? ++mine : ++not_mine;
        }
        if (waits && block.wait() != dynpar::status::success) dynpar::atomic_add(&counts->waits_failed, u64{1});
        if (rank == 0 && below != nullptr && waits && one && asker == 0 &&
            dynpar::atomic_add(below, u64{0}) != count / 2)
            dynpar::atomic_add(&counts->faults, u64{1});
        for (unsigned k = (one ? 0 : rank) + count / 2; k < count; k += one ? 1 : threads) {
            if (one && rank != asker) break;
            launch(block, counts, how, below, drawn(seed, 100 + k), level) ? ++mine : ++not_mine;
        }
        if (thens && !then_first && rank == 0) go_on(block, counts, seed, how->widest);
        if (mine != 0) dynpar::atomic_add(&counts->launched, mine);
        if (not_mine != 0) dynpar::atomic_add(&counts->refused, not_mine);
        if (above != nullptr && rank == threads - 1) dynpar::atomic_add(above, u64{1});
    }
    template <class Block>
    DYNPAR_FUNCTION void go_on(Block& block, spread_counts* counts, unsigned seed, unsigned widest) const {
        const unsigned widths[] = {1, 32, 64, 16};
        dynpar::atomic_add(&counts->continuations, u64{1});
        const unsigned width = widths[drawn(seed, 6) % 4];
        block.then(done_one{}, dynpar::shape(1, width > widest ? 1 : width), counts, static_cast<u64*>(nullptr),
                   u64{0});
    }
    template <class Block>
    DYNPAR_FUNCTION bool launch(Block& block, spread_counts* counts, const spread_how* how, u64* below, unsigned seed,
                                unsigned level) const {
        const unsigned widths[] = {1, 1, 32, 8, 64, 128, 32, 1};
        unsigned width = widths[drawn(seed, 8) % 8];
        if (width > how->widest) width = 1;
        // `below` is known to one thread alone: the others' children do not count there.
        return block.launch(*this, dynpar::shape(1, width), counts, how, level == 0 ? nullptr : below, seed,
                            level + 1) == dynpar::status::success;
    }
};

struct drawn_engine {
    dynpar::queue_options options;
    unsigned seed;
    explicit drawn_engine(unsigned s) : seed(s) {
        constexpr unsigned threads_of[] = {32, 64, 64, 128, 128, 96};
        options.block_threads = threads_of[drawn(s, 1) % 6];
        options.worker_blocks = 1 + drawn(s, 2) % 4;
        options.memory_bytes = std::size_t{64} << 20;
        options.limits.sync_depth = 6;
        if (drawn(s, 20) % 12 == 0) options.trace_grids = 100000;
    }
    spread_how how() const {
        spread_how h{};
        const unsigned firsts[] = {100, 300, 700, 40};
        h.fan[0] = firsts[drawn(seed, 3) % 4];
        h.fan[1] = drawn(seed, 4) % 7;
        if (drawn(seed, 14) % 5 == 0) h.fan[0] = 6, h.fan[1] = 150;
        h.fan[2] = drawn(seed, 5) % 3;
        h.widest = drawn(seed, 6) % 3 == 0 ? 32 : options.block_threads;
        h.waits = drawn(seed, 7) % 3;
        if (h.waits == 2) h.waits = 4;
        h.thens = drawn(seed, 8) % 4;
        return h;
    }
    unsigned root() const {
        const unsigned w[] = {1, 32, 64, 16};
        const unsigned x = w[drawn(seed, 9) % 4];
        return x > options.block_threads ? 1 : x;
    }
};

TEST_CASE("of hundreds of launches at once, before and after waits, each runs once") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        const drawn_engine d(seed);
        dynpar::queue_engine engine(d.options);
        const spread_how how = d.how();
        auto counts = filled(engine, 1, spread_counts{});
        auto hows = filled(engine, 1, how);
        const dynpar::report r =
            engine.run(spread{}, dynpar::shape(1, d.root()), counts.data(), static_cast<const spread_how*>(hows.data()),
                       static_cast<u64*>(nullptr), seed, 0u);
        const spread_counts f = counts.to_vector()[0];
        const u64 expected = 1 + u64{how.fan[0]} * (1 + u64{how.fan[1]} * (1 + how.fan[2]));
        CHECK(f.begun == expected);
        CHECK(f.launched + 1 == expected);
        CHECK(f.continued == f.continuations);
        CHECK(r.grids == expected + f.continued);
        CHECK(f.faults == 0);
        CHECK(f.waits_failed == 0);
        CHECK(r.lost_launches == 0);
    }
}

TEST_CASE("of hundreds of launches without memory each runs or is reported, and the engine can run again") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        drawn_engine d(seed);
        const unsigned sizes[] = {120000, 200000, 300000, 500000};
        d.options.memory_bytes = sizes[drawn(seed, 11) % 4];
        d.options.trace_grids = 0;
        dynpar::queue_engine engine(d.options);
        spread_how how = d.how();
        how.thens = 0;
        const unsigned takes[] = {2048, 4096, 8192, 64};
        how.takes_memory = takes[drawn(seed, 12) % 4];
        for (unsigned run = 0; run < 3; ++run) {
            CAPTURE(run);
            how.takes_memory = run == 1 ? 1u << 23 : takes[drawn(seed, 12 + run) % 4];
            auto counts = filled(engine, 1, spread_counts{});
            auto hows = filled(engine, 1, how);
            const dynpar::report r =
                engine.try_run(spread{}, dynpar::shape(1, d.root()), counts.data(),
                               static_cast<const spread_how*>(hows.data()), static_cast<u64*>(nullptr), seed, 0u);
            const spread_counts f = counts.to_vector()[0];
            CHECK(r.grids == f.begun);
            CHECK(f.launched + f.refused + 1 == f.begun + r.lost_launches);
            CHECK(f.faults == 0);
        }
    }
}

/// A chain: each link launches a child, waits for it, and continues with the next, with arguments that a grid's node
/// has room for. Counts the children, and the links whose wait was no failure.
struct waiting_chain {
    static constexpr const char* name = "waiting_chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, u64* counts, unsigned left) const {
        if (block.thread_rank() == 0) block.launch(count_one{}, dynpar::shape(1, 32), counts);
        const bool waited = block.wait() == dynpar::status::success;
        if (block.thread_rank() != 0) return;
        if (waited) dynpar::atomic_add(counts + 1, u64{1});
        if (left != 0) block.then(*this, dynpar::shape(1, block.num_threads()), counts, left - 1);
    }
};

TEST_CASE("a chain of grids that each wait for a child and continue takes no more memory the longer it is") {
    dynpar::queue_options options;
    options.block_threads = 64;
    options.worker_blocks = 1;
    options.memory_bytes = 400000;  // some 6,000 nodes
    dynpar::queue_engine engine(options);
    constexpr unsigned links = 12000;
    for (const unsigned threads : {1u, 32u, 64u}) {
        CAPTURE(threads);
        auto counts = filled(engine, 2, u64{0});
        const dynpar::report r = engine.try_run(waiting_chain{}, dynpar::shape(1, threads), counts.data(), links - 1);
        CHECK(counts.to_vector() == std::vector<u64>{links, links});
        CHECK(r.failed_calls == 0);
    }
}

u64 number_before(const std::string& text, const std::string& what) {
    const std::size_t at = text.find(what);
    if (at == std::string::npos) return ~u64{0};
    std::size_t begin = at;
    while (begin != 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    return std::strtoull(text.c_str() + begin, nullptr, 10);
}

TEST_CASE("of a run that is stopped in the middle of hundreds of launches each is counted once") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        drawn_engine d(seed);
        d.options.deadline_milliseconds = 1;
        d.options.trace_grids = 0;
        dynpar::queue_engine engine(d.options);
        spread_how how = d.how();
        how.thens = 0;
        for (unsigned run = 0; run < 3; ++run) {
            CAPTURE(run);
            how.spins = run == 2 ? 0 : 20 + drawn(seed, 15 + run) % 300;
            if (run == 2) how.fan[0] = 5, how.fan[1] = 0;
            auto counts = filled(engine, 1, spread_counts{});
            auto hows = filled(engine, 1, how);
            try {
                const dynpar::report r =
                    engine.run(spread{}, dynpar::shape(1, d.root()), counts.data(),
                               static_cast<const spread_how*>(hows.data()), static_cast<u64*>(nullptr), seed, 0u);
                const spread_counts f = counts.to_vector()[0];
                CHECK(r.grids == f.begun);
                CHECK(f.launched + 1 == f.begun);
            } catch (const dynpar::deadlock_error& e) {
                const std::string text = e.what();
                const spread_counts f = counts.to_vector()[0];
                CAPTURE(text);
                CHECK(f.refused == 0);
                CHECK(number_before(text, " grids had begun") == f.begun);
                CHECK(number_before(text, " were waiting to") + f.begun == f.launched + 1);
            }
        }
    }
}

/// Each block takes memory. Counts those that get it.
struct takes_memory {
    static constexpr const char* name = "takes_memory";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* got, unsigned bytes) const {
        if (block.thread_rank() == 0 && block.template scratch<unsigned char>(bytes) != nullptr)
            dynpar::atomic_add(got, 1u);
    }
};
/// A grid whose blocks take memory, and after it another.
struct takes_memory_twice {
    static constexpr const char* name = "takes_memory_twice";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* got, unsigned blocks, unsigned bytes,
                                    unsigned threads) const {
        if (block.thread_rank() != 0) return;
        block.then(takes_memory{}, dynpar::shape(blocks, threads), got, bytes);
        block.launch(takes_memory{}, dynpar::shape(blocks, threads), got, bytes);
    }
};

// What a grid had is free before its parent continues: there is room for one of them at a time.
TEST_CASE("what follows a grid finds the memory that the grid had") {
    const other_settings changed;
    simulated_gpu::current_settings().multiprocessors = 4;
    dynpar::queue_options options;
    options.block_threads = 128;
    options.worker_blocks = 4;
    options.memory_bytes = std::size_t{11} << 20;
    dynpar::queue_engine engine(options);
    constexpr unsigned blocks = 150, bytes = 60u << 10;
    for (const unsigned threads : {1u, 8u, 64u}) {
        for (unsigned run = 0; run < 20; ++run) {
            CAPTURE(threads);
            CAPTURE(run);
            auto got = filled(engine, 1, 0u);
            const dynpar::report r =
                engine.try_run(takes_memory_twice{}, dynpar::shape(1, 32), got.data(), blocks, bytes, threads);
            REQUIRE(r.failures.empty());
            CHECK(got.to_vector()[0] == 2 * blocks);
        }
    }
}

}  // namespace
