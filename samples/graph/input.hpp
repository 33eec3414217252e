// Graphs: of each vertex its neighbours, one after another. Of a list of edges, or drawn from a seed.
#pragma once

#include <cstdint>
#include <vector>

namespace graphs {

using vertex = unsigned;
using weight = unsigned;

inline constexpr weight most_weight = 1000000;
/// Edges have numbers of 32 bits, in each direction one.
inline constexpr std::uint64_t most_edges = 2147483647;

/// An undirected graph: each edge is with both of its vertices.
struct graph {
    std::vector<unsigned> begin;     ///< of each vertex: its first place among the neighbours; then where the last ends
    std::vector<vertex> neighbours;  ///< of all vertices
    std::vector<weight> weights;     ///< of the edges to them

    vertex vertices() const { return static_cast<vertex>(begin.size() - 1); }
    unsigned edges_of(vertex v) const { return begin[v + 1] - begin[v]; }
};

struct edge {
    vertex from, to;
    weight length;
};

/// The graph of these edges, each in both directions. Throws `std::length_error` if there are too many.
graph make_graph(vertex vertices, const std::vector<edge>& edges);

/// 2^scale vertices with 16 edges each on average, drawn by R-MAT with the probabilities 0.57, 0.19, 0.19 and 0.05: few
/// vertices have very many edges, and half of all have none. Some edges are there several times.
graph draw_rmat(unsigned scale, unsigned seed);

/// Roads: the crossings of a square grid, of which each has an edge to the next one in every direction; one of eight
/// edges is missing.
graph draw_roads(unsigned side, unsigned seed);

/// The first of the vertices with the most edges.
vertex busiest(const graph& g);

}  // namespace graphs
