// Graphs: of a list of edges, or made from a seed.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vertex_cover {

inline constexpr unsigned most_vertices = 8192;

/// Vertices from 0. No edge is there twice, and none joins a vertex to itself.
struct graph {
    std::vector<std::vector<unsigned>> neighbours;  ///< of each vertex, in order

    unsigned vertices() const { return static_cast<unsigned>(neighbours.size()); }
    std::size_t edges() const;
};

using edge = std::pair<unsigned, unsigned>;

/// What is there twice counts once.
graph graph_of(unsigned vertices, const std::vector<edge>& edges);

/// Each edge is there with so many thousandths of probability.
graph random_graph(unsigned vertices, unsigned per_mille, unsigned seed);
/// The same, with degrees that differ more: each vertex has a probability of its own, and an edge the mean of two.
graph p_hat_graph(unsigned vertices, unsigned per_mille, unsigned seed);
/// A square, or most of one, of which each edge is there with that probability.
graph grid_graph(unsigned vertices, unsigned per_mille, unsigned seed);
/// Each vertex is joined to one before it.
graph tree_graph(unsigned vertices, unsigned seed);
/// An edge where there is none.
graph complement_of(const graph& g);
/// The graphs side by side.
graph union_of(const std::vector<graph>& parts);

}  // namespace vertex_cover
