// The smallest vertex cover on the CPU: by one thread, or by several that share what they have found.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace vertex_cover {

/// A set of vertices, in order.
using vertex_set = std::vector<unsigned>;

/// Whether each edge has an end in it.
bool is_cover(const graph& g, const vertex_set& cover);

/// A small cover, fast: takes the vertex with the most neighbours where no other is without a choice.
vertex_set greedy_cover(const graph& g);

struct cpu_result {
    vertex_set cover;
    std::uint64_t nodes;  ///< of the search tree
    bool is_smallest;     ///< false: given up
};

/// Branch and bound as kernels.hpp does it. Gives up after so many nodes; then the cover is what was found so far.
cpu_result solve_on_cpu(const graph& g, std::uint64_t most_nodes = ~std::uint64_t{0}, unsigned threads = 1);

}  // namespace vertex_cover
