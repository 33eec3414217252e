#include "input.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>

namespace graphs {
namespace {

// The same in both directions, and the same every time.
weight drawn_weight(vertex a, vertex b, unsigned seed) {
    std::uint64_t bits = (std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)) + seed;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    return static_cast<weight>(1 + (bits ^ bits >> 31) % 100);
}

}  // namespace

graph make_graph(vertex vertices, const std::vector<edge>& edges) {
    if (edges.size() > most_edges) throw std::length_error("a graph has more than 2147483647 edges");
    graph g;
    g.begin.assign(std::size_t{vertices} + 1, 0);
    for (const edge& e : edges) {
        ++g.begin[e.from + 1];
        ++g.begin[e.to + 1];
    }
    for (std::size_t i = 1; i < g.begin.size(); ++i) g.begin[i] += g.begin[i - 1];
    g.neighbours.resize(g.begin.back());
    g.weights.resize(g.begin.back());
    std::vector<unsigned> next(g.begin.begin(), g.begin.end() - 1);
    const auto put = [&](vertex from, vertex to, weight length) {
        g.neighbours[next[from]] = to;
        g.weights[next[from]++] = length;
    };
    for (const edge& e : edges) {
        put(e.from, e.to, e.length);
        put(e.to, e.from, e.length);
    }
    return g;
}

graph draw_rmat(unsigned scale, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<edge> edges(std::size_t{16} << scale);
    for (edge& e : edges) {
        e = {};
        std::uint64_t bits = random();
        for (unsigned i = 0; i < scale; ++i) {
            if (i % 8 == 7) bits = random();
            const std::uint64_t part = bits & 0xff;  // of 256: 146, 49, 48 and 13
            bits >>= 8;
            e.from = 2 * e.from + (part >= 195 ? 1 : 0);
            e.to = 2 * e.to + ((part >= 146 && part < 195) || part >= 243 ? 1 : 0);
        }
        e.length = drawn_weight(e.from, e.to, seed);
    }
    return make_graph(vertex{1} << scale, edges);
}

graph draw_roads(unsigned side, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<edge> edges;
    const auto draw = [&](vertex from, vertex to) {
        if (random() % 8 != 0) edges.push_back({from, to, drawn_weight(from, to, seed)});
    };
    for (unsigned row = 0; row < side; ++row) {
        for (unsigned column = 0; column < side; ++column) {
            const vertex here = row * side + column;
            if (column + 1 < side) draw(here, here + 1);
            if (row + 1 < side) draw(here, here + side);
        }
    }
    return make_graph(side * side, edges);
}

vertex busiest(const graph& g) {
    vertex best = 0;
    for (vertex v = 1; v < g.vertices(); ++v)
        if (g.edges_of(v) > g.edges_of(best)) best = v;
    return best;
}

}  // namespace graphs
