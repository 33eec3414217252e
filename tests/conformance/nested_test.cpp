// Contract row C22: loops whose iterations threads and child grids share.
#include "engine_under_test.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace conformance;

namespace {

using dynpar::nested_for_options;
using dynpar::nested_grids;

/// Marks an iteration.
struct mark {
    static constexpr const char* name = "mark";
    unsigned* marks;
    DYNPAR_FUNCTION void operator()(unsigned i) const { dynpar::atomic_add(marks + i, 1u); }
};

/// The same in two steps, of which the first gives so much that few are run together.
struct mark_fetched {
    static constexpr const char* name = "mark_fetched";
    struct place {
        unsigned i;
        unsigned* mark;
        unsigned* first;
    };
    unsigned* marks;
    DYNPAR_FUNCTION place fetch(unsigned i) const { return {i, marks + i, marks}; }
    DYNPAR_FUNCTION void operator()(unsigned i, const place& p) const {
        dynpar::atomic_add(p.mark, p.i == i && p.first == marks ? 1u : 0u);
    }
};

/// Counts the marks that are not 1.
struct check_marks {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* marks, unsigned count, unsigned* wrong) const {
        for (unsigned i = block.thread_rank(); i < count; i += block.num_threads())
            if (marks[i] != 1) dynpar::atomic_add(wrong, 1u);
    }
};

enum class form { by_warp, by_block };

/// Every thread has the loop from begin[i] to begin[i + 1]. What stays in place is done when the call returns, for all
/// threads that share, what does not is done when the continuation begins.
template <class Mark = mark>
struct run_loops {
    nested_for_options options;
    form how;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* begin, unsigned threads, unsigned* marks,
                                    unsigned* wrong, unsigned* failed) const {
        const unsigned width = block.num_threads(), rank = block.thread_rank();
        const unsigned i = block.block_rank() * width + rank;
        const unsigned first = i < threads ? begin[i] : 0, count = i < threads ? begin[i + 1] - first : 0;
        dynpar::status done = dynpar::status::success;
        unsigned begin_of_group = rank / 32 * 32;
        unsigned end_of_group = width - begin_of_group < 32 ? width : begin_of_group + 32;
        if (how == form::by_warp) {
            done = dynpar::nested_for(block, count, Mark{marks + first}, options);
        } else {
            auto* memory = block.template shared<std::byte>(block.num_threads() * dynpar::nested_for_bytes<Mark>);
            auto group = dynpar::this_block(block, memory);
            done = dynpar::nested_for(group, count, Mark{marks + first}, options);
            if (memory != nullptr) begin_of_group = 0, end_of_group = width;
        }
        if (done != dynpar::status::success) dynpar::atomic_add(failed, 1u);
        for (const unsigned distance : {0u, 1u, 7u}) {
            const unsigned of_group = (rank - begin_of_group + distance) % (end_of_group - begin_of_group);
            const unsigned other = block.block_rank() * width + begin_of_group + of_group;
            const unsigned length = other < threads ? begin[other + 1] - begin[other] : 0;
            const bool is_in_place = options.in_place != 0 && length <= options.in_place;
            for (unsigned k = 0; is_in_place && k < length; ++k)
                if (marks[begin[other] + k] != 1) dynpar::atomic_add(wrong, 1u);
        }
        if (i == 0) block.then(check_marks{}, dynpar::shape(1, 32), marks, begin[threads], wrong);
    }
};

/// Lengths of loops, one after another: where each begins, and where the last one ends.
std::vector<unsigned> begins_of(unsigned threads, unsigned (*length)(unsigned)) {
    std::vector<unsigned> begin{0};
    for (unsigned i = 0; i < threads; ++i) begin.push_back(begin.back() + length(i));
    return begin;
}
unsigned none(unsigned) { return 0; }
unsigned one(unsigned) { return 1; }
unsigned one_huge(unsigned i) { return i == 5 ? many(30000) : 0; }
unsigned all_large(unsigned) { return 45; }
unsigned skewed(unsigned i) {
    const unsigned drawn = (i * 2654435761u) >> 16 & 0xff;
    return drawn < 100 ? 0 : drawn < 220 ? drawn % 7 : drawn < 250 ? drawn % 90 : many(3000) + drawn;
}

nested_for_options with(unsigned in_place, nested_grids grids) {
    nested_for_options options;
    options.in_place = in_place;
    options.piece = 100;
    options.grids = grids;
    return options;
}
const nested_for_options all_options[] = {{},
                                          with(nested_for_options::all, nested_grids::automatic),
                                          with(20, nested_grids::one_each),
                                          with(20, nested_grids::one_for_all)};

/// Runs loops of these lengths, in every way; each iteration has to run once.
template <class Mark = mark>
void run_each_once(const dynpar::shape& s, unsigned (*length)(unsigned)) {
    auto engine = make_engine();
    const unsigned width = s.moldable ? engine.moldable_threads(dynpar::at_most(s.threads.x)) : s.threads.x;
    const unsigned threads = s.blocks.x * width - (width > 1 ? 1 : 0);  // one has no loop
    const std::vector<unsigned> begins = begins_of(threads, length);
    const auto begin = engine.make_buffer<unsigned>(begins);
    for (const nested_for_options& options : all_options) {
        for (const form how : {form::by_warp, form::by_block}) {
            CAPTURE(options.in_place);
            CAPTURE(static_cast<int>(options.grids));
            CAPTURE(static_cast<int>(how));
            auto marks = filled(engine, std::max(begins.back(), 1u), 0u);
            auto wrong = filled(engine, 1, 0u), failed = filled(engine, 1, 0u);
            engine.run(run_loops<Mark>{options, how}, s, static_cast<const unsigned*>(begin.data()), threads,
                       marks.data(), wrong.data(), failed.data());
            CHECK(wrong.value() == 0);
            CHECK(failed.value() == 0);
            const std::vector<unsigned> marked = marks.to_vector();
            CHECK(std::count(marked.begin(), marked.end(), 1u) == begins.back());
        }
    }
}

TEST_CASE("C22: each iteration of a nested loop runs once, at every width, whatever the lengths") {
    for (const unsigned threads : {1u, 2u, 31u, 32u, 33u, 100u, 256u, 512u, 1024u}) {
        if (threads > widest_block) continue;
        CAPTURE(threads);
        for (auto* const length : {none, one, one_huge, all_large, skewed})
            run_each_once(dynpar::shape(3, threads, threads * dynpar::nested_for_bytes<mark>), length);
    }
}

TEST_CASE("C22: the same where the body has a first step") {
    for (const unsigned threads : {1u, 31u, 33u, 256u}) {
        if (threads > widest_block) continue;
        CAPTURE(threads);
        for (auto* const length : {one, one_huge, all_large, skewed})
            run_each_once<mark_fetched>(dynpar::shape(3, threads, threads * dynpar::nested_for_bytes<mark_fetched>),
                                        length);
    }
}

TEST_CASE("C22: the same in moldable blocks, and without shared memory") {
    for (auto* const length : {one_huge, skewed}) {
        run_each_once(dynpar::shape(9, dynpar::at_most(256), dynpar::bytes_per_thread(dynpar::nested_for_bytes<mark>)),
                      length);
    }
    auto engine = make_engine();
    const std::vector<unsigned> begins = begins_of(64, skewed);
    const auto begin = engine.make_buffer<unsigned>(begins);
    auto marks = filled(engine, begins.back(), 0u);
    auto wrong = filled(engine, 1, 0u), failed = filled(engine, 1, 0u);
    const dynpar::report report =
        engine.try_run(run_loops<>{{}, form::by_block}, dynpar::shape(1, 64),
                       static_cast<const unsigned*>(begin.data()), 64u, marks.data(), wrong.data(), failed.data());
    CHECK(only_failure(report).status == dynpar::status::shared_memory_exceeded);
    CHECK(wrong.value() == 0);
    const std::vector<unsigned> marked = marks.to_vector();
    CHECK(std::count(marked.begin(), marked.end(), 1u) == begins.back());
}

TEST_CASE("C22: a block may keep a loop of more than a million iterations") {
    auto engine = make_engine();
    constexpr unsigned threads = 64;
    const std::vector<unsigned> begins = begins_of(threads, [](unsigned i) { return i == 7 ? (1u << 20) + 500 : i; });
    const auto begin = engine.make_buffer<unsigned>(begins);
    auto marks = filled(engine, begins.back(), 0u);
    auto wrong = filled(engine, 1, 0u), failed = filled(engine, 1, 0u);
    engine.run(run_loops<>{with(nested_for_options::all, nested_grids::automatic), form::by_block},
               dynpar::shape(1, threads, threads * dynpar::nested_for_bytes<mark>),
               static_cast<const unsigned*>(begin.data()), threads, marks.data(), wrong.data(), failed.data());
    CHECK(wrong.value() == 0);
    const std::vector<unsigned> marked = marks.to_vector();
    CHECK(std::count(marked.begin(), marked.end(), 1u) == begins.back());
}

TEST_CASE("C22: a nested loop whose child grid is refused is in the report, and the others run") {
    dynpar::limits limits;
    limits.nesting_depth = 0;
    auto engine = make_engine(limits);
    for (const form how : {form::by_warp, form::by_block}) {
        for (const nested_grids grids : {nested_grids::one_each, nested_grids::one_for_all}) {
            CAPTURE(static_cast<int>(how));
            CAPTURE(static_cast<int>(grids));
            constexpr unsigned threads = 64, large = 3;
            const auto length = [](unsigned i) { return i == 3 || i == 7 || i == 40 ? 50u : 4u; };
            const std::vector<unsigned> begins = begins_of(threads, length);
            const auto begin = engine.make_buffer<unsigned>(begins);
            auto marks = filled(engine, begins.back(), 0u);
            auto wrong = filled(engine, 1, 0u), failed = filled(engine, 1, 0u);
            const dynpar::report report = engine.try_run(
                run_loops<>{with(20, grids), how}, dynpar::shape(1, threads, threads * dynpar::nested_for_bytes<mark>),
                static_cast<const unsigned*>(begin.data()), threads, marks.data(), wrong.data(), failed.data());
            const unsigned grids_lost = grids == nested_grids::one_each ? large : how == form::by_warp ? 2 : 1;
            CHECK(report.lost_launches == grids_lost);
            for (const dynpar::failure& failure : report.failures) {
                CHECK(failure.status == dynpar::status::nesting_depth_exceeded);
                CHECK(failure.kernel == "mark");
            }
            CHECK(failed.value() == large);
            const std::vector<unsigned> marked = marks.to_vector();
            for (unsigned i = 0; i < threads; ++i) {
                for (unsigned k = begins[i]; k < begins[i + 1]; ++k) CHECK(marked[k] == (length(i) > 20 ? 0 : 1));
            }
        }
    }
}

/// Warps of a block make calls of their own, a different number of them.
struct warps_with_loops {
    static constexpr unsigned longest = 11, most_calls = 4;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* marks) const {
        const unsigned rank = block.thread_rank();
        for (unsigned i = 0; i < dynpar::this_warp(block).meta_group_rank(); ++i)
            dynpar::nested_for(block, rank % (longest + 1), mark{marks + (rank * most_calls + i) * longest});
    }
};

TEST_CASE("C22: warps of a block have nested loops of their own, each in its own time") {
    auto engine = make_engine();
    constexpr unsigned threads = 150, longest = warps_with_loops::longest, calls = warps_with_loops::most_calls;
    auto marks = filled(engine, threads * calls * longest, 0u);
    engine.run(warps_with_loops{}, dynpar::shape(1, threads), marks.data());
    const std::vector<unsigned> marked = marks.to_vector();
    unsigned wrong = 0;
    for (unsigned i = 0; i < marked.size(); ++i) {
        const unsigned rank = i / longest / calls, call = i / longest % calls;
        wrong += marked[i] != (call < rank / 32 && i % longest < rank % (longest + 1) ? 1 : 0);
    }
    CHECK(wrong == 0);
}

/// Counts an iteration, and launches a grid that counts another one.
struct count_and_launch {
    unsigned* counts;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, long long i) const {
        dynpar::atomic_add(&counts[0], 1u);
        if (i % 2 == 0) block.launch(count_one{}, dynpar::shape(1, 1), &counts[1]);
    }
};
struct fetch_count_and_launch {
    unsigned* counts;
    DYNPAR_FUNCTION bool fetch(long long i) const { return i % 2 == 0; }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, long long i, bool is_even) const {
        dynpar::atomic_add(&counts[0], (i % 2 == 0) == is_even ? 1u : 1000u);
        if (is_even) block.launch(count_one{}, dynpar::shape(1, 1), &counts[1]);
    }
};
template <class Body>
struct loops_that_launch {
    nested_for_options options;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counts) const {
        const long long count = static_cast<long long>(block.thread_rank() % 40) - 10;  // some are negative
        dynpar::nested_for(block, count, Body{counts}, options);
    }
};
template <class Body>
void run_loops_that_launch(const nested_for_options& options, unsigned threads) {
    CAPTURE(threads);
    auto engine = make_engine();
    auto counts = filled(engine, 2, 0u);
    engine.run(loops_that_launch<Body>{options}, dynpar::shape(2, threads), counts.data());
    unsigned all = 0, even = 0;
    for (unsigned i = 0; i < threads; ++i) {
        const unsigned count = std::max(i % 40, 10u) - 10;
        all += 2 * count;
        even += 2 * ((count + 1) / 2);
    }
    CHECK(counts.to_vector() == std::vector<unsigned>{all, even});
}

TEST_CASE("C22: the body of a nested loop may launch, and a negative count is none") {
    for (const nested_for_options& options : all_options) {
        for (const unsigned threads : {1u, 40u, 120u}) {
            run_loops_that_launch<count_and_launch>(options, threads);
            run_loops_that_launch<fetch_count_and_launch>(options, threads);
        }
    }
}

// ---- counted_grid

/// Puts every third number into a list.
struct list_thirds {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned below, unsigned* count, unsigned* list) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i < below && i % 3 == 0) list[dynpar::atomic_append(count)] = i;
    }
};
struct mark_listed {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* count, const unsigned* list, unsigned* marks) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i < *count) dynpar::atomic_add(&marks[list[i]], 1u);
    }
};
/// The same for a kernel that allows fewer threads than a counted grid has by itself, on every engine.
struct mark_narrowly : mark_listed {
    static constexpr unsigned max_threads = 8;
};
/// The same for a kernel with state, which the counted grid carries; without, it has none itself.
struct mark_times {
    unsigned times;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* count, const unsigned* list, unsigned* marks) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i < *count) dynpar::atomic_add(&marks[list[i]], times);
    }
};
static_assert(std::is_empty_v<dynpar::counted_grid<mark_listed>> && std::is_empty_v<dynpar::for_each_in<mark_listed>>);

struct list_then_mark {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned below, unsigned* count, unsigned* list,
                                    unsigned* marks) const {
        if (below != 0)
            block.launch(list_thirds{}, dynpar::shape_for(block, below, dynpar::at_most(64)), below, count, list);
        block.then(dynpar::counted_grid<mark_listed>{}, dynpar::shape(1, 1), count, count, list, marks);
        block.then(dynpar::counted_grid<mark_narrowly>{}, dynpar::shape(1, 1), count, count, list, marks);
        block.then(dynpar::counted_grid<mark_times, 64>(mark_times{5}), dynpar::shape(1, 1), count, count, list, marks);
    }
};

TEST_CASE("C22: a counted grid has a thread for each thing that the device has counted") {
    auto engine = make_engine();
    CHECK(dynpar::most_threads<mark_narrowly>() == 8);
    for (const unsigned below : {0u, 1u, 100u, many(30000)}) {
        CAPTURE(below);
        auto count = filled(engine, 1, 0u), list = filled(engine, below + 1, 0u), marks = filled(engine, below + 1, 0u);
        engine.run(list_then_mark{}, dynpar::shape(1, 1), below, count.data(), list.data(), marks.data());
        unsigned wrong = 0;
        const std::vector<unsigned> marked = marks.to_vector();
        for (unsigned i = 0; i < below; ++i) wrong += marked[i] != (i % 3 == 0 ? 7 : 0);
        CHECK(wrong == 0);
    }
}

// ---- frontier, for_each_in

/// A graph without memory: vertex v has v % 40 neighbours.
DYNPAR_FUNCTION unsigned neighbour_of(unsigned v, unsigned i, unsigned vertices) {
    return static_cast<unsigned>((v * 7ull + i * 1009ull + 1) % vertices);
}
struct find_neighbour {
    static constexpr const char* name = "find_neighbour";
    dynpar::frontier_view<unsigned> frontier;
    unsigned from, vertices;
    unsigned* round_of;
    unsigned* refused;
    DYNPAR_FUNCTION void operator()(unsigned i) const {
        const unsigned to = neighbour_of(from, i, vertices);
        if (dynpar::atomic_cas(&round_of[to], ~0u, frontier.round() + 1) == ~0u && !frontier.add(to))
            dynpar::atomic_add(refused, 1u);
    }
};
struct find_neighbours {
    static constexpr const char* name = "find_neighbours";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::frontier_view<unsigned> frontier, unsigned vertices,
                                    unsigned* round_of, unsigned* refused) const {
        const unsigned* const item = frontier.item(block);
        const unsigned from = item != nullptr ? *item : 0;
        dynpar::nested_for(block, item != nullptr ? from % 40 : 0,
                           find_neighbour{frontier, from, vertices, round_of, refused});
    }
};
/// The same for a kernel that allows fewer threads than a round has by itself.
struct find_narrowly : find_neighbours {
    static constexpr unsigned max_threads = 8;
};

/// The same, with state and without a default constructor: finds no vertex from this one on.
class find_below {
public:
    DYNPAR_FUNCTION explicit find_below(unsigned first_too_large) : end_(first_too_large) {}
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::frontier_view<unsigned> frontier, unsigned,
                                    unsigned* round_of, unsigned* refused) const {
        find_neighbours{}(block, frontier, end_, round_of, refused);
    }

private:
    unsigned end_;
};

/// In which round each vertex is found.
std::vector<unsigned> rounds_of_vertices(unsigned vertices, const std::vector<unsigned>& first) {
    std::vector<unsigned> round_of(vertices, ~0u), frontier = first;
    for (const unsigned v : first) round_of[v] = 0;
    for (unsigned round = 1; !frontier.empty(); ++round) {
        std::vector<unsigned> next;
        for (const unsigned v : frontier) {
            for (unsigned i = 0; i < v % 40; ++i) {
                const unsigned to = neighbour_of(v, i, vertices);
                if (round_of[to] != ~0u) continue;
                round_of[to] = round;
                next.push_back(to);
            }
        }
        frontier = std::move(next);
    }
    return round_of;
}

TEST_CASE("C22: a search with a frontier finds each vertex in its round, and ends when a round finds none") {
    auto engine = make_engine();
    const unsigned vertices = many(20000);
    dynpar::frontier<unsigned> frontier(engine, vertices);
    CHECK(frontier.rounds() == 0);
    auto refused = filled(engine, 1, 0u);
    const auto check_search = [&](auto kernel, const std::vector<unsigned>& first, unsigned below,
                                  unsigned blocks = 1) {
        std::vector<unsigned> expected = rounds_of_vertices(below, first);
        expected.resize(vertices, ~0u);
        std::vector<unsigned> begin(vertices, ~0u);
        unsigned rounds = 0;
        for (const unsigned v : first) begin[v] = 0;
        for (const unsigned r : expected) rounds = r != ~0u && r + 1 > rounds ? r + 1 : rounds;
        auto round_of = engine.make_buffer(begin);
        frontier.begin_with(first);
        engine.run(kernel, dynpar::shape(blocks, 1), frontier.view(), vertices, round_of.data(), refused.data());
        CHECK(round_of.to_vector() == expected);
        CHECK(frontier.rounds() == rounds);
        CHECK(frontier.refused() == 0);
    };
    check_search(dynpar::for_each_in<find_neighbours>{}, {39}, vertices);
    check_search(dynpar::for_each_in<find_narrowly>{}, {1, 5, 77}, vertices);
    check_search(dynpar::for_each_in<find_neighbours, 32>{}, {}, vertices);
    check_search(dynpar::for_each_in<find_neighbours, 64>{}, {1999, 3}, vertices);
    check_search(dynpar::for_each_in<find_below>(find_below(1500)), {39}, 1500);
    check_search(dynpar::for_each_in<find_neighbours>{}, {39}, vertices, 3);  // one of three blocks acts
    refused.fill(0);
    CHECK(engine
              .run(dynpar::for_each_in<find_neighbours>{}, dynpar::shape(1, 1), frontier.view(), vertices,
                   refused.data(), refused.data())
              .grids == 1);  // it is empty after a run
    CHECK(refused.to_vector()[0] == 0);
}

TEST_CASE(
    "C22: a full frontier refuses and counts what is added, and to begin with more than it has room for is an error") {
    auto engine = make_engine();
    dynpar::frontier<unsigned> frontier(engine, 20);
    auto refused = filled(engine, 1, 0u);
    auto round_of = filled(engine, 1000, ~0u);
    frontier.begin_with({39});
    engine.run(dynpar::for_each_in<find_neighbours>{}, dynpar::shape(1, 1), frontier.view(), 1000u, round_of.data(),
               refused.data());
    CHECK(refused.to_vector()[0] > 0);
    CHECK(frontier.refused() == refused.to_vector()[0]);
    CHECK(frontier.rounds() > 1);
    CHECK_THROWS_WITH_AS(frontier.begin_with(std::vector<unsigned>(21)),
                         "dynpar: begin_with: 21 items, and the frontier has room for 20", std::length_error);
    CHECK_THROWS_AS(dynpar::frontier<unsigned>(engine, std::size_t{1} << 31), std::length_error);
    CHECK_THROWS_AS(dynpar::frontier<unsigned>(engine, ~std::size_t{0}), std::length_error);
    frontier.begin_with({});
    CHECK(frontier.refused() == 0);
}

// ---- shape_for_loops, loop_of

struct mark_loops {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned loops, unsigned* marks, unsigned* most_of_warp) const {
        const unsigned i = dynpar::loop_of(block, loops);
        if (i < loops) dynpar::atomic_add(&marks[i], 1u);
        const unsigned of_warp = dynpar::count(dynpar::this_warp(block), i < loops);
        dynpar::atomic_max(most_of_warp, of_warp);
    }
};
struct launch_for_loops {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned loops, unsigned* marks, unsigned* most_of_warp) const {
        block.launch(mark_loops{}, dynpar::shape_for_loops(block, loops, dynpar::at_most(256)), loops, marks,
                     most_of_warp);
    }
};

TEST_CASE("C22: each loop of a grid is one thread's, in any grid of enough threads, and warps have about as many") {
    auto engine = make_engine();
    const auto are_marked_once = [&](const dynpar::buffer<unsigned>& marks, unsigned loops) {
        const std::vector<unsigned> marked = marks.to_vector();
        return marked.back() == 0 && std::count(marked.begin(), marked.end() - 1, 1u) == loops;
    };
    for (const unsigned threads : {1u, 7u, 32u, 33u, 96u, 256u}) {
        for (const unsigned blocks : {1u, 3u, 50u}) {
            for (const unsigned loops : {0u, 1u, 2u, threads * blocks / 2, threads * blocks - 1, threads * blocks}) {
                if (loops > threads * blocks) continue;
                CAPTURE(threads);
                CAPTURE(blocks);
                CAPTURE(loops);
                auto marks = filled(engine, loops + 1, 0u), most = filled(engine, 1, 0u);
                engine.run(mark_loops{}, dynpar::shape(blocks, threads), loops, marks.data(), most.data());
                CHECK(are_marked_once(marks, loops));
                const unsigned warps = threads / 32 * blocks;
                if (threads % 32 == 0) CHECK(most.value() <= (loops + warps - 1) / warps + 1);
            }
        }
    }
    for (const unsigned loops : {1u, 31u, 500u, many(2048), many(2049), many(70000)}) {
        CAPTURE(loops);
        auto marks = filled(engine, loops + 1, 0u), most = filled(engine, 1, 0u);
        engine.run(launch_for_loops{}, dynpar::shape(1, 1), loops, marks.data(), most.data());
        CHECK(are_marked_once(marks, loops));
        if (loops <= 2048) CHECK(most.value() == 1);
    }
    CHECK(dynpar::check(dynpar::shape_for_loops(engine, 0, dynpar::at_most(256))) != dynpar::status::success);
}

// ---- nested_reduce

struct number_of {
    unsigned of;
    DYNPAR_FUNCTION unsigned operator()(unsigned i) const { return of + i % 100; }
};
/// Whether it is this one; counts how often it is asked.
struct is_number {
    unsigned number;
    unsigned* asked;
    DYNPAR_FUNCTION bool operator()(unsigned i) const {
        dynpar::atomic_add(asked, 1u);
        return i == number;
    }
};

struct reduce_loops {
    form how;

    template <class Block, class Body, class Monoid>
    DYNPAR_FUNCTION typename Monoid::value_type reduce(Block& block, void* memory, unsigned count, const Body& body,
                                                       Monoid monoid) const {
        return how == form::by_warp ? dynpar::nested_reduce(block, count, body, monoid)
                                    : dynpar::nested_reduce(dynpar::this_block(block, memory), count, body, monoid);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* begin, unsigned* wrong, unsigned* asked) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        const unsigned count = begin[i + 1] - begin[i];
        auto* memory = block.template shared<std::byte>(block.num_threads() * dynpar::nested_for_bytes<is_number>);
        unsigned sum = 0, least = ~0u;
        for (unsigned k = 0; k < count; ++k) {
            sum += i + k % 100;
            least = i;
        }
        unsigned found = 0;
        found += reduce(block, memory, count, number_of{i}, dynpar::sum<unsigned>{}) != sum;
        found += reduce(block, memory, count, number_of{i}, dynpar::smallest<unsigned>{}) != least;
        found += reduce(block, memory, count, is_number{count / 2, asked}, dynpar::whether_any{}) != (count != 0);
        found += reduce(block, memory, count, is_number{count, asked + 1}, dynpar::whether_any{}) != false;
        if (found != 0) dynpar::atomic_add(wrong, found);
    }
};

TEST_CASE("C22: a nested reduction gives each thread the value of its own loop, at every width") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 2u, 31u, 32u, 33u, 100u, 256u, 512u, 1024u}) {
        if (threads > widest_block) continue;
        for (auto* const length : {none, one, one_huge, all_large, skewed}) {
            for (const form how : {form::by_warp, form::by_block}) {
                CAPTURE(threads);
                CAPTURE(static_cast<int>(how));
                const std::vector<unsigned> begins = begins_of(2 * threads, length);
                const auto begin = engine.make_buffer<unsigned>(begins);
                auto wrong = filled(engine, 1, 0u), asked = filled(engine, 2, 0u);
                engine.run(reduce_loops{how},
                           dynpar::shape(2, threads, threads * dynpar::nested_for_bytes<is_number> + 16),
                           static_cast<const unsigned*>(begin.data()), wrong.data(), asked.data());
                CHECK(wrong.value() == 0);
                CHECK(asked.to_vector()[1] == begins.back());
                // Half of the loop is enough; threads that are in the middle of theirs may go on for a while.
                if (length == one_huge && threads > 2) CHECK(asked.to_vector()[0] <= begins.back() * 3 / 4);
            }
        }
    }
}

// ---- nested_reduce_into

/// A number, fetched.
struct fetched_number {
    const unsigned* numbers;
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return numbers[i]; }
    DYNPAR_FUNCTION unsigned operator()(unsigned i, unsigned number) const { return number + i % 2; }
};
/// The same, of so many bytes that few are run together.
struct wide_number : fetched_number {
    unsigned long long bytes[2];
};
/// Bits that are set in an odd number of values: an operation that has no atomic of its own.
struct parity {
    using value_type = unsigned;
    static DYNPAR_FUNCTION unsigned identity() { return 0; }
    static DYNPAR_FUNCTION unsigned combine(unsigned a, unsigned b) { return a ^ b; }
};
/// What is at least 1000 is as good as any greater value.
struct up_to_1000 {
    using value_type = unsigned;
    static DYNPAR_FUNCTION unsigned identity() { return 0; }
    static DYNPAR_FUNCTION unsigned combine(unsigned a, unsigned b) { return a + b < 1000 ? a + b : 1000; }
    static DYNPAR_FUNCTION bool is_final(unsigned value) { return value == 1000; }
};

/// Four values of each thread, each in a place of its own; the first one once more in a place for all.
struct reduce_into_memory {
    nested_for_options options;
    form how;

    template <class Block, class Body, class Monoid>
    DYNPAR_FUNCTION dynpar::status reduce(Block& block, void* memory, unsigned count, const Body& body, Monoid monoid,
                                          typename Monoid::value_type* into) const {
        return how == form::by_warp
                   ? dynpar::nested_reduce_into(block, count, body, monoid, into, options)
                   : dynpar::nested_reduce_into(dynpar::this_block(block, memory), count, body, monoid, into, options);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const unsigned* begin, const unsigned* numbers, unsigned* values,
                                    unsigned* failed) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        const unsigned count = begin[i + 1] - begin[i], threads = block.num_blocks() * block.num_threads();
        auto* memory = block.template shared<std::byte>(block.num_threads() * dynpar::nested_for_bytes<wide_number>);
        const fetched_number fetched{numbers + begin[i]};
        const wide_number wide{fetched, {}};
        unsigned* const mine = values + i;
        const auto done = [&](dynpar::status s) {
            if (s != dynpar::status::success) dynpar::atomic_add(failed, 1u);
        };
        done(reduce(block, memory, count, number_of{i}, dynpar::sum<unsigned>{}, mine));
        done(reduce(block, memory, count, fetched, dynpar::largest<unsigned>{}, mine + threads));
        done(reduce(block, memory, count, wide, parity{}, mine + 2 * threads));
        done(reduce(block, memory, count, number_of{i}, up_to_1000{}, mine + 3 * threads));
        done(reduce(block, memory, count, fetched, dynpar::sum<unsigned>{}, values + 4 * threads));
    }
};

/// What `reduce_into_memory` has to find, but for loops of more than `in_place` iterations.
std::vector<unsigned> reduced(const std::vector<unsigned>& begins, const std::vector<unsigned>& numbers,
                              unsigned in_place) {
    const std::size_t threads = begins.size() - 1;
    std::vector<unsigned> values(4 * threads + 1, 0);
    for (unsigned i = 0; i < threads; ++i) {
        const unsigned count = begins[i + 1] - begins[i];
        for (unsigned k = 0; k < count && count <= in_place; ++k) {
            const unsigned number = numbers[begins[i] + k] + k % 2;
            values[i] += i + k % 100;
            values[threads + i] = std::max(values[threads + i], number);
            values[2 * threads + i] ^= number;
            values[3 * threads + i] = std::min(values[3 * threads + i] + i + k % 100, 1000u);
            values[4 * threads] += number;
        }
    }
    return values;
}

TEST_CASE("C22: a nested reduction into memory has every iteration's value, at every width, whatever the lengths") {
    dynpar::limits limits;
    limits.pending_launches = 16384;
    auto engine = make_engine(limits);
    for (const unsigned threads : {1u, 31u, 32u, 100u, 256u}) {
        if (threads > widest_block) continue;
        for (auto* const length : {none, one_huge, all_large, skewed}) {
            const std::vector<unsigned> begins = begins_of(2 * threads, length);
            std::vector<unsigned> numbers(begins.back() + 1);
            for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = i * 2654435761u >> 7;
            const auto begin = engine.make_buffer<unsigned>(begins), number = engine.make_buffer<unsigned>(numbers);
            const std::vector<unsigned> expected = reduced(begins, numbers, ~0u);
            for (const nested_for_options& options : all_options) {
                for (const form how : {form::by_warp, form::by_block}) {
                    CAPTURE(threads);
                    CAPTURE(options.in_place);
                    CAPTURE(static_cast<int>(options.grids));
                    CAPTURE(static_cast<int>(how));
                    auto values = filled(engine, static_cast<unsigned>(expected.size()), 0u);
                    auto failed = filled(engine, 1, 0u);
                    engine.run(reduce_into_memory{options, how},
                               dynpar::shape(2, threads, threads * dynpar::nested_for_bytes<wide_number>),
                               static_cast<const unsigned*>(begin.data()), static_cast<const unsigned*>(number.data()),
                               values.data(), failed.data());
                    CHECK(values.to_vector() == expected);
                    CHECK(failed.value() == 0);
                }
            }
        }
    }
}

/// All threads of a warp, or of a block, have one place, and read it after the call.
struct read_what_is_reduced {
    form how;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* sums, unsigned* wrong) const {
        nested_for_options in_place;
        in_place.in_place = nested_for_options::all;
        auto* memory = block.template shared<std::byte>(block.num_threads() * dynpar::nested_for_bytes<number_of>);
        const unsigned rank = block.thread_rank(), threads = block.num_threads();
        const unsigned warp = how == form::by_warp ? rank / 32 : 0;
        const unsigned begin = how == form::by_warp ? warp * 32 : 0;
        const unsigned end = how == form::by_warp && begin + 32 < threads ? begin + 32 : threads;
        unsigned* const into = sums + block.block_rank() * 32 + warp;
        const unsigned count = rank % 3;  // none for the first of them, and the greatest at the end
        if (how == form::by_warp)
            dynpar::nested_reduce_into(block, count, number_of{rank}, dynpar::sum<unsigned>{}, into, in_place);
        else
            dynpar::nested_reduce_into(dynpar::this_block(block, memory), count, number_of{rank},
                                       dynpar::sum<unsigned>{}, into, in_place);
        unsigned expected = 0;
        for (unsigned r = begin; r < end; ++r)
            for (unsigned i = 0; i < r % 3; ++i) expected += r + i;
        if (*into != expected) dynpar::atomic_add(wrong, 1u);
    }
};

TEST_CASE("C22: threads that share a nested reduction into memory see all of it when the call returns") {
    auto engine = make_engine();
    for (const unsigned threads : {1u, 2u, 32u, 40u, 100u, 256u}) {
        if (threads > widest_block) continue;
        for (const form how : {form::by_warp, form::by_block}) {
            CAPTURE(threads);
            CAPTURE(static_cast<int>(how));
            auto sums = filled(engine, many(64) * 32, 0u), wrong = filled(engine, 1, 0u);
            engine.run(read_what_is_reduced{how},
                       dynpar::shape(many(64), threads, threads * dynpar::nested_for_bytes<number_of>), sums.data(),
                       wrong.data());
            CHECK(wrong.value() == 0);
        }
    }
}

TEST_CASE("C22: where the child grid of a nested reduction is refused, its value is missing and the call says so") {
    dynpar::limits limits;
    limits.nesting_depth = 0;
    auto engine = make_engine(limits);
    constexpr unsigned threads = 64, large = 3;
    const std::vector<unsigned> begins =
        begins_of(threads, [](unsigned i) { return i == 3 || i == 7 || i == 40 ? 50u : 4u; });
    const std::vector<unsigned> numbers(begins.back(), 12);
    const auto begin = engine.make_buffer<unsigned>(begins), number = engine.make_buffer<unsigned>(numbers);
    for (const form how : {form::by_warp, form::by_block}) {
        for (const nested_grids grids : {nested_grids::one_each, nested_grids::one_for_all}) {
            auto values = filled(engine, 4 * threads + 1, 0u);
            auto failed = filled(engine, 1, 0u);
            const dynpar::report report =
                engine.try_run(reduce_into_memory{with(20, grids), how},
                               dynpar::shape(1, threads, threads * dynpar::nested_for_bytes<wide_number>),
                               static_cast<const unsigned*>(begin.data()), static_cast<const unsigned*>(number.data()),
                               values.data(), failed.data());
            CHECK(report.lost_launches != 0);
            CHECK(failed.value() == 5 * large);
            CHECK(values.to_vector() == reduced(begins, numbers, 20));
        }
    }
}

/// A value that has no default constructor and no atomic operation: the sums of two numbers.
struct alignas(8) two_sums {
    unsigned odd, even;
    DYNPAR_FUNCTION two_sums(unsigned of_odd, unsigned of_even) : odd(of_odd), even(of_even) {}
};
struct add_two_sums {
    using value_type = two_sums;
    static DYNPAR_FUNCTION two_sums identity() { return {0, 0}; }
    static DYNPAR_FUNCTION two_sums combine(const two_sums& a, const two_sums& b) {
        return {a.odd + b.odd, a.even + b.even};
    }
};
/// Its `fetch` is for something else, since it can be called without.
struct odd_or_even {
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return i % 2; }
    DYNPAR_FUNCTION two_sums operator()(unsigned i) const { return fetch(i) != 0 ? two_sums(i, 0) : two_sums(0, i); }
};
struct sum_twice {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, two_sums* into, unsigned* wrong) const {
        const unsigned count = block.thread_rank() * 7;
        unsigned odd = 0, even = 0;
        for (unsigned i = 0; i < count; ++i) (i % 2 != 0 ? odd : even) += i;
        const two_sums found = dynpar::nested_reduce(block, count, odd_or_even{}, add_two_sums{});
        if (found.odd != odd || found.even != even) dynpar::atomic_add(wrong, 1u);
        nested_for_options options;
        options.in_place = 50;
        options.piece = 16;
        options.threads = block.thread_rank() < 32 ? 0 : 5000;  // 256 and 1024
        dynpar::nested_reduce_into(block, count, odd_or_even{}, add_two_sums{}, into, options);
    }
};

TEST_CASE("C22: values of a nested reduction need no default constructor and no atomic operation") {
    auto engine = make_engine();
    constexpr unsigned threads = 64;
    auto wrong = filled(engine, 1, 0u);
    auto into = engine.make_buffer<two_sums>({two_sums(1, 2)});
    engine.run(sum_twice{}, dynpar::shape(1, threads), into.data(), wrong.data());
    CHECK(wrong.value() == 0);
    unsigned odd = 1, even = 2;
    for (unsigned t = 0; t < threads; ++t)
        for (unsigned i = 0; i < t * 7; ++i) (i % 2 != 0 ? odd : even) += i;
    CHECK(into.value().odd == odd);
    CHECK(into.value().even == even);
}

/// Two loops whose iterations together are more than can be counted.
struct too_long_loops {
    nested_for_options options;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* marks, unsigned* failed) const {
        const unsigned long long count = block.thread_rank() < 2 ? (1ull << 63) + block.thread_rank() * 5 : 3;
        if (dynpar::nested_for(block, count, mark{marks}, options) != dynpar::status::success)
            dynpar::atomic_add(failed, 1u);
    }
};

TEST_CASE("C22: loops that are too long for any grid are in the report, also where their sum has no number") {
    auto engine = make_engine();
    for (const nested_grids grids : {nested_grids::one_each, nested_grids::one_for_all}) {
        CAPTURE(static_cast<int>(grids));
        auto marks = filled(engine, 3, 0u), failed = filled(engine, 1, 0u);
        const dynpar::report report =
            engine.try_run(too_long_loops{with(64, grids)}, dynpar::shape(1, 4), marks.data(), failed.data());
        CHECK(report.lost_launches == (grids == nested_grids::one_each ? 2 : 1));
        CHECK(failed.value() == 2);
        CHECK(marks.to_vector() == std::vector<unsigned>{2, 2, 2});
    }
}

}  // namespace
