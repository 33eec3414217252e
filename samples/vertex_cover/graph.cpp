#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace vertex_cover {

namespace {

// The same numbers with every standard library.
unsigned draw(std::mt19937& random, unsigned below) {
    return static_cast<unsigned>(std::uint64_t{random()} * below >> 32);
}

}  // namespace

std::size_t graph::edges() const {
    std::size_t ends = 0;
    for (const auto& of_one : neighbours) ends += of_one.size();
    return ends / 2;
}

graph graph_of(unsigned vertices, const std::vector<edge>& edges) {
    graph g;
    g.neighbours.resize(vertices);
    for (const auto& [a, b] : edges) {
        g.neighbours[a].push_back(b);
        g.neighbours[b].push_back(a);
    }
    for (auto& of_one : g.neighbours) {
        std::sort(of_one.begin(), of_one.end());
        of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
    }
    return g;
}

graph random_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<edge> edges;
    for (unsigned a = 0; a < vertices; ++a)
        for (unsigned b = a + 1; b < vertices; ++b)
            if (draw(random, 1000) < per_mille) edges.emplace_back(a, b);
    return graph_of(vertices, edges);
}

graph p_hat_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    const unsigned spread = std::min(per_mille, 1000 - per_mille);
    std::vector<unsigned> of_vertex(vertices);
    for (unsigned& p : of_vertex) p = per_mille - spread + draw(random, 2 * spread + 1);
    std::vector<edge> edges;
    for (unsigned a = 0; a < vertices; ++a)
        for (unsigned b = a + 1; b < vertices; ++b)
            if (draw(random, 2000) < of_vertex[a] + of_vertex[b]) edges.emplace_back(a, b);
    return graph_of(vertices, edges);
}

graph grid_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    const unsigned side = static_cast<unsigned>(std::ceil(std::sqrt(vertices)));
    std::vector<edge> edges;
    for (unsigned v = 0; v < vertices; ++v) {
        if (v % side != 0 && draw(random, 1000) < per_mille) edges.emplace_back(v - 1, v);
        if (v >= side && draw(random, 1000) < per_mille) edges.emplace_back(v - side, v);
    }
    return graph_of(vertices, edges);
}

graph tree_graph(unsigned vertices, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<edge> edges;
    for (unsigned v = 1; v < vertices; ++v) edges.emplace_back(draw(random, v), v);
    return graph_of(vertices, edges);
}

graph complement_of(const graph& g) {
    graph result;
    for (unsigned v = 0; v < g.vertices(); ++v) {
        std::vector<unsigned>& others = result.neighbours.emplace_back();
        for (unsigned u = 0; u < g.vertices(); ++u)
            if (u != v && !std::binary_search(g.neighbours[v].begin(), g.neighbours[v].end(), u)) others.push_back(u);
    }
    return result;
}

graph union_of(const std::vector<graph>& parts) {
    graph result;
    for (const graph& part : parts) {
        const unsigned first = result.vertices();
        for (std::vector<unsigned> of_one : part.neighbours) {
            for (unsigned& v : of_one) v += first;
            result.neighbours.push_back(std::move(of_one));
        }
    }
    return result;
}

}  // namespace vertex_cover
