// Contract rows C14 to C17: shared memory, position, barriers, width.
#include "engine_under_test.hpp"

#include <set>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace conformance;

namespace {

struct place {
    unsigned thread_rank, thread_x, thread_y, thread_z, block_rank, group_x, group_y, group_z, num_threads, num_blocks,
        depth;
    unsigned long long grid_rank, grid_threads;
};

struct write_place {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, place* places) const {
        const dynpar::dimensions thread = block.thread_index(), group = block.group_index();
        const auto grid = dynpar::this_grid(block);
        places[block.block_rank() * block.num_threads() + block.thread_rank()] = place{block.thread_rank(),
                                                                                       thread.x,
                                                                                       thread.y,
                                                                                       thread.z,
                                                                                       block.block_rank(),
                                                                                       group.x,
                                                                                       group.y,
                                                                                       group.z,
                                                                                       block.num_threads(),
                                                                                       block.num_blocks(),
                                                                                       block.depth(),
                                                                                       grid.thread_rank(),
                                                                                       grid.num_threads()};
    }
};

TEST_CASE("C15: every thread of every block runs once and knows its place") {
    auto engine = make_engine();
    const dynpar::shape s({3, 2, 2}, {4, 3, 2});
    auto places = filled(engine, 12 * 24, place{99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99});
    const dynpar::report report = engine.run(write_place{}, s, places.data());
    CHECK(report.grids == 1);
    unsigned wrong = 0;
    const std::vector<place> found = places.to_vector();
    for (unsigned block = 0; block < 12; ++block) {
        for (unsigned thread = 0; thread < 24; ++thread) {
            const place& p = found[block * 24 + thread];
            const bool right = p.thread_rank == thread && p.thread_x == thread % 4 && p.thread_y == thread / 4 % 3 &&
                               p.thread_z == thread / 12 && p.block_rank == block && p.group_x == block % 3 &&
                               p.group_y == block / 3 % 2 && p.group_z == block / 6 && p.num_threads == 24 &&
                               p.num_blocks == 12 && p.depth == 0 && p.grid_rank == block * 24 + thread &&
                               p.grid_threads == 12 * 24;
            wrong += !right;
        }
    }
    CHECK(wrong == 0);
}

struct launch_write_place {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, place* places) const {
        if (block.thread_rank() == 0) block.launch(write_place{}, dynpar::shape({2, 3}, {5, 2}), places);
    }
};

TEST_CASE("C15: a child has the shape that it was launched with") {
    auto engine = make_engine();
    auto places = filled(engine, 60, place{});
    engine.run(launch_write_place{}, dynpar::shape(1, 3), places.data());
    std::set<std::tuple<unsigned, unsigned, unsigned, unsigned>> seen;
    for (const place& p : places.to_vector()) {
        CHECK(p.num_threads == 10);
        CHECK(p.num_blocks == 6);
        CHECK(p.depth == 1);
        seen.emplace(p.group_x, p.group_y, p.thread_x, p.thread_y);
    }
    CHECK(seen.size() == 60);
}

struct rotate {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* out, unsigned rounds) const {
        const unsigned n = block.num_threads(), me = block.thread_rank();
        unsigned* values = block.template shared<unsigned>(n);
        values[me] = me;
        for (unsigned round = 0; round < rounds; ++round) {
            block.sync();
            const unsigned next = values[(me + 1) % n];
            block.sync();
            values[me] = next;
        }
        out[block.block_rank() * n + me] = values[me];
    }
};

TEST_CASE("C16: a barrier holds every thread of the block until all have come, for any number of threads") {
    auto engine = make_engine();
    for (unsigned threads : {1u, 2u, 8u, 31u, 32u, 33u, 48u, 64u, 100u, 256u, 512u, 1024u}) {
        if (threads > widest_block) continue;
        CAPTURE(threads);
        const unsigned blocks = 3, rounds = 5;
        auto out = filled(engine, blocks * threads, 12345u);
        engine.run(rotate{}, dynpar::shape(blocks, threads, threads * 4), out.data(), rounds);
        unsigned wrong = 0;
        const std::vector<unsigned> values = out.to_vector();
        for (unsigned i = 0; i < blocks * threads; ++i) wrong += values[i] != (i % threads + rounds) % threads;
        CHECK(wrong == 0);
    }
}

// As in the recursive reductions: some threads return, and the others keep meeting at barriers.
struct early_return {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned stays, unsigned* out) const {
        unsigned* values = block.template shared<unsigned>(block.num_threads());
        if (block.thread_rank() >= stays) return;
        for (unsigned round = 0; round < 4; ++round) {
            values[block.thread_rank()] = round * 1000 + block.thread_rank();
            block.sync();
            if (values[(block.thread_rank() + 1) % stays] == round * 1000 + (block.thread_rank() + 1) % stays) {
                dynpar::atomic_add(out, 1u);
            }
            block.sync();
        }
    }
};

TEST_CASE("C16: threads that have returned take no part in barriers") {
    auto engine = make_engine();
    for (unsigned stays : {1u, 5u, 16u, 32u, 40u, 64u, 95u}) {
        CAPTURE(stays);
        auto right = filled(engine, 1, 0u);
        engine.run(early_return{}, dynpar::shape(4, 96, 96 * 4), stays, right.data());
        CHECK(right.to_vector()[0] == 4 * 4 * stays);
    }
}

struct two_arrays {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned long long* out) const {
        char* bytes = block.template shared<char>(3);
        double* numbers = block.template shared<double>(block.num_threads());
        numbers[block.thread_rank()] = block.thread_rank();
        if (block.thread_rank() < 3) bytes[block.thread_rank()] = static_cast<char>(block.thread_rank() + 1);
        block.sync();
        if (block.thread_rank() != 0) return;
        double sum = 0;
        for (unsigned i = 0; i < block.num_threads(); ++i) sum += numbers[i];
        *out = static_cast<unsigned long long>(sum) * 1000 + bytes[0] * 100 + bytes[1] * 10 + bytes[2];
    }
};

TEST_CASE("C14: calls of shared() give different, aligned memory, the same to all threads of the block") {
    auto engine = make_engine();
    auto out = filled(engine, 1, 0ull);
    engine.run(two_arrays{}, dynpar::shape(1, 40, 16 + 40 * 8), out.data());
    CHECK(out.to_vector()[0] == 780ull * 1000 + 123);
}

struct too_much_shared {
    static constexpr const char* name = "too_much_shared";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* nulls) const {
        block.template shared<char>(60);
        if (block.template shared<char>(5) == nullptr) dynpar::atomic_add(nulls, 1u);
    }
};

TEST_CASE("C14: more shared memory than the shape has: nullptr for all, and one line in the report") {
    auto engine = make_engine();
    auto nulls = filled(engine, 1, 0u);
    const dynpar::report report = engine.try_run(too_much_shared{}, dynpar::shape(2, 40, 64), nulls.data());
    CHECK(nulls.to_vector()[0] == 80);
    CHECK(report.failed_calls == 2);
    CHECK(report.lost_launches == 0);
    const dynpar::failure& f = only_failure(report);
    CHECK(f.operation == dynpar::operation::shared);
    CHECK(f.status == dynpar::status::shared_memory_exceeded);
    CHECK(f.kernel == "too_much_shared");
    CHECK(f.count == 2);
}

struct refused_late {
    static constexpr const char* name = "refused_late";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned first, unsigned* nulls, bool nests) const {
        if (block.thread_rank() < first) return;
        for (int call = 0; call < 3; ++call) {
            if (block.template shared<char>(call == 1 ? 16 : 17) == nullptr) dynpar::atomic_add(nulls, 1u);
            if (!nests || call != 0) continue;
            // What runs on top of the wait must not change what is known of this block.
            if (block.thread_rank() == first)
                block.launch(*this, dynpar::shape(1, block.num_threads(), 16), 0u, nulls, false);
            block.wait();
        }
    }
};

TEST_CASE("C14: a refused shared() is in the report once for each block and call, whichever threads have returned") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 9u, 32u, 40u, 200u}) {
        for (const unsigned first : {0u, 1u, threads / 2, threads - 1}) {
            if (first == threads) continue;
            for (const bool nests : {false, true}) {
                if (nests && !has_wait) continue;
                CAPTURE(threads);
                CAPTURE(first);
                CAPTURE(nests);
                auto nulls = filled(engine, 1, 0u);
                const dynpar::report report =
                    engine.try_run(refused_late{}, dynpar::shape(5, threads, 16), first, nulls.data(), nests);
                // Of three calls two are refused, in 5 blocks, and in a child of each.
                CHECK(nulls.to_vector()[0] == 5 * 2 * (threads - first + (nests ? threads : 0)));
                CHECK(report.failed_calls == 5 * 2 * (nests ? 2 : 1));
                CHECK(report.lost_launches == 0);
                for (const dynpar::failure& f : report.failures) {
                    CHECK(f.operation == dynpar::operation::shared);
                    CHECK(f.status == dynpar::status::shared_memory_exceeded);
                    CHECK(f.kernel == "refused_late");
                    CHECK(f.count == 10);
                }
            }
        }
    }
}

struct stride_sum {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* values, unsigned count, unsigned* sum,
                                    unsigned* widest) const {
        for (unsigned i = block.thread_rank(); i < count; i += block.num_threads()) dynpar::atomic_add(sum, values[i]);
        if (block.thread_rank() == 0) *widest = block.num_threads();
    }
};

TEST_CASE("C17: a moldable kernel runs with one to at most as many threads as its shape says") {
    auto engine = make_engine();
    const auto values = filled(engine, 1000, 3u);
    auto sum = filled(engine, 1, 0u), width = filled(engine, 1, 0u);
    engine.run(stride_sum{}, dynpar::shape(1, dynpar::at_most(96)), values.data(), 1000u, sum.data(), width.data());
    CHECK(sum.to_vector()[0] == 3000);
    CHECK(width.to_vector()[0] >= 1);
    CHECK(width.to_vector()[0] <= 96);
}

engine_under_test make_engine_for_width(unsigned threads) {
    options_under_test options;
    options.moldable_threads = threads;
    return engine_under_test(options);
}

/// What `note_width` finds: the block's threads, and whether its shared memory is as large as they need, and no larger.
struct width_found {
    unsigned blocks, threads, right;
};

struct note_width {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, width_found* found) const {
        const unsigned threads = block.num_threads();
        auto* mine = block.template shared<unsigned long long>(threads);
        if (mine == nullptr) return;
        mine[block.thread_rank()] = block.thread_rank();
        block.sync();
        const unsigned next = (block.thread_rank() + 1) % threads;
        if (mine[next] == next) dynpar::atomic_add(&found->right, 1u);
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(&found->blocks, 1u);
        dynpar::atomic_max(&found->threads, threads);
    }
};

/// In every way in which a grid can come about, with one block and with several.
struct launch_note_width {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, width_found* found, unsigned most) const {
        const dynpar::at_most threads(most);
        const dynpar::bytes_per_thread bytes(8);
        block.launch(note_width{}, dynpar::shape(1, threads, bytes), found);
        block.launch(note_width{}, dynpar::shape(5, threads, bytes), found);
        auto stream = block.make_stream();
        block.launch(stream, note_width{}, dynpar::shape(2, threads, bytes), found);
        block.then(note_width{}, dynpar::shape(1, threads, bytes), found);
        block.then(note_width{}, dynpar::shape(3, threads, bytes), found);
    }
};

TEST_CASE("C17, C14: moldable blocks have the width of the option, and shared memory for so many threads") {
    for (const unsigned width : {0u, 1u, 2u, 7u, 32u, 33u, 64u, 100u}) {
        CAPTURE(width);
        auto engine = make_engine_for_width(width);
        for (const unsigned most : {1u, 5u, 64u}) {
            CAPTURE(most);
            auto found = filled(engine, 1, width_found{});
            const dynpar::report report = engine.run(launch_note_width{}, dynpar::shape(1, 1), found.data(), most);
            const width_found now = found.to_vector()[0];
            CHECK(report.grids == 6);
            CHECK(now.blocks == 12);
            CHECK(now.threads == engine.moldable_threads(dynpar::at_most(most)));
            CHECK(now.threads <= most);
            if (width != 0) CHECK(now.threads == (width < most ? width : most));
            CHECK(now.right == 12 * now.threads);
        }
        auto found = filled(engine, 1, width_found{});
        engine.run(note_width{}, dynpar::shape(4, dynpar::at_most(96), dynpar::bytes_per_thread(8)), found.data());
        CHECK(found.to_vector()[0].right == 4 * engine.moldable_threads(dynpar::at_most(96)));
    }
}

/// As note_width, with a bound of its own.
struct note_bounded_width : note_width {
    static constexpr unsigned max_threads = 24;
};

struct launch_bounded {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, width_found* found, unsigned most) const {
        const dynpar::at_most threads(most);
        const dynpar::bytes_per_thread bytes(8);
        block.launch(note_bounded_width{}, dynpar::shape(1, threads, bytes), found);
        block.launch(note_bounded_width{}, dynpar::shape(1, threads, 24 * 8), found);
        block.launch(note_bounded_width{}, dynpar::shape(5, threads, bytes), found);
        auto stream = block.make_stream();
        block.launch(stream, note_bounded_width{}, dynpar::shape(2, threads, bytes), found);
        block.then(note_bounded_width{}, dynpar::shape(1, threads, bytes), found);
        block.then(note_bounded_width{}, dynpar::shape(3, threads, bytes), found);
    }
};

TEST_CASE("C17: a moldable block has no more threads than its kernel allows, whatever its shape does") {
    for (const unsigned width : {0u, 1u, 23u, 24u, 25u, 100u}) {
        CAPTURE(width);
        auto engine = make_engine_for_width(width);
        const unsigned right = engine.moldable_threads(dynpar::at_most(24));
        for (const unsigned most : {25u, 32u, 256u, 1024u}) {
            CAPTURE(most);
            for (const unsigned threads : {1u, 32u, 64u}) {  // of the block that launches
                CAPTURE(threads);
                auto found = filled(engine, 1, width_found{});
                const dynpar::report report =
                    engine.run(launch_bounded{}, dynpar::shape(1, threads), found.data(), most);
                const width_found now = found.to_vector()[0];
                CHECK(report.grids == 1 + 6 * threads);
                CHECK(now.blocks == 13 * threads);
                CHECK(now.threads == right);
                CHECK(now.right == 13 * threads * right);
            }
            auto found = filled(engine, 1, width_found{});
            engine.run(note_bounded_width{}, dynpar::shape(4, dynpar::at_most(most), dynpar::bytes_per_thread(8)),
                       found.data());
            CHECK(found.to_vector()[0].threads == right);
            CHECK(found.to_vector()[0].right == 4 * right);
        }
        auto found = filled(engine, 1, width_found{});
        const dynpar::report report =
            engine.try_run(note_bounded_width{}, dynpar::shape(1, dynpar::at_most(1025)), found.data());
        CHECK(report.lost_launches == 1);  // as for every kernel
    }
}

struct take_too_much {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* refused) const {
        block.template shared<unsigned>(4 * ((block.num_threads() + 3) / 4));  // rounded up to 16 bytes
        if (block.template shared<char>(1) == nullptr) dynpar::atomic_add(refused, 1u);
    }
};

TEST_CASE("C14: a moldable block that takes more shared memory than its threads need does not get it") {
    for (const unsigned width : {1u, 3u, 32u, 40u}) {
        CAPTURE(width);
        auto engine = make_engine_for_width(width);
        auto refused = filled(engine, 1, 0u);
        const dynpar::report report = engine.try_run(
            take_too_much{}, dynpar::shape(1, dynpar::at_most(64), dynpar::bytes_per_thread(4)), refused.data());
        CHECK(refused.to_vector()[0] == width);
        CHECK(report.failed_calls == 1);
    }
}

TEST_CASE("C14: the report says of how many blocks the shared memory was device memory") {
    constexpr bool is_queue = std::is_same_v<engine_under_test, dynpar::queue_engine>;
    auto engine = make_engine();
    auto out = filled(engine, 4 * 64, 0u);
    const auto blocks_in_memory = [&](unsigned threads, unsigned bytes) {
        return engine.run(rotate{}, dynpar::shape(4, threads, bytes), out.data(), 1u).shared_in_device_memory;
    };
    CHECK(blocks_in_memory(1, 16) == (is_queue ? 4 : 0));
    CHECK(blocks_in_memory(32, 32 * 4) == 0);
    CHECK(blocks_in_memory(64, 64 * 4) == 0);
    CHECK(blocks_in_memory(64, 40 * 1024) == (is_queue ? 4 : 0));
    CHECK(blocks_in_memory(32, 32 * 4) == 0);  // each run counts its own
}

struct visit {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* visited, unsigned items) const {
        const unsigned item = dynpar::this_grid(block).thread_rank();
        if (item < items) dynpar::atomic_add(&visited[item], 1u);
    }
};

struct launch_visit {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* visited, unsigned items) const {
        block.launch(visit{}, dynpar::shape_for(block, items, dynpar::at_most(128)), visited, items);
    }
};

TEST_CASE("C17: a shape for so many things has a thread for each, from the host and from a block") {
    for (const unsigned width : {0u, 1u, 32u, 50u}) {
        CAPTURE(width);
        auto engine = make_engine_for_width(width);
        for (const unsigned items : {1u, 31u, 32u, 33u, 1000u}) {
            CAPTURE(items);
            auto visited = filled(engine, items, 0u);
            engine.run(visit{}, dynpar::shape_for(engine, items, dynpar::at_most(128)), visited.data(), items);
            CHECK(visited.to_vector() == std::vector<unsigned>(items, 1));
            engine.run(launch_visit{}, dynpar::shape(1, 1), visited.data(), items);
            CHECK(visited.to_vector() == std::vector<unsigned>(items, 2));
        }
    }
}

struct launch_too_many {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* visited, unsigned long long items) const {
        block.launch(visit{}, dynpar::shape_for(block, items, dynpar::at_most(32)), visited, 0u);
    }
};

TEST_CASE("C17: a shape for more things than there are numbers is refused, and that is said") {
    auto engine = make_engine();
    auto visited = filled(engine, 1, 0u);
    for (const unsigned long long items : {(1ull << 32) - 1023, 1ull << 32, (1ull << 37) + 32, ~0ull}) {
        CAPTURE(items);
        for (const dynpar::report& report :
             {engine.try_run(visit{}, dynpar::shape_for(engine, items, dynpar::at_most(32)), visited.data(), 0u),
              engine.try_run(launch_too_many{}, dynpar::shape(1, 1), visited.data(), items)}) {
            REQUIRE(report.failures.size() == 1);
            const dynpar::failure& f = report.failures[0];
            CHECK(f.status == dynpar::status::invalid_configuration);
            const std::string line = describe(f), what_to_do = advice(f);
            CAPTURE(line);
            CAPTURE(what_to_do);
            CHECK(f.shape.blocks.x > dynpar::bounds::grid_blocks_x);
            CHECK(what_to_do.find("at most 2147483647 blocks") != std::string::npos);
            CHECK(what_to_do.find("shape_for") != std::string::npos);
            CHECK(what_to_do.find("4294966272 items") != std::string::npos);
        }
    }
    // Of nothing there is too little, and not too much.
    const dynpar::report none =
        engine.try_run(visit{}, dynpar::shape_for(engine, 0, dynpar::at_most(32)), visited.data(), 0u);
    REQUIRE(none.failures.size() == 1);
    CHECK(advice(none.failures[0]).find("at least 1 block") != std::string::npos);
    CHECK(advice(none.failures[0]).find("items") == std::string::npos);
}

}  // namespace
