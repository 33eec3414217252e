// Quadtrees, on the host engine; and what their comparison with the CPU's notices.
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <dynpar/dynpar.hpp>

#include "../../samples/quadtree/build.hpp"

using namespace quadtree;

namespace {

built_tree build_on_host(const std::vector<point>& points, const settings& s, unsigned moldable_threads = 1) {
    dynpar::host_options options;
    options.moldable_threads = moldable_threads;
    dynpar::host_engine engine(options);
    const tree_memory memory(engine, points, s);
    engine.run(begin{memory.address()}, dynpar::shape(1, 1));
    return memory.result();
}
std::string what_is_wrong(const built_tree& found, const std::vector<point>& points) {
    return comparison(found, points).run();
}
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a quadtree is the CPU's, whatever the points, the blocks and what a block does by itself") {
    for (const auto& points : {draw_uniform(3000, 1), draw_clusters(3000, 5, 2), draw_clusters(500, 1, 3)}) {
        for (const unsigned leaf : {1u, 20u, 2999u, 3000u}) {
            for (const unsigned depth : {0u, 1u, 3u, 20u}) {
                for (const unsigned by_block : {1u, 700u, 100000u}) {
                    settings s{leaf, depth, 64, false, by_block};
                    CAPTURE(leaf);
                    CAPTURE(depth);
                    CAPTURE(by_block);
                    CHECK(what_is_wrong(build_on_host(points, s), points) == "");
                    s.is_moldable = true;
                    for (const unsigned threads : {1u, 45u})
                        CHECK(what_is_wrong(build_on_host(points, s, threads), points) == "");
                }
            }
        }
    }
}

TEST_CASE("equal points make a quadtree as deep as it may be") {
    const std::vector<point> points(100, point{0.3f, 0.7f});
    settings s;
    s.depth = most_depth;
    const built_tree found = build_on_host(points, s);
    comparison with_cpu(found, points);
    CHECK(with_cpu.run() == "");
    CHECK(with_cpu.facts().depth == most_depth);
    CHECK(with_cpu.facts().nodes == 1 + 4 * most_depth);
    CHECK(with_cpu.facts().most_in_leaf == 100);
}

TEST_CASE("points are drawn in the unit square, the same for the same seed") {
    for (const auto& points : {draw_uniform(10000, 5), draw_clusters(10000, 7, 5)}) {
        for (const point& p : points) {
            CHECK(p.x >= 0);
            CHECK(p.x < 1);
            CHECK(p.y >= 0);
            CHECK(p.y < 1);
        }
    }
    CHECK(draw_uniform(10, 1)[9].x == draw_uniform(10, 1)[9].x);
    CHECK(draw_uniform(10, 1)[9].x != draw_uniform(10, 2)[9].x);
    CHECK(draw_clusters(10, 3, 1)[9].x == draw_clusters(10, 3, 1)[9].x);
    CHECK(draw_clusters(10, 3, 1)[9].x != draw_clusters(10, 3, 2)[9].x);
}

TEST_CASE("a quadtree without room for its nodes says so and ends") {
    const std::vector<point> points = draw_uniform(1000, 1);
    dynpar::host_engine engine;
    std::vector<node> few(6);
    few[0] = root_of(1000);
    auto nodes = engine.make_buffer<node>(few);
    auto used = engine.make_buffer<unsigned>({1u});
    auto there = engine.make_buffer<point>(points);
    auto spare = engine.make_buffer<point>(points);
    for (const unsigned by_block : {1u, 10000u}) {
        used.fill(1);
        nodes.copy_from(few.data());
        const auto t = engine.make_buffer<tree>(
            {tree{there.data(), spare.data(), nodes.data(), 6, used.data(), 32, 0.001f, 64, 0, by_block}});
        engine.run(begin{t.data()}, dynpar::shape(1, 1));
        CHECK(used.value() == 21);
        CHECK(nodes.value(0).first_child == 1);
        CHECK(nodes.value(5).count == 0);
    }
}

TEST_CASE("the comparison of quadtrees notices what is wrong with one") {
    const std::vector<point> points = draw_uniform(1000, 1);
    const built_tree right = build_on_host(points, settings{});
    REQUIRE(what_is_wrong(right, points) == "");
    std::size_t leaf = 0;
    while (right.nodes[leaf].first_child != 0 || right.nodes[leaf].count < 2) ++leaf;
    const auto wrong_if = [&](auto change) {
        built_tree wrong = right;
        change(wrong);
        return what_is_wrong(wrong, points);
    };
    CHECK(contains(wrong_if([&](built_tree& t) { t.points[t.nodes[leaf].begin].x += 0.5f; }), "has other points"));
    CHECK(contains(wrong_if([&](built_tree& t) { t.points[t.nodes[leaf].begin] = t.points[t.nodes[leaf].begin + 1]; }),
                   "has other points"));
    CHECK(contains(wrong_if([](built_tree& t) { std::swap(t.points.front(), t.points.back()); }), "has other points"));
    CHECK(contains(wrong_if([&](built_tree& t) { ++t.nodes[leaf].count; }), "and the CPU gives it"));
    CHECK(contains(wrong_if([&](built_tree& t) { ++t.nodes[leaf].begin; }), "and the CPU gives it"));
    CHECK(contains(wrong_if([&](built_tree& t) { t.nodes[leaf].side *= 2; }), "is another square"));
    CHECK(contains(wrong_if([&](built_tree& t) { t.nodes[leaf].x += t.nodes[leaf].side; }), "is another square"));
    CHECK(contains(wrong_if([&](built_tree& t) { t.nodes[leaf].first_child = 1; }), "has children"));
    CHECK(contains(wrong_if([](built_tree& t) { t.nodes[0].first_child = 0; }), "has no children"));
    CHECK(contains(wrong_if([](built_tree& t) { t.nodes[0].first_child = 100000; }), "has no such children"));
    CHECK(contains(wrong_if([](built_tree& t) { t.nodes.push_back({}); }), "nodes, and the CPU makes"));
    CHECK(contains(wrong_if([](built_tree& t) { t.points.pop_back(); }), "no tree of these points"));
}
