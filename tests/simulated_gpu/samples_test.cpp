// Kernels of samples that search trees: in all their forms, on the queue engine.
#include <dynpar/dynpar.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "../../benchmarks/nested_loops/flat_colouring.cuh"
#include "../../benchmarks/nested_loops/flat_forest.cuh"
#include "../../benchmarks/nested_loops/flat_search.cuh"
#include "../../benchmarks/tree_search/searches.cuh"
#include "../../samples/graph/colouring.hpp"
#include "../../samples/graph/forest.hpp"
#include "../../samples/graph/input.hpp"
#include "../../samples/graph/kernels.hpp"
#include "../../samples/graph/on_cpu.hpp"
#include "../../samples/adaptive_grid/kernels.hpp"
#include "../../samples/integrate/kernels.hpp"
#include "../../samples/mandelbrot/kernels.hpp"
#include "../../samples/quadtree/build.hpp"
#include "../../samples/quicksort/kernels.hpp"
#include "../../samples/quicksort/patterns.hpp"
#include "../../samples/sudoku/kernels.hpp"
#include "../../samples/sudoku/puzzles.hpp"
#include "../../samples/uts/kernels.hpp"
#include "../../samples/vertex_cover/search.hpp"

namespace {

dynpar::queue_engine small_engine() {
    dynpar::queue_options options;
    options.block_threads = 64;
    options.worker_blocks = 2;
    options.memory_bytes = 64 << 20;
    return dynpar::queue_engine(options);
}

}  // namespace

TEST_CASE("every form of the unbalanced tree search counts what the CPU counts") {
    using namespace uts;
    for (tree t : {geometric_tree(3, 4, 1), binomial_tree(40, 4, 200000, 3)}) {
        const number expected = count_on_cpu(t).nodes;
        REQUIRE(expected > 50);
        REQUIRE(expected < 1000);
        dynpar::queue_engine engine = small_engine();
        for (const form how : {form::child, form::scratch, form::blocks}) {
            dynpar::buffer<number> counts = engine.make_buffer<number>(counters);
            counts.fill(0);
            t.counts = counts.data();
            const dynpar::buffer<tree> there = engine.make_buffer<tree>({t});
            const dynpar::report report = engine.run(begin{there.data(), how}, dynpar::shape(1, 1), root_of(t));
            number found = 0;
            for (const number part : counts.to_vector()) found += part;
            CHECK(found == expected);
            if (how != form::blocks) CHECK(report.grids == expected + 1);
        }
    }
}

TEST_CASE("searches by hand, by levels and by stacks, count what the CPU counts") {
    using namespace uts;
    for (const tree& t : {geometric_tree(3, 5, 1), binomial_tree(300, 8, 110000, 3), geometric_tree(1, 1000, 7),
                          geometric_tree(4, 6, 19)}) {
        const number expected = count_on_cpu(t).nodes;
        const by_hand::uts_search search{t};
        for (const by_hand::way way : {by_hand::way::levels, by_hand::way::stacks}) {
            for (const unsigned blocks : {1u, 2u}) {
                by_hand::searcher<by_hand::uts_search> searcher(way, blocks, 1u << 14);
                for (int run = 0; run < 2; ++run) {
                    searcher.prepare({search.root()}, 1000);
                    searcher.start(search, nullptr);
                    dynpar::check(cudaDeviceSynchronize(), "searching");
                    const by_hand::control result = searcher.result();
                    CHECK(result.total.nodes + 1 == expected);
                    CHECK(result.out_of_time == 0);
                    CHECK(result.out_of_memory == 0);
                }
            }
        }
    }
}

TEST_CASE("searches by hand that have too little memory or time say so and end") {
    using namespace uts;
    const tree t = geometric_tree(4, 8, 19);
    const by_hand::uts_search search{t};
    by_hand::searcher<by_hand::uts_search> few(by_hand::way::levels, 1, 50);
    few.prepare({search.root()}, 1000);
    few.start(search, nullptr);
    dynpar::check(cudaDeviceSynchronize(), "searching");
    CHECK(few.result().out_of_memory == 1);
    for (const by_hand::way way : {by_hand::way::levels, by_hand::way::stacks}) {
        by_hand::searcher<by_hand::uts_search> hurried(way, 1, 1u << 14);
        hurried.prepare({search.root()}, 0);
        hurried.start(search, nullptr);
        dynpar::check(cudaDeviceSynchronize(), "searching");
        CHECK(hurried.result().out_of_time == 1);
        CHECK(hurried.result().total.nodes + 1 < count_on_cpu(t).nodes);
    }
}

TEST_CASE("every form of the search of Sudoku puzzles finds what the CPU finds, and so do searches by hand") {
    using namespace sudoku;
    const std::vector<board> puzzles = make_puzzles(20, 32, 3);
    findings expected{};
    std::vector<by_hand::sudoku_search::node> roots;
    for (const board& puzzle : puzzles) {
        const findings found = search_on_cpu(puzzle);
        expected.boards += found.boards;
        expected.solutions += found.solutions;
        expected.hashes += found.hashes;
        roots.push_back(by_hand::sudoku_search::make(puzzle));
    }
    dynpar::queue_engine engine = small_engine();
    const dynpar::buffer<board> there = engine.make_buffer<board>(puzzles);
    for (const form how : {form::child, form::scratch, form::blocks}) {
        dynpar::buffer<findings> parts = engine.make_buffer<findings>(counters);
        parts.fill({});
        engine.run(begin{parts.data(), there.data(), how}, dynpar::shape(static_cast<unsigned>(puzzles.size()), 1));
        findings found{};
        for (const findings& part : parts.to_vector()) {
            found.boards += part.boards;
            found.solutions += part.solutions;
            found.hashes += part.hashes;
        }
        CHECK(found.boards == expected.boards);
        CHECK(found.solutions == expected.solutions);
        CHECK(found.hashes == expected.hashes);
    }
    for (const by_hand::way way : {by_hand::way::levels, by_hand::way::stacks}) {
        by_hand::searcher<by_hand::sudoku_search> searcher(way, 2, 1u << 14);
        searcher.prepare(roots, 1000);
        searcher.start({}, nullptr);
        dynpar::check(cudaDeviceSynchronize(), "searching");
        const by_hand::control result = searcher.result();
        CHECK(result.total.nodes + puzzles.size() == expected.boards);
        CHECK(result.total.found == expected.solutions);
        CHECK(result.total.hashes == expected.hashes);
        CHECK(result.out_of_memory == 0);
    }
}

TEST_CASE("searches of graphs find what the CPU finds") {
    using namespace graphs;
    for (const graph& g : {draw_rmat(8, 1), draw_roads(9, 1)}) {
        const vertex first = busiest(g);
        dynpar::queue_engine engine = small_engine();
        const auto begin = engine.make_buffer<unsigned>(g.begin);
        const auto neighbours = engine.make_buffer<unsigned>(g.neighbours);
        const auto weights = engine.make_buffer<unsigned>(g.weights);
        auto distance = engine.make_buffer<unsigned>(g.vertices()), queued = engine.make_buffer<unsigned>(g.vertices());
        dynpar::frontier<unsigned> frontier(engine, g.vertices());
        const graph_view there{g.vertices(), begin.data(), neighbours.data(), weights.data()};
        const auto search_from = [&](auto kernel) {
            std::vector<unsigned> at_first(g.vertices(), unseen);
            at_first[first] = 0;
            distance.copy_from(at_first.data());
            queued.fill(0);
            frontier.begin_with({first});
            const auto s = engine.make_buffer<search>({{there, distance.data(), queued.data()}});
            engine.run(kernel, dynpar::shape(1, 1), frontier.view(), s.data());
            return distance.to_vector();
        };
        CHECK((search_from(search_forward<visit_neighbour>{}) == steps_from(g, first)));
        CHECK((search_from(search_both_ways{}) == steps_from(g, first)));
        CHECK((search_from(search_forward<shorten_way>{}) == lengths_from(g, first)));

        std::vector<unsigned> all(g.vertices());
        std::iota(all.begin(), all.end(), 0u);
        const auto component = engine.make_buffer<unsigned>(all), joined_to = engine.make_buffer<unsigned>(all);
        auto lightest = engine.make_buffer<edge_key>(g.vertices());
        lightest.fill(no_edge);
        const auto f =
            engine.make_buffer<forest>({forest{there, component.data(), joined_to.data(), lightest.data(), 0, 0, 1}});
        engine.run(next_forest_round{}, dynpar::shape(1, 1), f.data());
        CHECK(f.value().weight == forest_of(g).weight);
        CHECK(f.value().edges == forest_of(g).edges);

        frontier.begin_with(all);
        distance.fill(no_colour);
        const auto c = engine.make_buffer<colouring>({{there, distance.data()}});
        engine.run(colour_all{}, dynpar::shape(1, 1), frontier.view(), c.data());
        CHECK((distance.to_vector() == colours_of(g)));
    }
}

namespace {

/// What programs by hand work on.
struct graph_on_device {
    dynpar::buffer<unsigned> begin, neighbours, weights;

    explicit graph_on_device(const graphs::graph& g)
        : begin(dynpar::detail::cuda_memory(), g.begin.size()),
          neighbours(dynpar::detail::cuda_memory(), g.neighbours.size()),
          weights(dynpar::detail::cuda_memory(), g.weights.size()) {
        begin.copy_from(g.begin.data());
        neighbours.copy_from(g.neighbours.data());
        weights.copy_from(g.weights.data());
    }
    graphs::graph_view view() const {
        return {static_cast<unsigned>(begin.size() - 1), begin.data(), neighbours.data(), weights.data()};
    }
};

/// With vertices that have none, few, more than a warp and more than a block of neighbours.
graphs::graph star_of(unsigned around) {
    std::vector<graphs::edge> edges;
    for (unsigned v = 1; v < around; ++v) {
        edges.push_back({0, v, v % 7 + 1});
        if (v % 5 == 0 && v > 90)
            for (unsigned back = 1; back < 90; back += 2) edges.push_back({v, v - back, back});
    }
    return graphs::make_graph(around + 3, edges);
}

template <flat::goal Goal>
void search_by_hand(const graphs::graph& g, const std::vector<unsigned>& expected) {
    const graph_on_device there(g);
    const graphs::vertex first = graphs::busiest(g);
    for (const unsigned blocks : {1u, 2u}) {
        flat::searcher<Goal> searcher(there.view(), g.neighbours.size(), blocks);
        for (int run = 0; run < 2; ++run) {
            searcher.prepare(first, g.begin[first], g.edges_of(first), 1000);
            searcher.start(nullptr);
            dynpar::check(cudaDeviceSynchronize(), "searching");
            CHECK(!searcher.is_out_of_time());
            CHECK((searcher.distances() == expected));
        }
        searcher.prepare(first, g.begin[first], g.edges_of(first), 0);
        searcher.start(nullptr);
        dynpar::check(cudaDeviceSynchronize(), "searching");
        CHECK(searcher.is_out_of_time());
    }
}

}  // namespace

TEST_CASE("searches of a graph by hand find what the CPU finds") {
    using namespace graphs;
    for (const graph& g : {draw_rmat(9, 1), draw_roads(9, 1), star_of(700)}) {
        search_by_hand<flat::goal::fewest_steps>(g, steps_from(g, busiest(g)));
        search_by_hand<flat::goal::shortest_ways>(g, lengths_from(g, busiest(g)));
    }
}

TEST_CASE("a forest and colours by hand are the CPU's") {
    using namespace graphs;
    for (const graph& g : {draw_rmat(9, 1), draw_roads(9, 1), star_of(2300)}) {
        const graph_on_device there(g);
        const forest_size expected = forest_of(g);
        for (const unsigned blocks : {1u, 2u}) {
            flat::spanner spanner(there.view(), g.neighbours.size(), blocks);
            flat::colourer colourer(there.view(), blocks);
            for (const double seconds : {1000.0, 1000.0, 0.0}) {
                spanner.prepare(seconds);
                spanner.start(nullptr);
                colourer.prepare(seconds);
                colourer.start(nullptr);
                dynpar::check(cudaDeviceSynchronize(), "spanning and colouring");
                const flat::forest_control found = spanner.result();
                CHECK(spanner.is_out_of_time() == (seconds == 0));
                CHECK(colourer.is_out_of_time() == (seconds == 0));
                if (seconds == 0) continue;
                CHECK(found.edges == expected.edges);
                CHECK(found.weight == expected.weight);
                CHECK((colourer.colours() == colours_of(g)));
            }
        }
    }
}

TEST_CASE("integrals are the CPU's, bit by bit where they are joined, and so are they by hand") {
    using namespace integrate;
    const dynpar::shape one(1, 1);
    dynpar::queue_engine engine = small_engine();
    problem p = make_problem<3>(function::bell, 5, 1e-4);
    const findings expected = integrate_on_cpu<3>(p);
    REQUIRE(expected.cells > 1000);
    dynpar::buffer<double> sums = engine.make_buffer<double>(counters);
    dynpar::buffer<unsigned long long> accepted = engine.make_buffer<unsigned long long>(counters);
    sums.fill(0);
    accepted.fill(0);
    p.sums = sums.data();
    p.accepted = accepted.data();
    const dynpar::buffer<problem> there = engine.make_buffer<problem>({p});
    const problem* of = there.data();
    CHECK(engine.run(begin<3>{of, true}, one, sums.data()).grids == grids_of(expected.cells, true));
    CHECK(sums.value() == expected.sum);

    sums.fill(0);
    CHECK(engine.run(begin<3>{of, false}, one, sums.data()).grids == grids_of(expected.cells, false));
    double sum = 0;
    for (const double part : sums.to_vector()) sum += part;
    CHECK(std::fabs(sum - expected.sum) < 1e-13 * expected.sum);
    unsigned long long leaves = 0;
    for (const unsigned long long part : accepted.to_vector()) leaves += part;
    CHECK(2 * leaves - 1 == expected.cells);

    for (const by_hand::way way : {by_hand::way::levels, by_hand::way::stacks}) {
        const by_hand::integral_search<3> search{p};
        by_hand::searcher<by_hand::integral_search<3>> searcher(way, 2, 1u << 14);
        searcher.prepare({search.root()}, 1000);
        searcher.start(search, nullptr);
        dynpar::check(cudaDeviceSynchronize(), "searching");
        const by_hand::control result = searcher.result();
        CHECK(result.total.nodes + 1 == expected.cells);
        CHECK(2 * result.total.found - 1 == expected.cells);
        CHECK(std::fabs(result.total.sum - expected.sum) < 1e-13 * expected.sum);
    }
}

TEST_CASE("covers of graphs are as small as the CPU's, and are covers, whatever the order of the search") {
    using namespace vertex_cover;
    dynpar::queue_engine engine = small_engine();
    number splits = 0;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        for (const graph& g : {random_graph(40, 120, seed), grid_graph(36, 900, seed),
                               union_of({random_graph(12, 300, seed), random_graph(14, 250, seed)}),
                               complement_of(p_hat_graph(30, 600, seed))}) {
            const cpu_result expected = solve_on_cpu(g);
            vertex_set all(g.vertices());
            for (unsigned v = 0; v < g.vertices(); ++v) all[v] = v;
            search_on<dynpar::queue_engine> search(engine, g, all);
            for (int run = 0; run < 2; ++run) {
                search.prepare();
                engine.run(visit{}, search.shape(), search.root());
                const vertex_set cover = search.cover();
                CHECK(cover.size() == expected.cover.size());
                CHECK(is_cover(g, cover));
                splits += search.splits();
            }
        }
    }
    CHECK(splits > 0);
}

TEST_CASE("a search for a cover that runs out of memory says so and ends") {
    using namespace vertex_cover;
    dynpar::queue_options options;
    options.block_threads = 64;
    options.worker_blocks = 1;
    options.memory_bytes = 4 << 20;
    dynpar::queue_engine engine(options);
    const graph g = random_graph(1500, 100, 1);
    vertex_set all(g.vertices());
    for (unsigned v = 0; v < g.vertices(); ++v) all[v] = v;
    search_on<dynpar::queue_engine> search(engine, g, all);
    const dynpar::report report = engine.try_run(visit{}, search.shape(), search.root());
    REQUIRE(!report.failures.empty());
    CHECK(report.failures[0].status == dynpar::status::out_of_memory);
    CHECK(is_cover(g, search.cover()));
}

TEST_CASE("the Mandelbrot set by subdivision is the CPU's, pixel by pixel") {
    using namespace mandelbrot;
    dynpar::queue_engine engine = small_engine();
    auto computed = engine.make_reducer<dynpar::sum<number>>();
    image in{-2.2f, 1.5f, 0.04f, 75, 70, 60, 4, nullptr, computed.view()};
    const std::vector<count> times = escape_times(in);
    auto counts = engine.make_buffer<count>(times.size());
    counts.fill(count{0xffff});
    in.counts = counts.data();
    const auto there = engine.make_buffer<image>({in});
    const dynpar::report report =
        engine.run(draw{there.data()}, mandelbrot::shape(in, 32), 0u, 0u, 32u, across(in, 32));
    CHECK(counts.to_vector() == subdivide_on_cpu(in, 32, times));
    CHECK(report.grids > 10);
}

TEST_CASE("an adaptive grid is the CPU's, cell by cell and bit by bit") {
    using namespace adaptive_grid;
    dynpar::queue_engine engine = small_engine();
    const std::vector<vortex> vortices = draw_vortices(5, 1);
    const dynpar::buffer<vortex> drawn = engine.make_buffer<vortex>(vortices);
    std::vector<float> expected_values(128 * 128);
    std::vector<unsigned char> expected_levels(128 * 128);
    const problem here{vortices.data(), 5, 0.35, 0.05, 0.05, 7, expected_values.data(), expected_levels.data()};
    const summary expected = refine_on_cpu(here);
    auto values = engine.make_buffer<float>(128 * 128);
    auto levels = engine.make_buffer<unsigned char>(128 * 128);
    levels.fill(0xff);
    problem there = here;
    there.vortices = drawn.data();
    there.values = values.data();
    there.levels = levels.data();
    const auto all = engine.make_buffer<problem>({there});
    const summary found = engine.call(begin{all.data()});
    CHECK(found.leaves == expected.leaves);
    CHECK(found.leaves > 300);
    CHECK(found.error == expected.error);
    CHECK(values.to_vector() == expected_values);
    CHECK(levels.to_vector() == expected_levels);
}

TEST_CASE("quicksort sorts as the CPU does, in blocks of a warp and of teams of warps") {
    using namespace quicksort;
    dynpar::queue_engine engine = small_engine();
    unsigned seed = 0;
    for (const char* const pattern : {"random", "few", "random", "reversed", "equal", "random"}) {
        const std::vector<key> keys = make_keys(pattern, 1500, 5, ++seed);
        std::vector<key> expected = keys;
        std::sort(expected.begin(), expected.end());
        for (const unsigned threads : {32u, 50u, 64u}) {
            for (const unsigned by_block : {300u, 10000u}) {
                auto there = engine.make_buffer<key>(keys);
                auto spare = engine.make_buffer<key>(keys.size());
                spare.fill(0);
                const job work{there.data(), spare.data(), threads, 64, by_block};
                const auto all = engine.make_buffer<job>({work});
                const auto count = static_cast<unsigned>(keys.size());
                engine.run(sort_part{all.data()}, quicksort::shape_of(work, count), part{0, count, 0});
                CHECK(there.to_vector() == expected);
            }
        }
    }
}

TEST_CASE("a quadtree is the CPU's, built by blocks of a warp and of teams of warps") {
    using namespace quadtree;
    dynpar::queue_engine engine = small_engine();
    for (const auto& points : {draw_uniform(1200, 1), draw_clusters(1200, 3, 1), draw_uniform(1200, 2),
                               draw_clusters(1200, 3, 2), draw_clusters(1200, 9, 3)}) {
        for (const settings& s : {settings{32, 16, 64, false, 300}, settings{32, 16, 50, false, 10000},
                                  settings{20, 5, 32, false, 300}, settings{32, 16, 64, true, 300}}) {
            const tree_memory memory(engine, points, s);
            engine.run(quadtree::begin{memory.address()}, dynpar::shape(1, 1));
            CHECK(comparison(memory.result(), points).run() == "");
        }
    }
}
