// Contract rows C1, C3, C7, C8, C9: completion, continuations, lost launches, impossible shapes, depth.
#include "engine_under_test.hpp"

#include <algorithm>
#include <utility>
#include <vector>

using namespace conformance;

namespace {

// ---- C1: a grid is complete when all its blocks have returned and every grid launched from it is complete

struct binary_tree {
    static constexpr const char* name = "binary_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, unsigned* counter) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(counter, 1u);
        for (int child = 0; child < 2 && levels > 0; ++child)
            block.launch(*this, dynpar::shape(1, 1), levels - 1, counter);
    }
};

TEST_CASE("C1: a run returns when every nested grid has run, and each has run once") {
    auto engine = make_engine();
    for (int repeat = 0; repeat < 5; ++repeat) {
        auto counter = filled(engine, 1, 0u);
        const dynpar::report report = engine.run(binary_tree{}, dynpar::shape(1, 1), 9, counter.data());
        CHECK(counter.to_vector()[0] == 1023);
        CHECK(report.grids == 1023);
        CHECK(report.deepest_nesting == 9);
        CHECK(report.lost_launches == 0);
        CHECK(report.engine == engine_under_test::name);
    }
}

struct wide_tree {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, unsigned* counter) const {
        dynpar::atomic_add(counter, 1u);
        block.sync();
        // Every block launches, and not its first thread.
        if (levels > 0 && block.thread_rank() == block.num_threads() - 1) {
            block.launch(*this, dynpar::shape(2, 40), levels - 1, counter);
        }
    }
};

TEST_CASE("C1: the same for grids of several blocks that any thread may launch") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::report report = engine.run(wide_tree{}, dynpar::shape(3, 40), 5, counter.data());
    // level k has 3 * 2^k blocks
    CHECK(counter.to_vector()[0] == 3 * 63 * 40);
    CHECK(report.grids == 1 + 3 * 31);
}

struct copies_count {
    static constexpr const char* name = "copies_count";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const unsigned* counter, unsigned* copy) const {
        *copy = dynpar::atomic_load(counter);
    }
};
/// Some threads launch a grid, after a smaller one, and the first block's continuation follows after all of them.
struct launches_grids {
    static constexpr const char* name = "launches_grids";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned step, unsigned blocks, unsigned threads,
                                    unsigned* counters) const {
        const unsigned rank = dynpar::this_grid(block).thread_rank();
        if (rank % step != 0) return;
        block.launch(count_one{}, dynpar::shape(1, 1), counters);
        block.launch(count_one{}, dynpar::shape(blocks, threads), counters);
        if (rank == 0) block.then(copies_count{}, dynpar::shape(1, 1), counters, counters + 1);
    }
};

TEST_CASE("C1, C3: threads of blocks of any width may launch grids of any number of blocks of any width") {
    struct parent {
        unsigned blocks, threads, step;
    };
    struct child {
        unsigned blocks, threads;
    };
    auto engine = make_engine();
    for (const parent& p : {parent{1, 1, 1}, parent{33, 1, 1}, parent{2, 32, 11}, parent{1, 96, 19}}) {
        const unsigned launches = (p.blocks * p.threads + p.step - 1) / p.step;
        for (const child& c : {child{2, 1}, child{40, 1}, child{2, 32}, child{33, 5}, child{17, 32}, child{200, 2},
                               child{2, 64}, child{9, 40}}) {
            CAPTURE(p.threads);
            CAPTURE(c.blocks);
            CAPTURE(c.threads);
            auto counters = filled(engine, 2, 0u);
            const dynpar::report report = engine.run(launches_grids{}, dynpar::shape(p.blocks, p.threads), p.step,
                                                     c.blocks, c.threads, counters.data());
            const unsigned all = launches * (1 + c.blocks);
            CHECK(counters.to_vector() == std::vector<unsigned>{all, all});
            CHECK(report.grids == 2 + 2 * launches);
            CHECK(report.lost_launches == 0);
        }
    }
}

struct every_thread_launches {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        block.launch(count_one{}, dynpar::shape(1, 1), counter);
    }
};

TEST_CASE("C1: every thread of a block may launch a grid of its own") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    engine.run(every_thread_launches{}, dynpar::shape(2, 100), counter.data());
    CHECK(counter.to_vector()[0] == 200);
}

struct counts_first {
    static constexpr const char* name = "counts_first";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* counters) const {
        dynpar::atomic_add(counters, 1u);
    }
};
struct counts_second {
    static constexpr const char* name = "counts_second";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* counters) const {
        dynpar::atomic_add(counters + 1, 1u);
    }
};

/// One thread has something else to do first, for microseconds: on a GPU the threads of its warp may run apart then.
/// Whether they do is up to the compiler; the programs in tests/fuzz/found are ones in which they do, and which hang on
/// CUDA's device runtime if the threads of a warp do not take turns.
struct threads_apart {
    static constexpr const char* name = "threads_apart";
    static constexpr unsigned max_threads =
        64;  // the functions that it calls take more registers than 1024 threads leave
    static constexpr int rounds = 2000;

    template <class Block>
    static DYNPAR_FUNCTION DYNPAR_NOINLINE void be_late(const Block& block, unsigned late, unsigned* counters) {
        if (block.thread_rank() != late) return;
        for (int round = 0; round < rounds; ++round) dynpar::atomic_add(counters + 2, 1u);
    }
    template <class Block>
    static DYNPAR_FUNCTION DYNPAR_NOINLINE dynpar::status launch(Block& block, bool second, unsigned* counters) {
        if (second) return block.launch(counts_second{}, dynpar::shape(1, 1), counters);
        return block.launch(counts_first{}, dynpar::shape(1, 1), counters);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int* steps, unsigned late, unsigned* counters) const {
        for (int step = 0; step < 2; ++step) {
            switch (steps[step]) {
                case 0: be_late(block, late, counters); break;
                default: launch(block, block.thread_rank() % 2 == 1, counters); break;
            }
        }
    }
};

TEST_CASE("C1: threads of a block that run apart may launch different kernels") {
    auto engine = make_engine();
    const std::vector<int> order = {0, 1};
    auto steps = engine.make_buffer<int>(order.size());
    steps.copy_from(order.data());
    for (const unsigned late : {0u, 1u, 31u}) {
        auto counters = filled(engine, 3, 0u);
        const dynpar::report report =
            engine.run(threads_apart{}, dynpar::shape(1, 32), steps.data(), late, counters.data());
        CHECK(report.grids == 33);
        CHECK(counters.to_vector() == std::vector<unsigned>{16, 16, static_cast<unsigned>(threads_apart::rounds)});
    }
}

// Kernels of different types and widths that launch each other.
struct pong;
struct ping {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int rounds, unsigned* counter) const;
};
struct pong {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter, int rounds) const {
        block.sync();
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(counter, 1000u);
        if (rounds > 0) block.launch(ping{}, dynpar::shape(1, rounds % 2 == 0 ? 1 : 70), rounds - 1, counter);
    }
};
template <class Block>
DYNPAR_FUNCTION void ping::operator()(Block& block, int rounds, unsigned* counter) const {
    block.sync();
    if (block.thread_rank() != 0) return;
    dynpar::atomic_add(counter, 1u);
    if (rounds > 0) block.launch(pong{}, dynpar::shape(1, rounds % 3 == 0 ? 200 : 9), counter, rounds - 1);
}

TEST_CASE("C1: any kernel may launch any other, in any mix of widths") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::report report = engine.run(ping{}, dynpar::shape(1, 1), 15, counter.data());
    CHECK(counter.to_vector()[0] == 8008);
    CHECK(report.grids == 16);
}

/// One of many kernels, each of which is another.
template <unsigned Number>
struct one_of_many {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counters) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(counters + Number, 1u);
    }
};
template <unsigned... Numbers>
struct launch_one_of_each {
    static constexpr unsigned kernels = sizeof...(Numbers);
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counters) const {
        (block.launch(one_of_many<Numbers>{}, dynpar::shape(1, 1 << Numbers % 4 * 2), counters), ...);
    }
};
using launch_all_of_them = launch_one_of_each<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>;

TEST_CASE("C1: a program may have any number of kernels") {
    auto engine = make_engine();
    auto counters = filled(engine, launch_all_of_them::kernels, 0u);
    // The second run, of an engine that may know them by then, is of blocks beside one another.
    for (const int blocks : {1, 40}) {
        const dynpar::report report = engine.run(launch_all_of_them{}, dynpar::shape(blocks, 1), counters.data());
        CHECK(report.grids == 1 + launch_all_of_them::kernels * static_cast<unsigned>(blocks));
    }
    CHECK(counters.to_vector() == std::vector<unsigned>(launch_all_of_them::kernels, 41));
}

// ---- C3: continuations

struct read_counter {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* counter, unsigned* seen) const {
        if (block.thread_rank() == 0) *seen = *counter;
    }
};

struct tree_then_read {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, unsigned* counter, unsigned* seen) const {
        // The first block gives the continuation before anybody has done anything.
        if (block.block_rank() == 0 && block.thread_rank() == 0)
            block.then(read_counter{}, dynpar::shape(1, 1), counter, seen);
        if (block.thread_rank() == 0) block.launch(binary_tree{}, dynpar::shape(1, 1), levels, counter);
        dynpar::atomic_add(counter, 1u);
    }
};

TEST_CASE("C3: a continuation starts after the whole grid and all its descendants, and sees what they wrote") {
    auto engine = make_engine();
    for (int repeat = 0; repeat < 5; ++repeat) {
        auto counter = filled(engine, 1, 0u), seen = filled(engine, 1, 0u);
        engine.run(tree_then_read{}, dynpar::shape(16, 33), 4, counter.data(), seen.data());
        CHECK(seen.to_vector()[0] == 16 * 33 + 16 * 31);
    }
}

// Others may run blocks of so large a grid before the block that launches it has returned.
struct many_blocks_then_read {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned blocks, unsigned threads, unsigned* counter,
                                    unsigned* seen) const {
        if (block.thread_rank() != 0) return;
        block.then(read_counter{}, dynpar::shape(1, 1), counter, seen);
        block.launch(count_one{}, dynpar::shape(blocks, threads), counter);
    }
};

TEST_CASE(
    "C3: a continuation of a single block starts after a grid of thousands of blocks that the block has launched") {
    auto engine = make_engine();
    constexpr unsigned blocks = many(3000);
    for (const unsigned threads : {1u, 32u, 64u}) {
        for (const unsigned childs_threads : {1u, 32u, 64u}) {
            CAPTURE(threads);
            CAPTURE(childs_threads);
            auto counter = filled(engine, 1, 0u), seen = filled(engine, 1, 0u);
            const dynpar::report report = engine.run(many_blocks_then_read{}, dynpar::shape(1, threads), blocks,
                                                     childs_threads, counter.data(), seen.data());
            CHECK(seen.to_vector()[0] == blocks);
            CHECK(report.grids == 3);
        }
    }
}

struct several_continuations {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned count) const {
        for (unsigned i = 0; i < count; ++i) block.then(append{}, dynpar::shape(1, 1), list, i);
        block.launch(append{}, dynpar::shape(1, 1), list, 1000u);
    }
};

TEST_CASE("C3: several continuations of one grid run one after another, in the order given, after its children") {
    auto engine = make_engine();
    auto list = filled(engine, 100, 0u);
    engine.run(several_continuations{}, dynpar::shape(1, 1), list.data(), 20u);
    const std::vector<unsigned> order = appended(list);
    REQUIRE(order.size() == 21);
    CHECK(order[0] == 1000);
    for (unsigned i = 0; i < 20; ++i) CHECK(order[i + 1] == i);
}

// Links of every width, each of which continues with the next, and with a number that comes before it or after all that
// follow it. Now the first thread asks for that, now the last, before it launches or after.
struct link_of_widths {
    enum flags : unsigned { number_first = 1, launches_first = 2 };
    static constexpr unsigned links = 30;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned link, unsigned how) const {
        if (block.thread_rank() != (link % 2 == 0 ? 0 : block.num_threads() - 1)) return;
        list[1 + dynpar::atomic_add(&list[0], 1u)] = link;
        if ((how & launches_first) != 0) block.launch(append{}, dynpar::shape(1, 1), list, 100 + link);
        if ((how & number_first) != 0) block.then(append{}, dynpar::shape(1, width_of(link + 3)), list, 1000 + link);
        if (link + 1 != links) block.then(*this, dynpar::shape(1, width_of(link + 1)), list, link + 1, how);
        if ((how & number_first) == 0) block.then(append{}, dynpar::shape(1, width_of(link + 5)), list, 1000 + link);
        if ((how & launches_first) == 0) block.launch(append{}, dynpar::shape(1, 1), list, 100 + link);
    }
    DYNPAR_FUNCTION static unsigned width_of(unsigned link) {
        const unsigned widths[] = {1, 32, 64, 1, 24, 64, 64, 16, 16, 32, 40, 1, 1};
        return widths[link % 13];
    }
};

TEST_CASE("C3: blocks of every width continue with blocks of every width, one after another, in the order given") {
    constexpr unsigned links = link_of_widths::links;
    for (unsigned how = 0; how < 4; ++how) {
        CAPTURE(how);
        auto engine = make_engine();
        auto list = filled(engine, 200, 0u);
        const dynpar::report report = engine.run(link_of_widths{}, dynpar::shape(1, 1), list.data(), 0u, how);
        std::vector<unsigned> expected;
        for (unsigned link = 0; link < links; ++link) {
            expected.push_back(link);
            expected.push_back(100 + link);
            if ((how & link_of_widths::number_first) != 0) expected.push_back(1000 + link);
        }
        for (unsigned link = links; (how & link_of_widths::number_first) == 0 && link != 0; --link)
            expected.push_back(1000 + link - 1);
        CHECK(appended(list) == expected);
        CHECK(report.grids == 3 * links);
        CHECK(report.lost_launches == 0);
    }
}

// A continuation that launches, and continues itself: a(child) -> then b(child) -> then c; the parent's continuation
// comes last.
struct late_step {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned number, unsigned more) const {
        if (block.thread_rank() != 0) return;
        append{}(block, list, number);
        block.launch(append{}, dynpar::shape(1, 1), list, number + 100);
        if (more > 0) block.then(*this, dynpar::shape(1, 1), list, number + 1, more - 1);
    }
};
struct parent_of_steps {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list) const {
        block.then(append{}, dynpar::shape(1, 1), list, 9999u);
        block.launch(late_step{}, dynpar::shape(1, 1), list, 1u, 3u);
    }
};

TEST_CASE("C3: the parent's completion waits for its children's continuations, and what those launch") {
    auto engine = make_engine();
    auto list = filled(engine, 100, 0u);
    engine.run(parent_of_steps{}, dynpar::shape(1, 1), list.data());
    CHECK(appended(list) == std::vector<unsigned>{1, 101, 2, 102, 3, 103, 4, 104, 9999});
}

// A recursion that joins: fib with continuations, every call a grid.
struct add_two {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* parts, unsigned* out) const {
        if (block.thread_rank() == 0) *out = parts[0] + parts[1];
    }
};
struct fib {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n, unsigned* out) const {
        if (block.thread_rank() != 0) return;
        if (n < 2) {
            *out = n;
            return;
        }
        auto* parts = block.template scratch<unsigned>(2);
        block.launch(*this, dynpar::shape(1, 1), n - 1, parts);
        block.launch(*this, dynpar::shape(1, 1), n - 2, parts + 1);
        block.then(add_two{}, dynpar::shape(1, 1), parts, out);
    }
};

TEST_CASE("C3, C12: a recursion that joins through continuations and scratch memory is right") {
    auto engine = make_engine();
    for (int repeat = 0; repeat < 3; ++repeat) {
        auto out = filled(engine, 1, 0u);
        engine.run(fib{}, dynpar::shape(1, 1), 12u, out.data());
        CHECK(out.to_vector()[0] == 144);
    }
}

/// A grid of a few blocks of one thread, of which each launches, and some continue it or take its memory.
struct few_blocks {
    static constexpr const char* name = "few_blocks";

    /// What is counted: blocks of the grid and of its children, continuations, what a continuation found missing.
    enum : unsigned { ran, continued, missing, counts };

    struct leaf {
        template <class Block>
        DYNPAR_FUNCTION void operator()(Block&, unsigned* counters) const {
            dynpar::atomic_add(counters + ran, 1u);
        }
    };
    struct after {
        template <class Block>
        DYNPAR_FUNCTION void operator()(Block&, unsigned* counters, unsigned expected, const unsigned* kept) const {
            const bool all_there = dynpar::atomic_load(counters + ran) >= expected && kept[0] == 17;
            dynpar::atomic_add(counters + (all_there ? continued : missing), 1u);
        }
    };

    unsigned asks;   // every so many blocks continue the grid; 0: none does
    unsigned waits;  // every so many blocks wait for their children; 0: none does

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned blocks, unsigned children, unsigned* counters) const {
        const unsigned rank = block.block_rank();
        if (block.num_blocks() != blocks || block.group_index().x != rank) dynpar::atomic_add(counters + missing, 1u);
        // Before the grid is continued and after: what was launched first belongs to it as well.
        for (unsigned i = 0; i < children / 2; ++i) block.launch(leaf{}, dynpar::shape(1, 1), counters);
        if (asks != 0 && rank % asks == asks - 1) {
            unsigned* const kept = block.template scratch<unsigned>(rank % 2 == 0 ? 4 : 40);
            if (kept == nullptr) return;
            kept[0] = 17;
            block.then(after{}, dynpar::shape(1, 1), counters, blocks * (1 + children),
                       static_cast<const unsigned*>(kept));
        }
        if (children > children / 2) block.launch(leaf{}, dynpar::shape(children - children / 2, 1), counters);
        if (waits != 0 && rank % waits == 0 && has_wait) block.wait();
        dynpar::atomic_add(counters + ran, 1u);
    }
};

struct launch_few_blocks {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, few_blocks kernel, unsigned grids, unsigned blocks, unsigned children,
                                    unsigned* counters) const {
        for (unsigned i = block.thread_rank(); i < grids; i += block.num_threads())
            block.launch(kernel, dynpar::shape(blocks, 1), blocks, children, counters + i * few_blocks::counts);
    }
};

TEST_CASE("C3, C12: a grid of a few blocks of one thread continues after all of them, whichever of them asks") {
    auto engine = make_engine();
    constexpr unsigned grids = 9;
    for (const unsigned blocks : {2u, 3u, 31u, 32u, 33u}) {
        for (const unsigned asks : {0u, 1u, 2u, 3u}) {
            for (const unsigned waits : {0u, 2u}) {
                for (const unsigned threads : {1u, 3u, 40u}) {
                    CAPTURE(blocks);
                    CAPTURE(asks);
                    CAPTURE(waits);
                    CAPTURE(threads);
                    constexpr unsigned children = 5;
                    auto counters = filled(engine, grids * few_blocks::counts, 0u);
                    engine.run(launch_few_blocks{}, dynpar::shape(1, threads), few_blocks{asks, waits}, grids, blocks,
                               children, counters.data());
                    const std::vector<unsigned> found = counters.to_vector();
                    for (unsigned i = 0; i < grids; ++i) {
                        const unsigned* const of_grid = found.data() + i * few_blocks::counts;
                        CHECK(of_grid[few_blocks::ran] == blocks * (1 + children));
                        CHECK(of_grid[few_blocks::continued] == (asks == 0 ? 0 : blocks / asks));
                        CHECK(of_grid[few_blocks::missing] == 0);
                    }
                }
            }
        }
    }
}

// ---- C7: every launch runs once or is reported

struct many_continuations {
    static constexpr const char* name = "many_continuations";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, unsigned* counter, unsigned* refused) const {
        for (unsigned i = 0; i < count; ++i) {
            // Continuations stay pending until this grid is over: a limit below `count` is passed for certain.
            const dynpar::status s = block.then(count_one{}, dynpar::shape(1, 1), counter);
            if (s == dynpar::status::pending_launches_exceeded) dynpar::atomic_add(refused, 1u);
        }
    }
};

TEST_CASE("C7: launches over the pending limit are refused, counted and named, and the engine stays usable") {
    dynpar::limits limits;
    limits.pending_launches = 1024;
    constexpr unsigned count = many(4000);
    auto engine = make_engine(limits);
    auto counter = filled(engine, 1, 0u), refused = filled(engine, 1, 0u);
    const dynpar::report report =
        engine.try_run(many_continuations{}, dynpar::shape(1, 1), count, counter.data(), refused.data());
    const unsigned ran = counter.to_vector()[0], told = refused.to_vector()[0];
    CHECK(ran + report.lost_launches == count);
    CHECK(told == report.lost_launches);
    CHECK(report.grids == 1 + ran);
    if (bounds_pending_launches) {
        CHECK(report.lost_launches > 0);
        CHECK(report.pending_limit == 1024);
        const dynpar::failure& f = only_failure(report);
        CHECK(f.operation == dynpar::operation::then);
        CHECK(f.status == dynpar::status::pending_launches_exceeded);
        CHECK(f.kernel == "count_one");
        CHECK(f.count == report.lost_launches);
        std::string message;
        try {
            engine.run(many_continuations{}, dynpar::shape(1, 1), count, counter.data(), refused.data());
        } catch (const dynpar::launch_error& e) {
            message = e.what();
            CHECK(e.report().lost_launches > 0);
        }
        CHECK(message.find("launches lost") != std::string::npos);
        CHECK(message.find("count_one") != std::string::npos);
        CHECK(message.find("limit on pending launches: 1024") != std::string::npos);
    } else {
        CHECK(report.lost_launches == 0);
    }
    auto again = filled(engine, 1, 0u);
    CHECK(engine.run(binary_tree{}, dynpar::shape(1, 1), 5, again.data()).grids == 63);
    CHECK(again.to_vector()[0] == 63);
}

struct many_children {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, unsigned* counter) const {
        for (unsigned i = 0; i < count; ++i) block.launch(count_one{}, dynpar::shape(1, 32), counter);
    }
};

TEST_CASE("C7: of many launches at once, each runs or is reported") {
    dynpar::limits limits;
    limits.pending_launches = 256;
    auto engine = make_engine(limits);
    auto counter = filled(engine, 1, 0u);
    const dynpar::report report = engine.try_run(many_children{}, dynpar::shape(64, 4), 16u, counter.data());
    CHECK(counter.to_vector()[0] + report.lost_launches == 64 * 4 * 16);
}

TEST_CASE("C7: a nesting deeper than asked for is refused, and said") {
    dynpar::limits limits;
    limits.nesting_depth = 3;
    auto engine = make_engine(limits);
    auto counter = filled(engine, 1, 0u);
    const dynpar::report report = engine.try_run(binary_tree{}, dynpar::shape(1, 1), 9, counter.data());
    CHECK(counter.to_vector()[0] == 15);
    CHECK(report.lost_launches == 16);
    const dynpar::failure& f = only_failure(report);
    CHECK(f.status == dynpar::status::nesting_depth_exceeded);
    CHECK(f.depth == 4);
    CHECK(f.count == 16);
    CHECK_THROWS_AS(engine.run(binary_tree{}, dynpar::shape(1, 1), 9, counter.data()), dynpar::launch_error);
}

// ---- C8: an impossible shape

struct try_shape {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::shape s, bool as_continuation, unsigned* counter,
                                    int* result) const {
        const dynpar::status told =
            as_continuation ? block.then(count_one{}, s, counter) : block.launch(count_one{}, s, counter);
        *result = static_cast<int>(told);
    }
};

TEST_CASE("C8: an impossible shape is refused with invalid_configuration, and nothing runs") {
    auto engine = make_engine();
    const dynpar::shape impossible[] = {{0, 32},
                                        {1, 0},
                                        {1, 1025},
                                        {1, {1, 1, 65}},
                                        {1, {33, 32}},
                                        {{1, 65536}, 1},
                                        {-1, 32},
                                        {1, -1},
                                        {1, 32, 232449},
                                        {1ull << 40, 32},
                                        {{65536, 65535, 2}, 1},
                                        {{32769, 65535}, 1},
                                        // Moldable ones, too, though each engine would choose a width that is possible.
                                        {1, dynpar::at_most(0), 100},
                                        {1, dynpar::at_most(1025)},
                                        {1, dynpar::at_most(1025), 100},
                                        {3, dynpar::at_most(1025), 100},
                                        {1, dynpar::at_most(~0u), 100},
                                        {1, dynpar::at_most(2000), dynpar::bytes_per_thread(8)},
                                        {1, dynpar::at_most(8), 232449}};
    CHECK(check(dynpar::shape({32768, 65535}, 1)) == dynpar::status::success);
    for (const dynpar::shape& s : impossible) {
        const std::string text = to_string(s);
        CAPTURE(text);
        for (const unsigned call : {0u, 1u, 2u, 3u, 4u, 5u}) {
            const bool as_continuation = call % 2 != 0;
            const unsigned threads = call < 2 ? 1 : call < 4 ? 32 : 64;  // that make the call
            CAPTURE(threads);
            auto counter = filled(engine, 1, 0u);
            auto result = filled(engine, 1, -1);
            const dynpar::report report = engine.try_run(try_shape{}, dynpar::shape(1, threads), s, as_continuation,
                                                         counter.data(), result.data());
            CHECK(result.to_vector()[0] == static_cast<int>(dynpar::status::invalid_configuration));
            CHECK(counter.to_vector()[0] == 0);
            CHECK(report.grids == 1);
            CHECK(report.lost_launches == threads);
            CHECK(only_failure(report).shape == s);
            CHECK(only_failure(report).kernel == "count_one");
        }
        // The same from the host.
        auto counter = filled(engine, 1, 0u);
        const dynpar::report report = engine.try_run(count_one{}, s, counter.data());
        CHECK(report.grids == 0);
        CHECK(only_failure(report).status == dynpar::status::invalid_configuration);
        CHECK_THROWS_AS(engine.run(count_one{}, s, counter.data()), dynpar::launch_error);
        CHECK(counter.to_vector()[0] == 0);
    }
}

/// A launch or continuation that breaks the rules that it is told to.
struct break_rules {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, bool bad_pointer, bool bad_shape, bool no_stream,
                                    bool as_continuation, unsigned* counter, int* result) const {
        unsigned local = 0;
        unsigned* const place = bad_pointer ? &local : counter;
        const dynpar::shape s = bad_shape ? dynpar::shape(1, 1025) : dynpar::shape(1, 1);
        dynpar::status told;
        if (as_continuation) {
            told = block.then(count_one{}, s, place);
        } else if (no_stream) {
            auto stream = block.make_stream();
            auto holds_it_now = std::move(stream);
            told = block.launch(stream, count_one{}, s, place);
        } else {
            told = block.launch(count_one{}, s, place);
        }
        *result = static_cast<int>(told) + static_cast<int>(local);
    }
};

TEST_CASE("C8: where several rules are broken at once, every engine names the same one") {
    dynpar::limits no_children;
    no_children.nesting_depth = 0;
    auto engine = make_engine(), flat_engine = make_engine(no_children);
    for (unsigned broken = 0; broken < 32; ++broken) {
        const bool bad_pointer = broken & 1, too_deep = broken & 2, bad_shape = broken & 4, no_stream = broken & 8,
                   as_continuation = broken & 16;
        if (as_continuation && (too_deep || no_stream)) continue;  // it is no deeper, and in no stream
        CAPTURE(bad_pointer);
        CAPTURE(too_deep);
        CAPTURE(bad_shape);
        CAPTURE(no_stream);
        CAPTURE(as_continuation);
        const dynpar::status expected = bad_pointer ? dynpar::status::invalid_pointer
                                        : too_deep  ? dynpar::status::nesting_depth_exceeded
                                        : bad_shape ? dynpar::status::invalid_configuration
                                        : no_stream ? dynpar::status::launch_failed
                                                    : dynpar::status::success;
        auto counter = filled(engine, 1, 0u);
        auto result = filled(engine, 1, -1);
        const dynpar::report report = (too_deep ? flat_engine : engine)
                                          .try_run(break_rules{}, dynpar::shape(1, 1), bad_pointer, bad_shape,
                                                   no_stream, as_continuation, counter.data(), result.data());
        CHECK(result.to_vector()[0] == static_cast<int>(expected));
        const bool runs = expected == dynpar::status::success;
        CHECK(counter.to_vector()[0] == (runs ? 1 : 0));
        CHECK(report.lost_launches == (runs ? 0 : 1));
        if (!runs) CHECK(only_failure(report).status == expected);
    }
}

struct at_most_64_threads {
    static constexpr unsigned max_threads = 64;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter, unsigned child_threads) const {
        dynpar::atomic_add(counter, 1u);
        if (child_threads != 0 && block.thread_rank() == 0) {
            block.launch(*this, dynpar::shape(1, child_threads), counter, 0u);
        }
    }
};

TEST_CASE("C8: a kernel may bound its threads, and a launch with more is refused") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    engine.run(at_most_64_threads{}, dynpar::shape(1, 64), counter.data(), 64u);
    CHECK(counter.to_vector()[0] == 128);
    CHECK(engine.try_run(at_most_64_threads{}, dynpar::shape(1, 65), counter.data(), 0u).lost_launches == 1);
    const dynpar::report report = engine.try_run(at_most_64_threads{}, dynpar::shape(1, 1), counter.data(), 65u);
    CHECK(only_failure(report).status == dynpar::status::invalid_configuration);
    CHECK(counter.to_vector()[0] == 129);
}

struct launch_too_wide {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter, bool continues) const {
        if (continues) block.then(at_most_64_threads{}, dynpar::shape(2, 65), counter, 0u);
        if (!continues) block.launch(at_most_64_threads{}, dynpar::shape(2, 65), counter, 0u);
    }
};

TEST_CASE("C8: what is refused for the kernel's own bound is told to keep to that") {
    auto engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    for (const dynpar::report& report :
         {engine.try_run(at_most_64_threads{}, dynpar::shape(1, 65), counter.data(), 0u),
          engine.try_run(at_most_64_threads{}, dynpar::shape(1, 1025), counter.data(), 0u),
          engine.try_run(launch_too_wide{}, dynpar::shape(1, 1), counter.data(), false),
          engine.try_run(launch_too_wide{}, dynpar::shape(1, 1), counter.data(), true)}) {
        const dynpar::failure& f = only_failure(report);
        CHECK(f.status == dynpar::status::invalid_configuration);
        const std::string what_to_do = advice(f);
        CAPTURE(what_to_do);
        CHECK(what_to_do.find("at most 64 threads") != std::string::npos);
        CHECK(what_to_do.find("max_threads") != std::string::npos);
        CHECK(what_to_do.find("block_threads") == std::string::npos);
    }
    // A block that no kernel can have is another matter.
    const std::string other =
        advice(only_failure(engine.try_run(at_most_64_threads{}, dynpar::shape(0, 64), counter.data(), 0u)));
    CHECK(other.find("max_threads") == std::string::npos);
    CHECK(counter.to_vector()[0] == 0);
}

// ---- C9: depth

struct write_depths {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* depths, unsigned levels, bool continuation) const {
        if (block.thread_rank() != 0) return;
        // depths[l] of the l-th child, depths[10 + l] of its continuation
        depths[(continuation ? 10 : 0) + levels] = block.depth();
        if (continuation) return;
        block.then(*this, dynpar::shape(1, 1), depths, levels, true);
        if (levels < 5) block.launch(*this, dynpar::shape(1, 2), depths, levels + 1, false);
    }
};

TEST_CASE("C9: a child is one deeper than its parent, a continuation as deep as its grid") {
    auto engine = make_engine();
    auto depths = filled(engine, 20, 77u);
    const dynpar::report report = engine.run(write_depths{}, dynpar::shape(1, 2), depths.data(), 0u, false);
    const std::vector<unsigned> found = depths.to_vector();
    for (unsigned level = 0; level <= 5; ++level) {
        CHECK(found[level] == level);
        CHECK(found[10 + level] == level);
    }
    CHECK(report.deepest_nesting == 5);
}

// ---- the trace

TEST_CASE("a trace has every grid with its parent, depth, shape and name, as far as there is room") {
    options_under_test options;
    options.trace_grids = 100;
    engine_under_test engine(options);
    auto counter = filled(engine, 1, 0u);
    const dynpar::report report = engine.run(binary_tree{}, dynpar::shape(1, 1), 4, counter.data());
    CHECK(report.trace.missing == 0);
    REQUIRE(report.trace.grids.size() == 31);
    unsigned at_depth[5] = {};
    for (const dynpar::grid_record& grid : report.trace.grids) {
        CHECK(grid.kernel == "binary_tree");
        CHECK(grid.shape == dynpar::shape(1, 1));
        CHECK(grid.continues == dynpar::grid_record::none);
        CHECK(grid.ran());
        REQUIRE(grid.depth < 5);
        ++at_depth[grid.depth];
        if (grid.depth == 0) {
            CHECK(grid.parent == dynpar::grid_record::none);
        } else {
            REQUIRE(grid.parent < 31);
            CHECK(report.trace.grids[grid.parent].depth == grid.depth - 1);
        }
    }
    for (unsigned depth = 0; depth < 5; ++depth) CHECK(at_depth[depth] == 1u << depth);

    const dynpar::report large = engine.run(binary_tree{}, dynpar::shape(1, 1), 7, counter.data());
    CHECK(large.trace.grids.size() == 100);
    CHECK(large.trace.missing == 155);
}

}  // namespace
