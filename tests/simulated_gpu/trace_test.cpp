// Traces in orders of threads that are rare on a GPU.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace {

using dynpar::grid_record;

dynpar::queue_options traced(unsigned block_threads, unsigned worker_blocks) {
    dynpar::queue_options options;
    options.block_threads = block_threads;
    options.worker_blocks = worker_blocks;
    options.trace_grids = 100000;
    options.memory_bytes = std::size_t{8} << 20;
    return options;
}

template <unsigned Bytes>
struct bytes {
    unsigned char value[Bytes];
};

struct leaf {
    static constexpr const char* name = "leaf";
    template <class Block, class Argument>
    DYNPAR_FUNCTION void operator()(Block&, Argument) const {}
};

/// A tree whose grids launch a leaf each, by one thread.
struct spawn_leaves {
    static constexpr const char* name = "spawn_leaves";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned levels, unsigned leaf_threads) const {
        if (block.thread_rank() != 0) return;
        block.launch(leaf{}, dynpar::shape(1, leaf_threads), bytes<400>{});
        if (levels == 0) return;
        for (int i = 0; i < 2; ++i)
            block.launch(*this, dynpar::shape(1, block.num_threads()), levels - 1, leaf_threads);
    }
};
/// Every thread launches.
struct launch_by_all {
    static constexpr const char* name = "launch_by_all";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned threads) const {
        block.launch(leaf{}, dynpar::shape(1, threads), bytes<8>{});
    }
};

/// What holds for every trace of a complete run with room for all its grids.
void check_trace(const dynpar::report& report) {
    const dynpar::trace& t = report.trace;
    CHECK(t.missing == 0);
    CHECK(t.grids.size() == report.grids);
    for (const grid_record& grid : t.grids) {
        CAPTURE(grid.id);
        CHECK(grid.ran());
        CHECK(grid.begun != grid_record::never);
        CHECK(grid.launched <= grid.begun);
        CHECK(grid.begun <= grid.ended);
        if (grid.id == 0) continue;
        REQUIRE(grid.parent < grid.id);
        CHECK(t.grids[grid.parent].begun <= grid.launched);
    }
}

TEST_CASE("a block's times are its own grid's, though its memory is another grid's soon") {
    for (int run = 0; run < 10; ++run) {
        dynpar::queue_engine engine(traced(64, 4));
        check_trace(engine.run(spawn_leaves{}, dynpar::shape(8, 1), 5u, 64u));
    }
}

TEST_CASE("no block of a worker block begins after what it launches") {
    for (const unsigned threads : {41u, 64u, 128u}) {
        for (int run = 0; run < 10; ++run) {
            dynpar::queue_engine engine(traced(128, 2));
            check_trace(engine.run(launch_by_all{}, dynpar::shape(57, threads), 2u));
        }
    }
}

TEST_CASE("a first grid for which there is no memory is in the trace as it is") {
    dynpar::queue_options options = traced(64, 2);
    options.memory_bytes = 65536;
    options.trace_grids = 100;
    dynpar::queue_engine engine(options);
    CHECK(engine.try_run(leaf{}, dynpar::shape(7, 3), bytes<8>{}).trace.grids.size() == 1);
    for (int run = 0; run < 2; ++run) {
        const dynpar::report report = engine.try_run(leaf{}, dynpar::shape(1, 1), bytes<32740>{});
        CHECK(report.grids == 0);
        CHECK(report.lost_launches == 1);
        REQUIRE(report.trace.grids.size() == 1);
        CHECK(report.trace.grids[0].status == dynpar::status::out_of_memory);
        CHECK(report.trace.grids[0].begun == grid_record::never);
        CHECK(report.trace.grids[0].shape == dynpar::shape(1, 1));
    }
}

TEST_CASE("grids of which the clock says the same come behind their parents and what they continue") {
    using dynpar::detail::device_trace_record;
    constexpr unsigned none = grid_record::none;
    const auto record = [](unsigned long long launched, unsigned parent, unsigned continues, unsigned depth) {
        device_trace_record r{};
        r.launched = launched;
        r.parent = parent;
        r.continues = continues;
        r.depth = depth;
        return r;
    };
    // By place: a child, the second continuation of the first grid, an unused place, the first continuation, the first
    // grid, and a child of the second continuation.
    std::vector<device_trace_record> records{record(7, 4, none, 1), record(7, none, 3, 0),    record(7, none, 1, 0),
                                             record(7, none, 4, 0), record(7, none, none, 0), record(7, 1, none, 1)};
    records[2].name = device_trace_record::unused;
    const std::vector<device_trace_record> sorted = dynpar::detail::in_launch_order(records, 100);
    REQUIRE(sorted.size() == 5);
    for (unsigned i = 0; i < sorted.size(); ++i) {
        CAPTURE(i);
        CHECK((sorted[i].parent == none || sorted[i].parent < i));
        CHECK((sorted[i].continues == none || sorted[i].continues < i));
    }
    CHECK(sorted[1].continues == 0);
    CHECK(sorted[2].continues == 1);
    CHECK(dynpar::detail::in_launch_order(records, 2).size() == 2);
}

}  // namespace
