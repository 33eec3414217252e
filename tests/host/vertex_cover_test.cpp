// The search for vertex covers: on the CPU against all subsets, on the host engine against the CPU; graphs, made and
// read.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/vertex_cover/graph.hpp"
#include "../../samples/vertex_cover/search.hpp"
#include "../../samples/vertex_cover/serial.hpp"

namespace {

using namespace vertex_cover;

// Of all subsets the smallest.
std::size_t size_by_trying_all(const graph& g) {
    std::size_t best = g.vertices();
    for (std::uint32_t set = 0; set < 1u << g.vertices(); ++set) {
        vertex_set cover;
        for (unsigned v = 0; v < g.vertices(); ++v)
            if ((set >> v & 1) != 0) cover.push_back(v);
        if (cover.size() < best && is_cover(g, cover)) best = cover.size();
    }
    return best;
}

// A cover that holds nothing together: the search has to find a better one.
vertex_set all_vertices(const graph& g) {
    vertex_set all(g.vertices());
    for (unsigned v = 0; v < g.vertices(); ++v) all[v] = v;
    return all;
}

struct found {
    vertex_set cover;
    number nodes;
    number splits;
};
found search_on_host(const graph& g, const vertex_set& first, unsigned threads) {
    dynpar::host_options options;
    options.moldable_threads = threads;
    dynpar::host_engine engine(options);
    search_on<dynpar::host_engine> search(engine, g, first);
    engine.run(visit{}, search.shape(), search.root());
    return {search.cover(), search.nodes(), search.splits()};
}

}  // namespace

TEST_CASE("covers of small graphs are as small as any, on the CPU and on the host engine with blocks of any width") {
    number splits = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        for (const graph& g : {random_graph(5 + seed % 6, 100 + 70 * (seed % 12), seed),
                               union_of({random_graph(6, 400, seed), random_graph(5, 600, seed + 1)}),
                               complement_of(p_hat_graph(9, 500, seed))}) {
            const std::size_t expected = size_by_trying_all(g);
            CAPTURE(seed);
            for (const unsigned threads : {1u, 3u}) {
                const cpu_result serial = solve_on_cpu(g, 1000, threads);
                CHECK(serial.is_smallest);
                CHECK(serial.cover.size() == expected);
                CHECK(is_cover(g, serial.cover));
            }
            for (const unsigned threads : {1u, 5u, 32u}) {
                const found f = search_on_host(g, all_vertices(g), threads);
                CHECK(f.cover.size() == expected);
                CHECK(is_cover(g, f.cover));
                splits += f.splits;
            }
        }
    }
    CHECK(splits > 0);
}

TEST_CASE("covers of graphs that fall into parts, and of larger ones, are as small as the CPU's") {
    const graph cycle = graph_of(7, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 0}});
    std::vector<graph> graphs{union_of({cycle, cycle, cycle, cycle, cycle}),
                              tree_graph(300, 1),
                              grid_graph(80, 1000, 1),
                              grid_graph(130, 850, 2),
                              random_graph(70, 70, 3),
                              complement_of(p_hat_graph(60, 700, 4)),
                              random_graph(40, 1000, 5),
                              random_graph(40, 0, 6)};
    for (unsigned seed = 0; seed < 6; ++seed)
        graphs.push_back(
            union_of({random_graph(25, 150, seed), grid_graph(20, 900, seed), random_graph(30, 120, seed)}));
    for (const graph& g : graphs) {
        CAPTURE(g.edges());
        const cpu_result serial = solve_on_cpu(g);
        CHECK(is_cover(g, serial.cover));
        CHECK(solve_on_cpu(g, 1000000, 4).cover.size() == serial.cover.size());
        for (const vertex_set& first : {all_vertices(g), greedy_cover(g)}) {
            const found f = search_on_host(g, first, 32);
            CHECK(f.cover.size() == serial.cover.size());
            CHECK(is_cover(g, f.cover));
        }
    }
    CHECK(solve_on_cpu(graphs[0]).cover.size() == 5 * 4);
    // Each cycle takes a few nodes, and not all of the others' for each of its own.
    const found five = search_on_host(graphs[0], all_vertices(graphs[0]), 1);
    CHECK(five.splits == 4);
    CHECK(five.nodes < 40);
    // Parts with a vertex of many edges, too: together they would take the product of what each takes.
    std::vector<graph> parts;
    for (unsigned seed = 1; seed <= 4; ++seed) parts.push_back(random_graph(50, 120, seed));
    const graph four = union_of(parts);
    number nodes = 0;
    for (const graph& part : parts) nodes += solve_on_cpu(part).nodes;
    CHECK(solve_on_cpu(four, 10 * nodes).is_smallest);
    CHECK(search_on_host(four, greedy_cover(four), 1).nodes < 10 * nodes);
}

TEST_CASE("a tree, a complete graph and one without edges need no choice") {
    const auto nodes = [](const graph& g) { return search_on_host(g, all_vertices(g), 1).nodes; };
    CHECK(nodes(tree_graph(1000, 7)) == 1);
    CHECK(nodes(random_graph(20, 0, 1)) == 1);
    CHECK(nodes(random_graph(3, 1000, 1)) == 1);
}

TEST_CASE("the CPU gives up a search after so many nodes, with a cover that it has found") {
    const graph g = random_graph(150, 60, 1);
    const cpu_result serial = solve_on_cpu(g, 1000);
    CHECK(!serial.is_smallest);
    CHECK(serial.nodes < 3000);
    CHECK(is_cover(g, serial.cover));
}

TEST_CASE("a search for a cover in which a launch is lost ends soon, with a set that is a cover") {
    const graph g = union_of({random_graph(50, 120, 1), grid_graph(100, 850, 2), random_graph(50, 100, 3)});
    for (const unsigned depth : {0u, 1u, 2u, 3u, 4u, 5u}) {
        dynpar::host_options options;
        options.limits.nesting_depth = depth;
        dynpar::host_engine engine(options);
        search_on<dynpar::host_engine> search(engine, g, all_vertices(g));
        const dynpar::report report = engine.try_run(visit{}, search.shape(), search.root());
        CHECK(report.lost_launches != 0);
        CHECK(is_cover(g, search.cover()));
        if (depth == 2) CHECK(search.nodes() < 10);  // without an end there are 16
    }
}

TEST_CASE("graphs that are made have the edges that they should") {
    CHECK(tree_graph(50, 1).edges() == 49);
    CHECK(grid_graph(100, 1000, 1).edges() == 180);
    CHECK(random_graph(30, 1000, 1).edges() == 435);
    const graph g = random_graph(100, 300, 5);
    CHECK(g.edges() > 1300);
    CHECK(g.edges() < 1700);
    CHECK(g.edges() + complement_of(g).edges() == 4950);
    CHECK(random_graph(100, 300, 5).neighbours == g.neighbours);
    CHECK(random_graph(100, 300, 6).neighbours != g.neighbours);
    CHECK(union_of({g, g}).neighbours[150].front() >= 100);
    const auto spread = [](const graph& of) {
        const auto degrees = std::minmax_element(of.neighbours.begin(), of.neighbours.end(),
                                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
        return degrees.second->size() - degrees.first->size();
    };
    CHECK(spread(p_hat_graph(200, 500, 1)) > 2 * spread(random_graph(200, 500, 1)));
}
