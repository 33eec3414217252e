// The trace: which grid launched which, when each ran, what became of it; the same on every engine. And what a run
// needed.
#include "engine_under_test.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace conformance;
using dynpar::grid_record;

/// A bit of everything: children in rows, a child of several blocks, scratch memory, a continuation with children of
/// its own.
struct family {
    static constexpr const char* name = "family";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int level, unsigned* counter) const {
        if (block.thread_rank() != 0) return;
        dynpar::atomic_add(counter, 1u);
        if (level == 0) return;
        if (block.block_rank() == 0) {
            int* const numbers = block.template scratch<int>(16);
            if (numbers != nullptr) numbers[0] = level;
            block.then(count_one{}, dynpar::shape(2, 32), counter);
            block.launch(*this, dynpar::shape(2, 8), level - 1, counter);
        }
        for (int i = 0; i < 3; ++i) block.launch(*this, dynpar::shape(1, 4), level - 1, counter);
    }
};

struct chain {
    static constexpr const char* name = "chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int length) const {
        if (length > 1) block.launch(*this, dynpar::shape(1, 1), length - 1);
    }
};

/// Gives many continuations: all of them are pending until the grid has returned, whatever runs when.
struct many_continuations {
    static constexpr const char* name = "many_continuations";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, unsigned* counter) const {
        for (unsigned i = 0; i < count; ++i) block.then(count_one{}, dynpar::shape(1, 1), counter);
    }
};

struct two_streams {
    static constexpr const char* name = "two_streams";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        auto first = block.make_stream();
        auto second = block.make_stream();
        block.launch(first, count_one{}, dynpar::shape(1, 1), counter);
        block.launch(second, count_one{}, dynpar::shape(1, 1), counter);
        block.launch(second, count_one{}, dynpar::shape(1, 1), counter);
        block.launch(count_one{}, dynpar::shape(1, 1), counter);
    }
};

struct impossible_children {
    static constexpr const char* name = "impossible_children";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        block.launch(count_one{}, dynpar::shape(1, 1025), counter);
        block.launch(count_one{}, dynpar::shape(1, 1), counter);
        block.then(count_one{}, dynpar::shape(0, 1), counter);
    }
};

struct waiting_chain {
    static constexpr const char* name = "waiting_chain";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int length) const {
        if (length == 1) return;
        block.launch(*this, dynpar::shape(1, 1), length - 1);
        block.wait();
    }
};

template <class Engine, class Options>
Engine traced(std::size_t grids = 100000, const dynpar::limits& limits = {}) {
    Options options;
    options.trace_grids = grids;
    options.limits = limits;
    return Engine(options);
}
engine_under_test traced_engine(const dynpar::limits& limits = {}) {
    return traced<engine_under_test, options_under_test>(100000, limits);
}

/// The tree as text in which the order of siblings does not show.
std::string canonical(const dynpar::trace& t) {
    std::vector<std::vector<std::string>> below(t.grids.size() + 1);
    for (std::size_t i = t.grids.size(); i-- > 0;) {
        const grid_record& grid = t.grids[i];
        std::sort(below[i].begin(), below[i].end());
        std::string text = (grid.continues != grid_record::none ? "then " : "") + grid.kernel + to_string(grid.shape) +
                           " depth " + std::to_string(grid.depth) + " " + dynpar::to_string(grid.status) + "(";
        for (const std::string& child : below[i]) text += child;
        const std::uint32_t above = grid.continues != grid_record::none ? grid.continues : grid.parent;
        below[above < i ? above : t.grids.size()].push_back(text + ")");
    }
    std::string all;
    for (const std::string& root : below.back()) all += root;
    return all;
}

#define TRACE_TEST_CASE(name) TEST_CASE(name* doctest::skip(!has_trace))

TRACE_TEST_CASE("the trace has the same tree on every engine, up to the order of siblings") {
    engine_under_test engine = traced_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::report here = engine.run(family{}, dynpar::shape(2, 32), 3, counter.data());
    auto host = traced<dynpar::host_engine, dynpar::host_options>();
    unsigned on_host = 0;
    const dynpar::report there = host.run(family{}, dynpar::shape(2, 32), 3, &on_host);
    CHECK(counter.to_vector()[0] == on_host);
    CHECK(here.trace.grids.size() == here.grids);
    CHECK(here.trace.grids.size() == there.trace.grids.size());
    CHECK(canonical(here.trace) == canonical(there.trace));
}

TRACE_TEST_CASE("a grid is launched, begins and ends in that order, inside the run, and after its parent began") {
    engine_under_test engine = traced_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::trace t = engine.run(family{}, dynpar::shape(2, 32), 3, counter.data()).trace;
    CHECK(t.engine == engine_under_test::name);
    CHECK(t.device == engine.device());
    CHECK(t.missing == 0);
    for (const grid_record& grid : t.grids) {
        CHECK(t.grids[grid.id].id == grid.id);
        CHECK(dynpar::to_string(grid.engine) == t.engine);
        CHECK(grid.launched <= grid.begun);
        CHECK(grid.begun <= grid.ended);
        CHECK(grid.ended <= t.nanoseconds + 2 * t.clock_error);
        CHECK(grid.processor != grid_record::none);
        if (grid.parent != grid_record::none) CHECK(t.grids[grid.parent].begun <= grid.launched);
        if (grid.continues != grid_record::none) {
            CHECK(t.grids[grid.continues].ended <= grid.begun);
            for (const grid_record& other : t.grids)
                if (other.parent == grid.continues) CHECK(other.ended <= grid.begun);
        }
    }
}

TRACE_TEST_CASE("a launch that failed is in the trace with its status") {
    engine_under_test engine = traced_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::trace t = engine.try_run(impossible_children{}, dynpar::shape(1, 1), counter.data()).trace;
    REQUIRE(t.grids.size() == 4);
    unsigned lost = 0;
    for (const grid_record& grid : t.grids) {
        if (grid.ran()) continue;
        ++lost;
        CHECK(grid.status == dynpar::status::invalid_configuration);
        CHECK(grid.begun == grid_record::never);
        CHECK(grid.ended == grid_record::never);
    }
    CHECK(lost == 2);
}

TRACE_TEST_CASE("grids have the number of the stream that they were given to") {
    engine_under_test engine = traced_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::trace t = engine.run(two_streams{}, dynpar::shape(1, 1), counter.data()).trace;
    REQUIRE(t.grids.size() == 5);
    std::multiset<std::uint32_t> streams;
    for (const grid_record& grid : t.grids) streams.insert(grid.stream);
    CHECK(streams == std::multiset<std::uint32_t>{0, 1, 1, grid_record::none, grid_record::none});
}

TEST_CASE("without being asked, a run has no trace") {
    engine_under_test engine = make_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::trace t = engine.run(family{}, dynpar::shape(1, 1), 1, counter.data()).trace;
    CHECK(t.grids.empty());
    CHECK(t.missing == 0);
    CHECK(t.engine.empty());
}

TRACE_TEST_CASE("needed: with exactly the nesting depth that was needed a run works, and with one less it says so") {
    const dynpar::run_needs needed = traced_engine().run(chain{}, dynpar::shape(1, 1), 12).needed;
    CHECK(needed.nesting_depth == 11);
    dynpar::limits limits;
    limits.nesting_depth = needed.nesting_depth;
    CHECK(make_engine(limits).try_run(chain{}, dynpar::shape(1, 1), 12).failed_calls == 0);
    limits.nesting_depth = needed.nesting_depth - 1;
    const dynpar::report less = make_engine(limits).try_run(chain{}, dynpar::shape(1, 1), 12);
    CHECK(only_failure(less).status == dynpar::status::nesting_depth_exceeded);
}

TRACE_TEST_CASE(
    "needed: with exactly the pending launches that were needed a run works, and with one less it says so") {
    if (!bounds_pending_launches) return;
    dynpar::limits limits;
    limits.pending_launches = 5000;
    engine_under_test engine = traced_engine(limits);
    auto counter = filled(engine, 1, 0u);
    const dynpar::run_needs needed = engine.run(many_continuations{}, dynpar::shape(1, 1), 100u, counter.data()).needed;
    CHECK(needed.pending_launches == 100u);
    limits.pending_launches = needed.pending_launches;
    CHECK(make_engine(limits).try_run(many_continuations{}, dynpar::shape(1, 1), 100u, counter.data()).failed_calls ==
          0);
    limits.pending_launches = *needed.pending_launches - 1;
    const dynpar::report less =
        make_engine(limits).try_run(many_continuations{}, dynpar::shape(1, 1), 100u, counter.data());
    CHECK(only_failure(less).status == dynpar::status::pending_launches_exceeded);
    CHECK(less.lost_launches == 1);
    limits.pending_launches = 2048;
    make_engine(limits);
}

TRACE_TEST_CASE("needed: a launch is pending until all that came from it is complete") {
    if (!bounds_pending_launches) return;
    dynpar::limits limits;
    limits.pending_launches = 5000;
    const dynpar::run_needs needed = traced_engine(limits).run(chain{}, dynpar::shape(1, 1), 151).needed;
    CHECK(needed.pending_launches == 150u);
    limits.pending_launches = 150;
    CHECK(make_engine(limits).try_run(chain{}, dynpar::shape(1, 1), 151).failed_calls == 0);
    limits.pending_launches = 149;
    const dynpar::report less = make_engine(limits).try_run(chain{}, dynpar::shape(1, 1), 151);
    CHECK(only_failure(less).status == dynpar::status::pending_launches_exceeded);
    limits.pending_launches = 2048;
    make_engine(limits);
}

TRACE_TEST_CASE(
    "needed: with exactly the synchronization depth that was needed a run works, and with one less it says so") {
    if (!has_wait) return;
    const dynpar::run_needs needed = traced_engine().run(waiting_chain{}, dynpar::shape(1, 1), 5).needed;
    REQUIRE(needed.sync_depth);
    CHECK(*needed.sync_depth == 4);
    dynpar::limits limits;
    limits.sync_depth = needed.sync_depth;
    CHECK(make_engine(limits).try_run(waiting_chain{}, dynpar::shape(1, 1), 5).failed_calls == 0);
    limits.sync_depth = *needed.sync_depth - 1;
    const dynpar::report less = make_engine(limits).try_run(waiting_chain{}, dynpar::shape(1, 1), 5);
    CHECK(only_failure(less).status == dynpar::status::sync_depth_exceeded);
}

TRACE_TEST_CASE("needed: scratch memory is live until its grid is complete, and is counted") {
    engine_under_test engine = traced_engine();
    auto counter = filled(engine, 1, 0u);
    const dynpar::run_needs needed = engine.run(family{}, dynpar::shape(1, 1), 1, counter.data()).needed;
    if (needed.live_bytes) CHECK(*needed.live_bytes >= 16 * sizeof(int));
}

}  // namespace
